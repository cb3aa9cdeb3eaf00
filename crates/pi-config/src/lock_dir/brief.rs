//! A blocking variant of the lock, for short changes.
//!
//! It needs no async runtime: it is never renewed, because it is released long before it becomes stale.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{LockError, LockIdentity, LockTiming, lock_path, read_identity, try_acquire};

const POLL: Duration = Duration::from_millis(20);

/// A briefly held lock, released on drop.
#[derive(Debug)]
pub(crate) struct BriefLock {
    path: PathBuf,
    identity: LockIdentity,
}

impl BriefLock {
    /// Acquires the lock of a file, blocking the thread for at most `timing.patience`.
    pub(crate) fn acquire(file: &Path, timing: LockTiming) -> Result<Self, LockError> {
        let path = lock_path(file)?;
        let deadline = Instant::now() + timing.patience;
        loop {
            if let Some(identity) = try_acquire(&path, timing.stale)? {
                return Ok(Self { path, identity });
            }
            if Instant::now() >= deadline {
                return Err(LockError::Held);
            }
            // Other processes poll at the same rate; jitter avoids repeated collisions.
            std::thread::sleep(POLL.mul_f64(0.5 + rand::random::<f64>() / 2.0));
        }
    }

    /// Returns whether we still hold the lock.
    pub(crate) fn is_held(&self) -> bool {
        read_identity(&self.path).ok() == Some(self.identity)
    }
}

impl Drop for BriefLock {
    fn drop(&mut self) {
        // Do not remove a lock that another process has taken over.
        if self.is_held()
            && let Err(error) = fs::remove_dir(&self.path)
        {
            tracing::warn!(%error, lock = %self.path.display(), "cannot release lock");
        }
    }
}
