//! Serializes mutations of the same file, so that two edits in one response do not overwrite each
//! other. Mutations are queued by real path in request order; different files do not wait for each
//! other. A started mutation runs to completion and keeps its permit even if the caller is gone.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pi_core::{FileError, FileOperations};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Queues mutations by file; clones share the queue.
#[derive(Debug, Clone)]
pub struct MutationQueue(Arc<QueueState>);

#[derive(Debug)]
struct QueueState {
    /// Callers resolve their real paths one at a time, so that permits are granted in request order
    /// regardless of disk latency.
    registration: Semaphore,
    /// Files with a running mutation, and the callers waiting for them.
    busy: Mutex<HashMap<PathBuf, VecDeque<oneshot::Sender<MutationPermit>>>>,
    running: TaskTracker,
}

#[derive(Debug, thiserror::Error)]
pub enum MutationError {
    #[error("canceled before it started")]
    Canceled,
    #[error(transparent)]
    Path(#[from] FileError),
    #[error("the operation failed: {0}")]
    Failed(String),
}

impl Default for MutationQueue {
    fn default() -> Self {
        Self(Arc::new(QueueState {
            registration: Semaphore::new(1),
            busy: Mutex::default(),
            running: TaskTracker::new(),
        }))
    }
}

impl MutationQueue {
    /// Runs a mutation of the file at `path` when it is its turn; it receives the real path.
    ///
    /// Cancellation only ends the waiting. A started mutation must check the token itself.
    pub async fn run<T, F>(
        &self,
        files: &dyn FileOperations,
        path: &Path,
        mutation: impl FnOnce(PathBuf) -> F,
        cancel: &CancellationToken,
    ) -> Result<T, MutationError>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (permit, real_path) = cancel
            .run_until_cancelled(self.acquire(files, path))
            .await
            .ok_or(MutationError::Canceled)??;
        let mutation = mutation(real_path);
        self.0
            .running
            .spawn(async move {
                let result = mutation.await;
                drop(permit);
                result
            })
            .await
            .map_err(|error| MutationError::Failed(error.to_string()))
    }

    /// Waits until no mutation is running, so that a program can exit without interrupting one.
    pub async fn wait_idle(&self) {
        self.0.running.close();
        self.0.running.wait().await;
        self.0.running.reopen();
    }

    async fn acquire(
        &self,
        files: &dyn FileOperations,
        path: &Path,
    ) -> Result<(MutationPermit, PathBuf), FileError> {
        // The semaphore is never closed; without a permit only the order would be affected.
        let registration = self.0.registration.acquire().await.ok();
        let real_path = files.real_path(path).await?;
        let waiting = {
            let mut busy = self.0.busy();
            match busy.get_mut(&real_path) {
                Some(waiters) => {
                    let (sender, receiver) = oneshot::channel();
                    waiters.push_back(sender);
                    Some(receiver)
                }
                None => {
                    busy.insert(real_path.clone(), VecDeque::new());
                    None
                }
            }
        };
        drop(registration);
        let new_permit = || MutationPermit {
            queue: Arc::clone(&self.0),
            path: real_path.clone(),
        };
        let permit = match waiting {
            None => new_permit(),
            // A permit is passed on or its entry removed, so the sender is never dropped without
            // sending.
            Some(receiver) => receiver.await.unwrap_or_else(|_| new_permit()),
        };
        Ok((permit, real_path))
    }
}

impl QueueState {
    fn busy(&self) -> MutexGuard<'_, HashMap<PathBuf, VecDeque<oneshot::Sender<MutationPermit>>>> {
        self.busy.lock()
    }
}

/// The right to mutate a file; passed to the next waiter on drop.
#[derive(Debug)]
struct MutationPermit {
    queue: Arc<QueueState>,
    path: PathBuf,
}

impl Drop for MutationPermit {
    fn drop(&mut self) {
        // A waiter that is gone drops the permit it is sent, which would lock the map again. So the
        // next waiter is selected here and sent its permit after the map is unlocked.
        let next = {
            let mut busy = self.queue.busy();
            let next = busy.get_mut(&self.path).and_then(|waiters| {
                std::iter::from_fn(|| waiters.pop_front()).find(|waiter| !waiter.is_closed())
            });
            if next.is_none() {
                busy.remove(&self.path);
            }
            next
        };
        if let Some(next) = next {
            let permit = Self {
                queue: Arc::clone(&self.queue),
                path: self.path.clone(),
            };
            // A waiter that has just gone away returns the permit by dropping it.
            drop(next.send(permit));
        }
    }
}

#[cfg(test)]
mod tests;
