//! Runs a batch on this machine with several slots.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::driver::{DriveError, Driver, DriverOptions, RunEnd};
use crate::engine::{EngineError, FleetEngine, NextRun};
use crate::run_result::RunResult;
use crate::workspace::Mirrors;

/// How often a free slot looks for a run.
const POLL: Duration = Duration::from_millis(200);

/// How long a run waits after its worker could not drive it.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// How long a run waits after its batch has reached its budget.
const BUDGET_DELAY: Duration = Duration::from_secs(30);

/// Called with the result of each run that ends.
type ResultListener = dyn Fn(&RunResult) + Send + Sync;

/// Called with the ID of a run and what went wrong with it.
type ProblemListener = dyn Fn(&str, &str) + Send + Sync;

/// Several slots that drive runs of one engine.
pub struct WorkerPool {
    pub engine: Arc<dyn FleetEngine>,
    pub options: DriverOptions,
    pub slots: usize,
    pub when_empty: WhenEmpty,
    pub budget: Arc<Budget>,
    pub stop: CancellationToken,
    pub on_result: Arc<ResultListener>,
    pub on_problem: Arc<ProblemListener>,
}

/// What a pool does when no run is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenEmpty {
    Stop,
    /// Wait for other batches.
    Wait,
}

/// How the work on a batch has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolSummary {
    /// The budget kept runs from starting or from continuing.
    pub is_out_of_budget: bool,
    /// The pool was stopped.
    pub is_interrupted: bool,
}

impl WorkerPool {
    /// Drives runs until all are finished, the budget is reached, or the pool is stopped.
    pub async fn run(self) -> Result<PoolSummary, EngineError> {
        let pool = Arc::new(self);
        let mirrors = Mirrors::new(pool.options.mirrors.clone());
        if pool.budget.is_limited() {
            for run in pool.engine.overview().await? {
                let cost = run
                    .state
                    .result
                    .map_or(run.state.usage.cost, |result| result.cost);
                pool.budget.set(&run.task.id, cost);
            }
        }
        let mut slots = JoinSet::new();
        for _ in 0..pool.slots.max(1) {
            let driver = Driver {
                options: pool.options.clone(),
                engine: Arc::clone(&pool.engine),
                budget: Arc::clone(&pool.budget),
                mirrors: mirrors.clone(),
                stop: pool.stop.clone(),
            };
            let pool = Arc::clone(&pool);
            slots.spawn(async move { pool.work(&driver).await });
        }
        let mut summary = PoolSummary::default();
        while let Some(slot) = slots.join_next().await {
            summary.is_out_of_budget |= slot.unwrap_or(Ok(false))?;
        }
        summary.is_interrupted = pool.stop.is_cancelled();
        Ok(summary)
    }

    /// Serves one slot; returns whether the budget is reached.
    async fn work(&self, driver: &Driver) -> Result<bool, EngineError> {
        while !self.stop.is_cancelled() {
            if self.budget.is_reached() {
                return Ok(!matches!(self.engine.next().await?, NextRun::Done));
            }
            let next = match self.engine.next().await {
                Err(error) if error.is_transient() => {
                    (self.on_problem)("queue", &error.to_string());
                    let sleeping = tokio::time::sleep(RETRY_DELAY);
                    self.stop.run_until_cancelled(sleeping).await;
                    continue;
                }
                next => next?,
            };
            let delivery = match next {
                NextRun::Done if self.when_empty == WhenEmpty::Stop => return Ok(false),
                NextRun::Wait | NextRun::Done => {
                    let sleeping = tokio::time::sleep(POLL);
                    self.stop.run_until_cancelled(sleeping).await;
                    continue;
                }
                NextRun::Run(delivery) => delivery,
            };
            match driver.drive(&delivery).await {
                Ok(RunEnd::Finished(result)) => {
                    self.engine.finish(delivery).await?;
                    (self.on_result)(&result);
                }
                Ok(RunEnd::Released) => self.engine.release(delivery, POLL).await?,
                Ok(RunEnd::OutOfBudget) => {
                    self.engine.release(delivery, BUDGET_DELAY).await?;
                    // Other batches may have separate budgets.
                    if self.when_empty == WhenEmpty::Stop {
                        return Ok(true);
                    }
                }
                Err(DriveError::Engine(error)) if !error.is_transient() => return Err(error),
                Err(error) => {
                    (self.on_problem)(&delivery.task.id, &error.to_string());
                    self.engine.release(delivery, RETRY_DELAY).await?;
                }
            }
        }
        Ok(false)
    }
}
