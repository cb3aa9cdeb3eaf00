//! Advisory locks on open files. A lock ends with the process, so no stale lock can block a user.

use std::fs::File;
use std::path::Path;

/// The result of trying to lock a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockState {
    /// Held until the file is closed or the process exits.
    Acquired,
    HeldElsewhere,
    /// The file system does not support locks, as on some network shares.
    Unsupported,
}

/// Tries to lock a file without blocking. `path` is for the log.
#[cfg(unix)]
pub fn try_lock(file: &File, path: &Path) -> LockState {
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

/// Releases a lock before the file is closed.
#[cfg(unix)]
pub fn unlock(file: &File, path: &Path) {
    if let Err(error) = file.unlock() {
        tracing::debug!(path = %path.display(), %error, "cannot release a file lock");
    }
}

#[cfg(not(unix))]
pub fn unlock(_file: &File, _path: &Path) {}

/// Windows locks are mandatory and would block the TypeScript pi and every reader.
#[cfg(not(unix))]
pub fn try_lock(_file: &File, _path: &Path) -> LockState {
    LockState::Unsupported
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_locked_until_its_holder_closes_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        let holder = File::create(&path).unwrap();
        let other = File::open(&path).unwrap();
        assert_eq!(try_lock(&holder, &path), LockState::Acquired);
        assert_eq!(try_lock(&other, &path), LockState::HeldElsewhere);
        drop(holder);
        assert_eq!(try_lock(&other, &path), LockState::Acquired);
        let third = File::open(&path).unwrap();
        assert_eq!(try_lock(&third, &path), LockState::HeldElsewhere);
        unlock(&other, &path);
        assert_eq!(try_lock(&third, &path), LockState::Acquired);
    }
}
