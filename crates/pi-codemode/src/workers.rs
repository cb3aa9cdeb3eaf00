//! Limits how many scripts run at the same time.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Scripts at the same time, unless the environment sets another number: one more than the one that a session usually
/// runs, since a canceled script may need time to end.
pub const DEFAULT_WORKERS: usize = 2;

/// How long a script waits for others to end.
pub(crate) const MAX_WAIT: Duration = Duration::from_mins(1);

/// The slots of the scripts of a process. Clones share them; scripts get them in the order they ask.
#[derive(Debug, Clone)]
pub struct WorkerSlots {
    slots: Arc<Semaphore>,
    pub(crate) count: usize,
}

/// Why a script got no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotFailure {
    Aborted,
    TimedOut,
}

impl WorkerSlots {
    pub fn new(count: usize) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(count)),
            count,
        }
    }

    /// Returns the slots that all sessions of this process share. The first call decides how many there are.
    pub fn of_process(count: usize) -> Self {
        static SLOTS: OnceLock<WorkerSlots> = OnceLock::new();
        SLOTS.get_or_init(|| Self::new(count)).clone()
    }

    /// Waits for a slot, which is free again when the permit is dropped.
    pub(crate) async fn acquire(
        &self,
        wait: Duration,
        cancel: &CancellationToken,
    ) -> Result<OwnedSemaphorePermit, SlotFailure> {
        let acquired = tokio::time::timeout(wait, Arc::clone(&self.slots).acquire_owned());
        match cancel.run_until_cancelled(acquired).await {
            None => Err(SlotFailure::Aborted),
            // The semaphore is never closed.
            Some(Ok(Ok(permit))) => Ok(permit),
            Some(_) => Err(SlotFailure::TimedOut),
        }
    }
}
