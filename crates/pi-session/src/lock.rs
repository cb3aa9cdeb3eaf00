//! The claim of one pi on a session file.
//!
//! It is an advisory lock on the file itself: it ends with the process, however that ends, so no
//! stale lock can keep a user out. The TypeScript pi asks for none; its writes are noticed by the
//! file's length instead, see [`crate::log`].

use std::fs::File;
use std::path::Path;

use crate::storage::Claim;

/// Claims a file without waiting.
#[cfg(unix)]
pub(crate) fn claim(file: &File, path: &Path) -> Claim {
    use std::fs::TryLockError;
    match file.try_lock() {
        Ok(()) => Claim::Granted,
        Err(TryLockError::WouldBlock) => Claim::HeldByAnother,
        Err(TryLockError::Error(error)) => {
            tracing::debug!(path = %path.display(), %error, "no lock on this file system");
            Claim::Unsupported
        }
    }
}

/// Windows locks are mandatory: one would keep the TypeScript pi and every reader from the file.
#[cfg(not(unix))]
pub(crate) fn claim(_file: &File, _path: &Path) -> Claim {
    Claim::Unsupported
}
