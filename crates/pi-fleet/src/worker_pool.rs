//! Runs a batch on this machine with several slots.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::driver::{DriveError, Driver, DriverOptions, RunEnd};
use crate::engine::{AppendError, EngineError, FleetEngine, NextRun};
use crate::finished_workspaces;
use crate::limits::{FleetLimits, RateLimiter};
use crate::run_result::RunResult;
use crate::workspace::Mirrors;

/// How often a free slot looks for a run.
const POLL: Duration = Duration::from_millis(200);

/// How long to wait before a queue that is not reachable is read again.
const QUEUE_RETRY: Duration = Duration::from_secs(1);

/// How long a run waits after its worker could not drive it.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// How long a run waits whose log this worker cannot read.
const DAMAGED_DELAY: Duration = Duration::from_mins(5);

/// How long a run waits after its batch has reached its budget.
const BUDGET_DELAY: Duration = Duration::from_secs(30);

/// How often the costs of runs that other processes drive are read, and the largest part of the time that this takes.
const COSTS_REFRESH: Duration = Duration::from_secs(2);
const READING_SHARE: u32 = 5;

/// What follows a problem, in its text.
const TRYING_AGAIN: &str = "trying again";

/// Called with the result of each run that ends.
type ResultListener = dyn Fn(&RunResult) + Send + Sync;

/// Called with the ID of a run, what went wrong with it and what follows.
type ProblemListener = dyn Fn(&str, &str) + Send + Sync;

/// Several slots that drive runs of one engine.
pub struct WorkerPool {
    pub engine: Arc<dyn FleetEngine>,
    pub options: DriverOptions,
    pub slots: usize,
    pub when_empty: WhenEmpty,
    pub budget: Arc<Budget>,
    pub limits: FleetLimits,
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
        finished_workspaces::remove(&pool.options.batches, &mirrors).await;
        let active = ActiveRuns::default();
        pool.read_costs(&active).await?;
        let limiter = Arc::new(RateLimiter::new(pool.limits.clone()));
        let mut slots = JoinSet::new();
        for _ in 0..pool.slots.max(1) {
            let driver = Driver {
                options: pool.options.clone(),
                engine: Arc::clone(&pool.engine),
                budget: Arc::clone(&pool.budget),
                per_day: pool.limits.budget.per_day,
                limiter: Arc::clone(&limiter),
                mirrors: mirrors.clone(),
                stop: pool.stop.clone(),
            };
            let (pool, active) = (Arc::clone(&pool), active.clone());
            slots.spawn(async move { pool.work(&driver, &active).await });
        }
        let mut summary = PoolSummary::default();
        let mut pause = COSTS_REFRESH;
        loop {
            let refreshing = tokio::time::sleep(pause);
            tokio::select! {
                slot = slots.join_next() => match slot {
                    Some(Ok(slot)) => summary.is_out_of_budget |= slot?,
                    // The other slots continue; the run returns to the queue.
                    Some(Err(panicked)) => (pool.on_problem)("slot", &panicked.to_string()),
                    None => break,
                },
                () = refreshing, if pool.budget.is_limited() => {
                    let reading = Instant::now();
                    // Costs that cannot be read now are read the next time.
                    pool.read_costs(&active).await.ok();
                    pause = COSTS_REFRESH.max(reading.elapsed() * READING_SHARE);
                }
            }
        }
        summary.is_interrupted = pool.stop.is_cancelled();
        Ok(summary)
    }

    /// Reads what runs have cost that this process does not drive: another one may work on the same batch.
    async fn read_costs(&self, active: &ActiveRuns) -> Result<(), EngineError> {
        if !self.budget.is_limited() {
            return Ok(());
        }
        let before = active.names().clone();
        let runs = self.engine.overview().await?;
        let after = active.names();
        for run in runs {
            let id = &run.task.id;
            if !before.contains(id) && !after.contains(id) {
                self.budget.set(id, run.state.total_cost());
            }
        }
        Ok(())
    }

    /// Serves one slot; returns whether the budget is reached.
    async fn work(&self, driver: &Driver, active: &ActiveRuns) -> Result<bool, EngineError> {
        let mut has_queue = true;
        while !self.stop.is_cancelled() {
            if self.budget.is_reached() {
                return Ok(!matches!(self.engine.next().await?, NextRun::Done));
            }
            let next = match self.engine.next().await {
                Err(error) if error.is_transient() || error.is_disk_full() => {
                    // Once per outage.
                    if std::mem::take(&mut has_queue) {
                        (self.on_problem)("queue", &format!("{error}; {TRYING_AGAIN}"));
                    }
                    let sleeping = tokio::time::sleep(QUEUE_RETRY);
                    self.stop.run_until_cancelled(sleeping).await;
                    continue;
                }
                Err(error) if error.is_of_run() => {
                    (self.on_problem)("queue", &format!("{error}; {TRYING_AGAIN}"));
                    let sleeping = tokio::time::sleep(QUEUE_RETRY);
                    self.stop.run_until_cancelled(sleeping).await;
                    continue;
                }
                next => next?,
            };
            has_queue = true;
            let delivery = match next {
                NextRun::Done if self.when_empty == WhenEmpty::Stop => return Ok(false),
                NextRun::Wait | NextRun::Done => {
                    let sleeping = tokio::time::sleep(POLL);
                    self.stop.run_until_cancelled(sleeping).await;
                    continue;
                }
                NextRun::Run(delivery) => delivery,
            };
            let id = delivery.task.id.clone();
            let repository = delivery.task.repo.clone();
            let problem = |text: String| {
                // Git repeats the URL of a repository.
                let secrets = &self.options.resources.secrets;
                let mask = secrets.mask(&[], repository.as_deref());
                (self.on_problem)(&id, &mask.apply_to_text(&text));
            };
            active.names().insert(id.clone());
            let driving = driver.drive(&delivery).await;
            active.names().remove(&id);
            match driving {
                Ok(RunEnd::Finished(result)) => {
                    self.engine.finish(delivery).await?;
                    (self.on_result)(&result);
                }
                Ok(RunEnd::Released(after)) => self.engine.release(delivery, after).await?,
                Ok(RunEnd::OutOfBudget) => {
                    self.engine.release(delivery, BUDGET_DELAY).await?;
                    // Other batches may have separate budgets.
                    if self.when_empty == WhenEmpty::Stop {
                        return Ok(true);
                    }
                }
                Err(DriveError::Engine(error)) if error.is_of_run() => {
                    problem(format!("{error}; {TRYING_AGAIN}"));
                    self.engine.release(delivery, DAMAGED_DELAY).await?;
                }
                Err(DriveError::Engine(error))
                    if !error.is_transient() && !error.is_disk_full() =>
                {
                    return Err(error);
                }
                Err(DriveError::Append(error @ AppendError::Fenced)) => {
                    // The run is not of this worker any more; neither is its message in the queue.
                    problem(error.to_string());
                    self.engine.abandon(delivery);
                }
                Err(error) => {
                    problem(format!("{error}; {TRYING_AGAIN}"));
                    self.engine.release(delivery, RETRY_DELAY).await?;
                }
            }
        }
        Ok(false)
    }
}

/// The tasks of the runs that this process drives.
#[derive(Debug, Clone, Default)]
struct ActiveRuns(Arc<Mutex<HashSet<String>>>);

impl ActiveRuns {
    fn names(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Delivery, LocalEngine};
    use crate::record::{LogEntry, RunRecord};
    use crate::task::parse_tasks;

    #[tokio::test]
    async fn costs_of_runs_that_other_processes_drive_are_counted() {
        let directory = tempfile::tempdir().unwrap();
        let engine = LocalEngine::open(directory.path()).unwrap();
        let tasks = parse_tasks("{\"id\":\"a\",\"prompt\":\"x\"}\n{\"id\":\"b\",\"prompt\":\"x\"}");
        engine.submit(&tasks.unwrap()).await.unwrap();
        let pool = WorkerPool {
            engine: Arc::new(engine),
            options: DriverOptions {
                batches: directory.path().to_owned(),
                mirrors: directory.path().to_owned(),
                program: "pi".into(),
                arguments: Vec::new(),
                pi_version: String::new(),
                worker: String::new(),
                resources: crate::driver::WorkerResources::default(),
            },
            slots: 1,
            when_empty: WhenEmpty::Stop,
            budget: Arc::new(Budget::new(Some(1.0))),
            limits: FleetLimits::default(),
            stop: CancellationToken::new(),
            on_result: Arc::new(|_| {}),
            on_problem: Arc::new(|_, _| {}),
        };
        let active = ActiveRuns::default();
        active.names().insert("a".to_owned());
        // This process has reserved more than the log of its run says.
        assert!(pool.budget.reserve("a", 0.25, 0.25));
        let other = LocalEngine::open(directory.path()).unwrap();
        for run in ["a", "b"] {
            let NextRun::Run(delivery) = other.next().await.unwrap() else {
                panic!("no run");
            };
            spend(&other, &delivery, 0.5).await;
            assert_eq!(delivery.task.id, run);
            other
                .release(delivery, Duration::from_hours(1))
                .await
                .unwrap();
        }
        pool.read_costs(&active).await.unwrap();
        assert!((pool.budget.total() - 0.75).abs() < 1e-9);
        assert!(!pool.budget.reserve("c", 0.0, 0.25), "0.25 are reserved");
    }

    /// Records what a run has cost.
    async fn spend(engine: &LocalEngine, delivery: &Delivery, cost: f64) {
        let mut log = engine.open(delivery).await.unwrap();
        let usage = pi_protocol::SessionUsage {
            cost,
            ..pi_protocol::SessionUsage::default()
        };
        let bytes = RunRecord::Bytes {
            length: 0,
            calls: Vec::new(),
            usage: Some(usage),
            counted: None,
        };
        log.append(LogEntry::new(1, bytes), Vec::new())
            .await
            .unwrap();
    }
}
