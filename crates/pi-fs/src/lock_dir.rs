//! The lock that the TypeScript pi uses for shared files: `proper-lockfile`'s protocol.
//!
//! The lock of `auth.json` is the directory `auth.json.lock`: the process that creates it holds the lock, and
//! removing it releases it. The holder renews the directory's modification time; a directory that
//! has not been renewed for the stale time was left behind by a crash and may be taken over. A
//! holder that was suspended for longer than the stale time notices because the modification time is no longer
//! its own.
//!
//! The path is not resolved through links, because the TypeScript pi does not resolve it either:
//! both must agree on where the lock is.

mod protocol;
mod renewal;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::random::random_part;
use protocol::{lock_path, read_identity, try_acquire};
use renewal::HeldIdentity;

/// Delay after the first failed attempt. It doubles with every further one.
const FIRST_DELAY: Duration = Duration::from_millis(10);

/// Timeouts for acquiring, renewing and taking over a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockTiming {
    /// A lock that was not renewed for this long is abandoned.
    pub stale: Duration,
    /// How long to wait for the lock.
    pub patience: Duration,
    /// The longest delay between two attempts, without jitter.
    pub max_delay: Duration,
    /// How often a held lock is renewed; `None` if it is released long before it becomes stale.
    pub renewal: Option<Duration>,
}

impl LockTiming {
    /// For credentials: the holder may be waiting for a network response.
    ///
    /// The timeout is slightly longer than the stale time, so a lock whose holder just crashed expires while we
    /// wait. Locks are renewed more often than a stale time of 30 seconds requires, because the
    /// TypeScript pi uses a stale time of 10 seconds when it reads credentials at startup.
    pub const CREDENTIALS: Self = Self {
        stale: Duration::from_secs(30),
        patience: Duration::from_secs(35),
        max_delay: Duration::from_secs(1),
        renewal: Some(Duration::from_secs(4)),
    };

    /// For settings and trust decisions: holders release quickly, and the user is waiting.
    pub const SETTINGS: Self = Self {
        stale: Duration::from_secs(10),
        patience: Duration::from_millis(200),
        max_delay: FIRST_DELAY,
        renewal: None,
    };
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process held the lock until the timeout.
    #[error("locked by another process")]
    Held,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A held lock, released on drop.
#[derive(Debug)]
pub struct LockDir {
    path: PathBuf,
    held: Arc<HeldIdentity>,
}

/// The attempts to acquire a lock, for callers that wait without blocking their thread.
#[derive(Debug)]
pub struct LockAttempts {
    path: PathBuf,
    timing: LockTiming,
    deadline: Instant,
    delay: Duration,
}

/// The result of one attempt.
#[derive(Debug)]
pub enum LockAttempt {
    Acquired(LockDir),
    /// Another process holds the lock; try again after this delay.
    Retry(Duration),
}

impl LockAttempts {
    /// Starts the timeout for acquiring the lock of a file.
    pub fn start(file: &Path, timing: LockTiming) -> io::Result<Self> {
        Ok(Self {
            path: lock_path(file)?,
            timing,
            deadline: Instant::now() + timing.patience,
            delay: FIRST_DELAY,
        })
    }

    /// Tries once. Returns [`LockError::Held`] after the timeout.
    pub fn attempt(&mut self) -> Result<LockAttempt, LockError> {
        if let Some(identity) = try_acquire(&self.path, self.timing.stale)? {
            let lock = LockDir {
                path: self.path.clone(),
                held: Arc::new(HeldIdentity::new(identity)),
            };
            if let Some(every) = self.timing.renewal {
                renewal::start(&lock.path, &lock.held, every)?;
            }
            return Ok(LockAttempt::Acquired(lock));
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(LockError::Held);
        }
        // Other processes wait as long; jitter avoids repeated collisions.
        let delay = (self.delay + random_part(self.delay)?).min(left);
        self.delay = (self.delay * 2).min(self.timing.max_delay);
        Ok(LockAttempt::Retry(delay))
    }
}

impl LockDir {
    /// Acquires the lock of a file, blocking the thread until the current holder releases it.
    pub fn acquire(file: &Path, timing: LockTiming) -> Result<Self, LockError> {
        let mut attempts = LockAttempts::start(file, timing)?;
        loop {
            match attempts.attempt()? {
                LockAttempt::Acquired(lock) => return Ok(lock),
                LockAttempt::Retry(delay) => std::thread::sleep(delay),
            }
        }
    }

    /// Returns whether we still hold the lock.
    pub fn is_held(&self) -> bool {
        let identity = self.held.lock();
        identity.is_some() && *identity == read_identity(&self.path).ok()
    }
}

impl Drop for LockDir {
    fn drop(&mut self) {
        // Do not remove a lock that another process has taken over. Holding the mutex blocks the renewal.
        let mut identity = self.held.lock();
        let ours = identity.is_some() && *identity == read_identity(&self.path).ok();
        *identity = None;
        if ours && let Err(error) = fs::remove_dir(&self.path) {
            tracing::warn!(%error, lock = %self.path.display(), "cannot release lock");
        }
        drop(identity);
        self.held.stop_renewal();
    }
}

#[cfg(test)]
mod tests;
