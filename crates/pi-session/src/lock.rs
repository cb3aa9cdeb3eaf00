//! Advisory locks on session files. The lock is on the file and ends with the process, so no stale
//! lock can block a user. The TypeScript pi takes no lock; its writes are detected by the file
//! length, see [`crate::log`].

use std::fs::File;
use std::path::Path;

use crate::storage::LockState;

/// Tries to lock a file without blocking.
#[cfg(unix)]
pub(crate) fn try_lock(file: &File, path: &Path) -> LockState {
    use std::fs::TryLockError;
    match file.try_lock() {
        Ok(()) => LockState::Acquired,
        Err(TryLockError::WouldBlock) => LockState::HeldElsewhere,
        Err(TryLockError::Error(error)) => {
            tracing::debug!(path = %path.display(), %error, "file locks are not supported here");
            LockState::Unsupported
        }
    }
}

/// Windows locks are mandatory and would block the TypeScript pi and every reader.
#[cfg(not(unix))]
pub(crate) fn try_lock(_file: &File, _path: &Path) -> LockState {
    LockState::Unsupported
}
