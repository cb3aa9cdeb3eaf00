//! Drives one run: starts its agent, keeps its log, responds at its barriers, and ends it.

mod agent;
mod attempt;
mod finish;

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::engine::{
    AppendError, CREDENTIALS_VARIABLE, Delivery, EngineError, FleetEngine, RunLog, URL_VARIABLE,
};
use crate::leftovers::{self, RUN_VARIABLE};
use crate::record::{LogEntry, RunRecord};
use crate::run_result::{RunResult, RunStatus};
use crate::session_file;
use crate::task::FleetTask;
use crate::workspace::{Mirrors, RunWorkspace, WorkspaceError};
use attempt::{Attempt, AttemptEnd};

/// What all runs of a worker have in common.
#[derive(Clone)]
pub struct DriverOptions {
    /// The directory of the batches; absolute.
    pub batches: PathBuf,
    /// The directory of the mirrors.
    pub mirrors: PathBuf,
    /// The pi program.
    pub program: PathBuf,
    /// Arguments of every agent.
    pub arguments: Vec<String>,
    pub worker: String,
}

/// How driving a run has ended.
#[derive(Debug)]
pub enum RunEnd {
    Finished(RunResult),
    /// The run waits in the queue: it was paused, or the worker stops.
    Released,
    /// The budget of the batch is reached.
    OutOfBudget,
}

/// Why a run cannot be driven. It stays in the queue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriveError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error("cannot access the session: {0}")]
    Session(std::io::Error),
    #[error("cannot write the results: {0}")]
    Results(std::io::Error),
}

/// Drives the runs of one worker.
pub(crate) struct Driver {
    pub(crate) options: DriverOptions,
    pub(crate) engine: Arc<dyn FleetEngine>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) mirrors: Mirrors,
    /// Canceled when the worker stops.
    pub(crate) stop: CancellationToken,
}

/// One run while this worker owns it.
struct ActiveRun<'driver> {
    driver: &'driver Driver,
    delivery: &'driver Delivery,
    task: &'driver FleetTask,
    /// The directory of the batch on this machine.
    batch: PathBuf,
    log: Box<dyn RunLog>,
    /// Git packs of the log that the mirror may not have.
    packs: Vec<Vec<u8>>,
    workspace: RunWorkspace,
    /// Identifies the processes of the run.
    marker: String,
}

impl Driver {
    /// Drives a run until it is finished, or the worker stops.
    pub(crate) async fn drive<'run>(
        &'run self,
        delivery: &'run Delivery,
    ) -> Result<RunEnd, DriveError> {
        let task = &delivery.task;
        let mut log = self.engine.open(delivery).await?;
        let batch = self.options.batches.join(&delivery.batch);
        let marker = format!("{}:{}", batch.display(), task.id);
        let workspace = RunWorkspace::new(
            &batch,
            &delivery.batch,
            task,
            self.mirrors.clone(),
            marker.clone(),
        );
        let runs = batch.join("runs");
        pi_fs::private::create_directory(&runs).map_err(DriveError::Session)?;
        let content = log.take_content();
        let mut run = ActiveRun {
            driver: self,
            delivery,
            task,
            batch,
            log,
            packs: content.packs,
            workspace,
            marker,
        };
        if run.log.is_portable() {
            // What a killed agent still writes would be taken for the session of its worker.
            leftovers::kill(&run.agent_file(), &run.marker).await;
            let (directory, id) = (run.session_directory(), run.session_id());
            session_file::adopt(&directory, &id, &content.session).map_err(DriveError::Session)?;
        }
        loop {
            if let Some(end) = run.attempt().await? {
                return Ok(end);
            }
        }
    }
}

impl ActiveRun<'_> {
    fn session_directory(&self) -> PathBuf {
        self.batch.join("sessions")
    }

    fn session_id(&self) -> String {
        match self.log.state().round {
            0 => self.task.id.clone(),
            round => format!("{}-r{round}", self.task.id),
        }
    }

    fn session_file(&self) -> Result<Option<PathBuf>, DriveError> {
        session_file::find(&self.session_directory(), &self.session_id())
            .map_err(DriveError::Session)
    }

    /// Counts what the run has cost since the last record; returns whether a budget of the engine is reached.
    async fn charge(&self, cost: f64) -> Result<bool, DriveError> {
        let dollars = cost - self.log.state().usage.cost;
        Ok(self.driver.engine.charge(self.delivery, dollars).await?)
    }

    /// Returns what the agent has added to its session since the last record, if the log stores it.
    fn session_bytes(&self, length: u64) -> Result<Vec<u8>, DriveError> {
        if !self.log.is_portable() {
            return Ok(Vec::new());
        }
        let Some(file) = self.session_file()? else {
            return Ok(Vec::new());
        };
        session_file::read_range(&file, self.log.state().length..length)
            .map_err(DriveError::Session)
    }

    fn agent_file(&self) -> PathBuf {
        let runs = self.batch.join("runs");
        runs.join(format!("{}.agent", self.task.id))
    }

    /// Claims the run and starts its agent once. Returns `None` if the agent died before the run ended.
    async fn attempt(&mut self) -> Result<Option<RunEnd>, DriveError> {
        leftovers::kill(&self.agent_file(), &self.marker).await;
        let state = self.log.state().clone();
        if state.fruitless_attempts >= self.task.limits.attempts() {
            let error = format!("{} starts without a new response", state.fruitless_attempts);
            return self.finish(RunStatus::Poisoned, Some(error)).await;
        }
        let session = match self.session_file()? {
            Some(file) => session_file::summarize(&file, state.length)
                .map(Some)
                .map_err(DriveError::Session)?,
            None => None,
        };
        let has_response = session.as_ref().is_some_and(|one| one.has_new_response);
        let claim = RunRecord::Claim {
            worker: self.driver.options.worker.clone(),
            attempt: state.attempts + 1,
            cut: state.has_requested && !has_response,
            version: pi_env::release(),
        };
        let claim = LogEntry::new(state.epoch + 1, claim);
        self.log.append(claim, Vec::new()).await?;
        let is_canceled = self.is_canceled().await?;
        if is_canceled {
            return self.finish(RunStatus::Canceled, None).await;
        }
        let has_prompt = session.as_ref().is_some_and(|one| one.has_prompt);
        if let Err(error) = self.restore(session.map(|one| one.new_results)).await? {
            return self
                .finish(RunStatus::Failed, Some(error.to_string()))
                .await;
        }
        let end = Attempt::start(self, has_prompt).await?;
        match end {
            AttemptEnd::Died => Ok(None),
            AttemptEnd::Released => Ok(Some(RunEnd::Released)),
            AttemptEnd::OutOfBudget => Ok(Some(RunEnd::OutOfBudget)),
            AttemptEnd::Settled => self.finish_settled().await,
            AttemptEnd::Limit(limit) => self.finish(RunStatus::Limit, Some(limit)).await,
            AttemptEnd::Canceled => self.finish(RunStatus::Canceled, None).await,
            AttemptEnd::Failed(error) => self.finish(RunStatus::Failed, Some(error)).await,
        }
    }

    /// Whether a client has canceled the run before this worker owned it.
    async fn is_canceled(&self) -> Result<bool, DriveError> {
        use crate::engine::ControlMessage::Cancel;
        let delivered = self.log.state().delivered;
        let messages = self.driver.engine.control(self.delivery, delivered).await?;
        Ok(messages.iter().any(|one| one.message == Cancel))
    }

    /// Returns workspace and session to a state they had together. The inner error is one of the task.
    async fn restore(
        &mut self,
        new_results: Option<std::collections::HashSet<String>>,
    ) -> Result<Result<(), WorkspaceError>, DriveError> {
        let state = self.log.state().clone();
        let exists = self.workspace.exists();
        let can_restore = exists || self.log.is_portable();
        let Some((base, tree)) = state.workspace.filter(|_| can_restore) else {
            return self.create_workspace().await;
        };
        if let Err(error) = self.prepare_workspace(&base).await {
            return Ok(Err(error));
        }
        if !state.begun.is_empty() {
            let results = new_results.unwrap_or_default();
            if exists && state.begun.iter().all(|call| results.contains(call)) {
                // Every call has ended and is stored: the workspace is newer than its snapshot, and nothing is open.
                return Ok(Ok(()));
            }
            // Some results may be stored; the calls have run together, and are interrupted together.
            if let Some(file) = self.session_file()? {
                session_file::truncate(&file, state.length).map_err(DriveError::Session)?;
            }
        }
        Ok(self.workspace.restore(&tree).await)
    }

    /// Creates the workspace on this machine unless it exists, and adds the snapshots of other machines.
    async fn prepare_workspace(&mut self, base: &str) -> Result<(), WorkspaceError> {
        if !self.workspace.exists() {
            self.workspace.create(self.task, Some(base)).await?;
        }
        for pack in std::mem::take(&mut self.packs) {
            self.workspace.unpack(pack).await?;
        }
        Ok(())
    }

    /// Stores the workspace, and records it if it has changed. The inner error is one of the task.
    async fn record_snapshot(
        &mut self,
        base: String,
        previous: Option<&str>,
    ) -> Result<Result<(), WorkspaceError>, DriveError> {
        let tree = match self.workspace.snapshot().await {
            Ok(tree) if Some(tree.as_str()) == previous => return Ok(Ok(())),
            Ok(tree) => tree,
            Err(error) => return Ok(Err(error)),
        };
        let mut pack = Vec::new();
        if self.log.is_portable() {
            let known = previous.unwrap_or(&base);
            pack = match self.workspace.pack(known, &tree).await {
                Ok(pack) => pack,
                Err(error) => return Ok(Err(error)),
            };
        }
        self.record(RunRecord::Tree { base, tree }, pack).await?;
        Ok(Ok(()))
    }

    /// Appends a record in the epoch of the last claim. Waits while the engine is not reachable, unless the worker stops.
    async fn record(&mut self, record: RunRecord, payload: Vec<u8>) -> Result<(), AppendError> {
        let entry = LogEntry::new(self.log.state().epoch, record);
        let appending = self.log.append(entry, payload);
        tokio::select! {
            biased;
            appended = appending => appended,
            () = self.driver.stop.cancelled() => {
                Err(AppendError::Failed("the worker stops".to_owned()))
            }
        }
    }

    async fn create_workspace(&mut self) -> Result<Result<(), WorkspaceError>, DriveError> {
        match self.workspace.create(self.task, None).await {
            Ok(base) => self.record_snapshot(base, None).await,
            Err(error) => Ok(Err(error)),
        }
    }

    /// Returns the environment variables of the agent.
    fn environment(&self) -> [(&'static str, String); 3] {
        // Agents have nothing to do with the server of their fleet.
        [
            (RUN_VARIABLE, self.marker.clone()),
            (URL_VARIABLE, String::new()),
            (CREDENTIALS_VARIABLE, String::new()),
        ]
    }
}
