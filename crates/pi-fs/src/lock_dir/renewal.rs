//! Renews a held lock, so that other processes do not consider it abandoned.
//!
//! Every renewed lock has a thread: it also renews while the caller's async runtime is busy or gone.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::protocol::{LockIdentity, read_identity, touch};

/// The identity of a held lock; `None` once it is released or lost.
#[derive(Debug)]
pub(super) struct HeldIdentity {
    identity: Mutex<Option<LockIdentity>>,
    released: Condvar,
}

impl HeldIdentity {
    pub(super) fn new(identity: LockIdentity) -> Self {
        Self {
            identity: Mutex::new(Some(identity)),
            released: Condvar::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Option<LockIdentity>> {
        self.identity.lock()
    }

    /// Ends the renewal after the identity was cleared.
    pub(super) fn stop_renewal(&self) {
        self.released.notify_all();
    }

    /// Waits for the next renewal; `None` if the lock was released or lost.
    fn wait(&self, time: Duration) -> Option<MutexGuard<'_, Option<LockIdentity>>> {
        let due = Instant::now() + time;
        let mut identity = self.lock();
        loop {
            (*identity)?;
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(identity);
            }
            self.released.wait_for(&mut identity, left);
        }
    }
}

/// Starts renewing a lock until it is released or lost.
pub(super) fn start(path: &Path, held: &Arc<HeldIdentity>, every: Duration) -> io::Result<()> {
    let (path, held) = (path.to_owned(), Arc::clone(held));
    thread::Builder::new()
        .name("lock-renewal".to_owned())
        .spawn(move || renew_until_released(&path, &held, every))
        .map(drop)
}

fn renew_until_released(path: &Path, held: &HeldIdentity, every: Duration) {
    while let Some(mut identity) = held.wait(every) {
        let renewed = read_identity(path).and_then(|found| {
            if Some(found) == *identity {
                touch(path).map(Some)
            } else {
                Ok(None)
            }
        });
        match renewed {
            Ok(renewed) => *identity = renewed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => *identity = None,
            // Possibly transient: the next renewal is well before the lock becomes stale.
            Err(error) => tracing::warn!(%error, lock = %path.display(), "cannot renew lock"),
        }
    }
}
