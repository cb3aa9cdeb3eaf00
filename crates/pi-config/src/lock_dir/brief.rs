//! The same lock, for a change that is done in a moment and does not wait for anything else.
//!
//! It needs no runtime: nothing renews it, because it is released long before it is stale.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Identity, LockError, LockTiming, lock_path, read_identity, try_take};

/// How often we look whether the lock is free.
const POLL: Duration = Duration::from_millis(20);

/// A lock we hold for a moment. Dropping it releases it.
#[derive(Debug)]
pub(crate) struct BriefLock {
    path: PathBuf,
    identity: Identity,
}

impl BriefLock {
    /// Takes the lock of a file, blocking this thread for as long as the timing allows.
    pub(crate) fn acquire(file: &Path, timing: LockTiming) -> Result<Self, LockError> {
        let path = lock_path(file)?;
        let deadline = Instant::now() + timing.patience;
        loop {
            if let Some(identity) = try_take(&path, timing.stale)? {
                return Ok(Self { path, identity });
            }
            if Instant::now() >= deadline {
                return Err(LockError::Held);
            }
            // Others poll at the same rate; the jitter keeps us from meeting for ever.
            std::thread::sleep(POLL.mul_f64(0.5 + rand::random::<f64>() / 2.0));
        }
    }

    /// Returns whether the lock is still ours.
    pub(crate) fn is_held(&self) -> bool {
        read_identity(&self.path).ok() == Some(self.identity)
    }
}

impl Drop for BriefLock {
    fn drop(&mut self) {
        // Whoever took the lock over keeps it.
        if self.is_held()
            && let Err(error) = fs::remove_dir(&self.path)
        {
            tracing::warn!(%error, lock = %self.path.display(), "a lock could not be released");
        }
    }
}
