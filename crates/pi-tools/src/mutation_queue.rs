//! Mutations of one file, one after the other.
//!
//! Two edits of the same file in one answer must not overwrite each other. They queue by the file's
//! real path in the order they were asked for; different files do not wait. A mutation that has
//! begun is carried through and keeps its place until it settles, even when the caller is gone.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::operations::{FileError, FileOperations};

/// Queues mutations by file; clones share the queue.
#[derive(Debug, Clone)]
pub struct MutationQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// One caller at a time finds out its real path, so that places are given in order of asking
    /// however long the disk takes.
    registration: Semaphore,
    /// Files with a mutation under way, and who waits for them.
    busy: Mutex<HashMap<PathBuf, VecDeque<oneshot::Sender<Turn>>>>,
    running: TaskTracker,
}

/// Why a mutation has no result.
#[derive(Debug, thiserror::Error)]
pub enum MutationError {
    /// Cancelled before it began.
    #[error("cancelled before it began")]
    Cancelled,
    /// The path could not be followed.
    #[error(transparent)]
    Path(#[from] FileError),
    /// The mutation itself broke down.
    #[error("the operation broke down: {0}")]
    Failed(String),
}

impl Default for MutationQueue {
    fn default() -> Self {
        Self(Arc::new(Shared {
            registration: Semaphore::new(1),
            busy: Mutex::default(),
            running: TaskTracker::new(),
        }))
    }
}

impl MutationQueue {
    /// Runs a mutation of the file at `path` when its turn has come; it is given the real path.
    ///
    /// Cancelling ends the waiting. A mutation that has begun looks at the token itself.
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
        let (turn, real_path) = cancel
            .run_until_cancelled(self.take_turn(files, path))
            .await
            .ok_or(MutationError::Cancelled)??;
        let mutation = mutation(real_path);
        self.0
            .running
            .spawn(async move {
                let result = mutation.await;
                drop(turn);
                result
            })
            .await
            .map_err(|error| MutationError::Failed(error.to_string()))
    }

    /// Waits until no mutation is under way, so that a program can end without tearing one.
    pub async fn wait_idle(&self) {
        self.0.running.close();
        self.0.running.wait().await;
        self.0.running.reopen();
    }

    async fn take_turn(
        &self,
        files: &dyn FileOperations,
        path: &Path,
    ) -> Result<(Turn, PathBuf), FileError> {
        // The semaphore is never closed; without a permit only the order would suffer.
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
        let fresh = || Turn {
            queue: Arc::clone(&self.0),
            path: real_path.clone(),
        };
        let turn = match waiting {
            None => fresh(),
            // A turn is handed on or its entry removed, so the sender is never just dropped.
            Some(receiver) => receiver.await.unwrap_or_else(|_| fresh()),
        };
        Ok((turn, real_path))
    }
}

impl Shared {
    fn busy(&self) -> MutexGuard<'_, HashMap<PathBuf, VecDeque<oneshot::Sender<Turn>>>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to mutate a file; handed to the next in line when dropped.
#[derive(Debug)]
struct Turn {
    queue: Arc<Shared>,
    path: PathBuf,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // A waiter that has gone away drops the turn it is sent, which would lock the map again:
        // it is looked for here, and sent its turn with the map unlocked.
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
            let turn = Self {
                queue: Arc::clone(&self.queue),
                path: self.path.clone(),
            };
            // One that went away just now gives the turn back by dropping it.
            drop(next.send(turn));
        }
    }
}

#[cfg(test)]
mod tests;
