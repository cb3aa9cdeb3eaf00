//! Commands of a run besides its agent: Git, `setup` and `verify`. They end early if the worker stops, the run is
//! canceled or taken over, or they take longer than the run may.

use std::pin::pin;
use std::time::{Duration, Instant};

use super::attempt::{OWNER_CHECK, POLL};
use super::{ActiveRun, DriveError, RunEnd};
use crate::engine::AppendError;
use crate::run_result::RunStatus;
use crate::workspace::WorkspaceError;

/// Why a command ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    /// The worker stops.
    Stopped,
    Canceled,
    /// The limit `wall`.
    OutOfTime,
}

/// Why a workspace is not ready for its agent.
#[derive(Debug)]
pub(super) enum Unready {
    Workspace(WorkspaceError),
    Interrupted(Interruption),
    Drive(DriveError),
}

impl From<WorkspaceError> for Unready {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(error)
    }
}

impl From<Interruption> for Unready {
    fn from(interruption: Interruption) -> Self {
        Self::Interrupted(interruption)
    }
}

impl From<DriveError> for Unready {
    fn from(error: DriveError) -> Self {
        Self::Drive(error)
    }
}

impl ActiveRun<'_> {
    /// Waits for a command. Dropping it kills its processes.
    pub(super) async fn supervise<T, E>(
        &self,
        command: impl Future<Output = Result<T, E>>,
    ) -> Result<Result<T, E>, Unready> {
        let mut command = pin!(command);
        let started = Instant::now();
        let mut poll = tokio::time::interval(POLL);
        let mut owner_check = tokio::time::interval(OWNER_CHECK);
        loop {
            tokio::select! {
                biased;
                () = self.driver.stop.cancelled() => return Err(Interruption::Stopped.into()),
                done = &mut command => return Ok(done),
                _tick = owner_check.tick() => {
                    if let Err(AppendError::Fenced) = self.log.check_owner().await {
                        return Err(DriveError::from(AppendError::Fenced).into());
                    }
                }
                _tick = poll.tick() => {
                    let wall = self.task.limits.wall;
                    if wall.is_some_and(|wall| started.elapsed() >= wall) {
                        return Err(Interruption::OutOfTime.into());
                    }
                    // Messages wait while the engine is not reachable.
                    if self.is_canceled().await.unwrap_or(false) {
                        return Err(Interruption::Canceled.into());
                    }
                }
            }
        }
    }

    /// Ends a run, or returns it to the queue, after one of its commands was interrupted.
    pub(super) async fn end_early(
        &mut self,
        interruption: Interruption,
    ) -> Result<Option<RunEnd>, DriveError> {
        // A command may have started processes in other groups.
        self.end_processes().await;
        match interruption {
            Interruption::Stopped => {
                self.record_release().await;
                Ok(Some(RunEnd::Released(Duration::ZERO)))
            }
            Interruption::Canceled => self.finish(RunStatus::Canceled, None).await,
            Interruption::OutOfTime => {
                let limit = Some("wall".to_owned());
                self.finish(RunStatus::Limit, limit).await
            }
        }
    }
}
