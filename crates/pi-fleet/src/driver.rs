//! Drives one run: starts its agent, keeps its log, responds at its barriers, and ends it.

mod agent;
mod artifacts;
mod attempt;
mod finish;
mod live;
mod supervise;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::engine::{
    AppendError, CREDENTIALS_VARIABLE, Charge, Delivery, EngineError, FleetEngine, RunLog,
    URL_VARIABLE,
};
use crate::finished_workspaces;
use crate::leftovers::RunProcesses;
use crate::limits::RateLimiter;
use crate::record::{LogEntry, RunRecord};
use crate::run_result::{RunResult, RunStatus};
use crate::saved_runs::CopiedLog;
use crate::secrets::{SecretMask, SecretStore};
use crate::session_file;
use crate::store::{ArtifactStore, StoreError};
use crate::task::{FleetTask, WorkspaceKind};
use crate::telemetry::RunTrace;
use crate::workspace::{
    ContainerOptions, ContainerPlan, Mirrors, RunContainer, RunWorkspace, WorkspaceError,
};
use attempt::{Attempt, AttemptEnd};
use supervise::Unready;

/// How long to wait before an engine that is not reachable is tried again.
const ENGINE_RETRY: Duration = Duration::from_secs(1);

/// A run that must wait longer for a rate limit returns to the queue.
const LONGEST_RATE_WAIT: Duration = Duration::from_mins(2);

/// How long a worker that stops tries to record that it has released a run.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a file is stored again before its run returns to the queue, and how long to wait first; doubled each time.
const STORE_ATTEMPTS: u32 = 5;
const STORE_RETRY: Duration = Duration::from_secs(1);

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
    /// The version of the pi program, for the logs of runs.
    pub pi_version: String,
    pub worker: String,
    pub resources: WorkerResources,
}

/// What a worker provides to runs beyond its programs.
#[derive(Clone, Default)]
pub struct WorkerResources {
    pub secrets: SecretStore,
    /// Where results are stored; by default with the engine.
    pub store: Option<ArtifactStore>,
    pub container: ContainerOptions,
}

/// How driving a run has ended.
#[derive(Debug)]
pub enum RunEnd {
    Finished(RunResult),
    /// The run waits in the queue for this time or longer: it was paused, its model accepts no requests, or the worker
    /// stops.
    Released(Duration),
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
    #[error("cannot store {}: {source}", path.display())]
    Results {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The disk is full.
    #[error(transparent)]
    Workspace(WorkspaceError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DriveError {
    /// Whether this machine or the store of results is the cause. The start was not one without a response then.
    fn is_of_machine(&self) -> bool {
        match self {
            Self::Session(_) | Self::Results { .. } | Self::Workspace(_) | Self::Store(_) => true,
            Self::Engine(_) | Self::Append(_) => false,
        }
    }
}

/// Drives the runs of one worker.
pub(crate) struct Driver {
    pub(crate) options: DriverOptions,
    pub(crate) engine: Arc<dyn FleetEngine>,
    pub(crate) budget: Arc<Budget>,
    /// What a day may cost, in US dollars.
    pub(crate) per_day: Option<f64>,
    pub(crate) limiter: Arc<RateLimiter>,
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
    processes: RunProcesses,
    /// Hides secrets in what leaves this machine.
    mask: SecretMask,
    /// Why this worker cannot start the task.
    unsupported: Option<String>,
    /// What budgets have counted for the run, in US dollars.
    counted: f64,
    /// Number of charges by this worker.
    charges: u64,
    trace: Arc<RunTrace>,
}

impl Driver {
    /// Drives a run until it is finished, or the worker stops.
    pub(crate) async fn drive<'run>(
        &'run self,
        delivery: &'run Delivery,
    ) -> Result<RunEnd, DriveError> {
        let task = &delivery.task;
        if let Some(model) = &task.model {
            let wait = self.limiter.drained(self.engine.as_ref(), model);
            if wait > LONGEST_RATE_WAIT {
                return Ok(RunEnd::Released(wait));
            }
        }
        let worker = &self.options.worker;
        let trace = Arc::new(RunTrace::start(&delivery.batch, task, worker));
        let end = self.drive_traced(delivery, &trace).await;
        trace.end(&end);
        end
    }

    async fn drive_traced<'run>(
        &'run self,
        delivery: &'run Delivery,
        trace: &Arc<RunTrace>,
    ) -> Result<RunEnd, DriveError> {
        let task = &delivery.task;
        let mut log = self.engine.open(delivery).await?;
        let batch = self.options.batches.join(&delivery.batch);
        let processes = RunProcesses::new(&batch, &task.id);
        // A task that names a secret without a value fails after its claim.
        let secrets = &self.options.resources.secrets;
        let variables = secrets.variables(&task.secrets).await;
        let secret_variables = variables.as_ref().cloned().unwrap_or_default();
        let mask = secrets.mask(&secret_variables, task.repo.as_deref());
        let mut workspace = RunWorkspace::new(
            &batch,
            &delivery.batch,
            task,
            self.mirrors.clone(),
            run_environment(secret_variables, trace),
        );
        let container = RunContainer::of(
            &self.options.resources.container,
            task,
            &ContainerPlan {
                name: processes.name(),
                pi: &self.options.program,
                workspace: &workspace.path,
                sessions: &session_directory(&batch, task),
                mirror: workspace.mirror(),
                environment: &workspace.environment,
            },
        );
        let mut unsupported = variables.err().map(|error| error.to_string());
        match container {
            Ok(container) => workspace.container = container,
            Err(error) => unsupported = Some(error),
        }
        let epoch = log.state().epoch;
        workspace.set_epoch(epoch, processes.marker(epoch));
        let runs = batch.join("runs");
        pi_fs::private::create_directory(&runs).map_err(DriveError::Session)?;
        let content = log.take_content();
        let counted = log.state().counted;
        // The local engine holds it with the run. A worker of this machine that hangs may hold it, too.
        let is_portable = log.is_portable();
        let _lock = is_portable.then(|| finished_workspaces::lock(&batch, &task.id));
        if is_portable {
            let copied = CopiedLog::begin(&runs, task, log);
            log = Box::new(copied.map_err(DriveError::Session)?);
        }
        let mut run = ActiveRun {
            driver: self,
            delivery,
            task,
            batch,
            log,
            packs: content.packs,
            workspace,
            processes,
            mask,
            unsupported,
            counted,
            charges: 0,
            trace: Arc::clone(trace),
        };
        trace.set_session(&run.session_id());
        // An agent must not start only to be stopped before its first request.
        if !run.charge(counted, 0.0).await? {
            return Ok(RunEnd::OutOfBudget);
        }
        if run.log.is_portable() {
            // What a killed agent still writes would be taken for the session of its worker.
            run.end_processes().await;
            let (directory, id) = (run.session_directory(), run.session_id());
            session_file::adopt(&directory, &id, &content.session, &run.mask)
                .map_err(DriveError::Session)?;
        }
        loop {
            if let Some(end) = run.attempt().await? {
                return Ok(end);
            }
        }
    }

    /// Repeats an operation while the engine is not reachable, unless the worker stops.
    async fn when_reachable<'a, T>(
        &self,
        operation: impl Fn() -> BoxFuture<'a, Result<T, EngineError>>,
    ) -> Result<T, DriveError> {
        loop {
            match operation().await {
                Err(error) if error.is_transient() => {
                    let waiting = tokio::time::sleep(ENGINE_RETRY);
                    if self.stop.run_until_cancelled(waiting).await.is_none() {
                        return Err(error.into());
                    }
                }
                result => return Ok(result?),
            }
        }
    }
}

impl ActiveRun<'_> {
    fn session_directory(&self) -> PathBuf {
        session_directory(&self.batch, self.task)
    }

    fn session_id(&self) -> String {
        session_id(self.task, self.log.state().round)
    }

    fn session_file(&self) -> Result<Option<PathBuf>, DriveError> {
        session_file::find(&self.session_directory(), &self.session_id())
            .map_err(DriveError::Session)
    }

    /// Counts what the run has cost, and reserves what its next request is expected to cost. Returns whether the budgets of
    /// the engine allow the request; nothing is reserved otherwise.
    async fn charge(&mut self, cost: f64, reserve: f64) -> Result<bool, DriveError> {
        self.charges += 1;
        let charge = Charge {
            id: format!(
                "{}-{}-{}",
                self.processes.name(),
                self.log.state().epoch,
                self.charges
            ),
            spent: cost - self.counted,
            reserve,
            per_day: self.driver.per_day,
        };
        let (driver, delivery) = (self.driver, self.delivery);
        let send = || driver.engine.charge(delivery, &charge);
        let is_reached = driver.when_reachable(send).await?;
        self.counted = if is_reached { cost } else { cost + reserve };
        Ok(!is_reached)
    }

    /// Records that the run returns to the queue. Without it, the start counts as one without a response.
    async fn record_release(&mut self) {
        let release = RunRecord::Release {
            counted: self.counted,
        };
        let entry = LogEntry::new(self.log.state().epoch, release);
        let appending = self.log.append(entry, Vec::new());
        tokio::time::timeout(RELEASE_TIMEOUT, appending).await.ok();
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
            .map(|bytes| self.mask.apply(bytes))
            .map_err(DriveError::Session)
    }

    /// Returns the calls that have begun and have no result in the session yet. After a resume, the result of an interrupted
    /// call may be stored later than the barrier of the calls that run again.
    fn open_calls(&self, length: u64) -> Result<Vec<String>, DriveError> {
        let state = self.log.state();
        if state.begun.is_empty() {
            return Ok(Vec::new());
        }
        let results = match self.session_file()? {
            Some(file) => {
                session_file::results(&file, state.length..length).map_err(DriveError::Session)?
            }
            None => std::collections::HashSet::new(),
        };
        let open = state.begun.iter().filter(|call| !results.contains(*call));
        Ok(open.cloned().collect())
    }

    /// Ends what this worker or an earlier one has left of the run on this machine.
    async fn end_processes(&self) {
        let epoch = self.log.state().epoch;
        self.processes.kill(epoch).await;
        if let Some(container) = &self.workspace.container {
            container.remove(epoch).await;
        }
    }

    /// Claims the run and starts its agent once. Returns `None` if the agent died before the run ended.
    async fn attempt(&mut self) -> Result<Option<RunEnd>, DriveError> {
        let before = self.log.state().epoch;
        let end = self.claim_and_start().await;
        let is_claimed = self.log.state().epoch > before;
        if end.as_ref().is_err_and(DriveError::is_of_machine) && is_claimed {
            self.record_release().await;
        }
        end
    }

    async fn claim_and_start(&mut self) -> Result<Option<RunEnd>, DriveError> {
        self.end_processes().await;
        self.workspace.remove_stale_locks();
        if self.workspace.container.is_some() {
            let sessions = self.session_directory();
            pi_fs::private::create_directory(&sessions).map_err(DriveError::Session)?;
        }
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
            pi: self.driver.options.pi_version.clone(),
        };
        let claim = LogEntry::new(state.epoch + 1, claim);
        self.log.append(claim, Vec::new()).await?;
        let epoch = self.log.state().epoch;
        let marker = self.processes.marker(epoch);
        self.workspace.set_epoch(epoch, marker);
        let is_canceled = || async { self.is_canceled().await }.boxed();
        if self.driver.when_reachable(is_canceled).await? {
            return self.finish(RunStatus::Canceled, None).await;
        }
        if let Some(error) = self.unsupported.clone() {
            return self.finish(RunStatus::Failed, Some(error)).await;
        }
        let since = state.prompt.as_ref().map_or(0, |(_, length)| *length);
        let has_prompt = session.as_ref().is_some_and(|one| one.has_prompt(since));
        match self.restore(session.map(|one| one.new_results)).await {
            Ok(()) => {}
            Err(Unready::Workspace(error)) if error.is_disk_full() => {
                return Err(DriveError::Workspace(error));
            }
            Err(Unready::Workspace(error)) => {
                let error = Some(error.to_string());
                return self.finish(RunStatus::Failed, error).await;
            }
            Err(Unready::Interrupted(interruption)) => {
                return self.end_early(interruption).await;
            }
            Err(Unready::Drive(error)) => return Err(error),
        }
        match Attempt::start(self, has_prompt).await? {
            AttemptEnd::Died => Ok(None),
            AttemptEnd::Released(after) => {
                self.record_release().await;
                Ok(Some(RunEnd::Released(after)))
            }
            AttemptEnd::OutOfBudget => {
                self.record_release().await;
                Ok(Some(RunEnd::OutOfBudget))
            }
            AttemptEnd::Settled => self.finish_settled().await,
            AttemptEnd::Limit(limit) => self.finish(RunStatus::Limit, Some(limit)).await,
            AttemptEnd::Canceled => self.finish(RunStatus::Canceled, None).await,
            AttemptEnd::Failed(error) => self.finish(RunStatus::Failed, Some(error)).await,
        }
    }

    /// Whether a client has canceled the run before this worker owned it.
    async fn is_canceled(&self) -> Result<bool, EngineError> {
        use crate::engine::ControlMessage::Cancel;
        let delivered = self.log.state().delivered;
        let messages = self.driver.engine.control(self.delivery, delivered).await?;
        Ok(messages.iter().any(|one| one.message == Cancel))
    }

    /// Returns workspace and session to a state they had together.
    async fn restore(
        &mut self,
        new_results: Option<std::collections::HashSet<String>>,
    ) -> Result<(), Unready> {
        let state = self.log.state().clone();
        let exists = self.workspace.exists();
        // Without the files, the mirror has the snapshots, as those of a finished run.
        let can_restore = exists || self.task.repo.is_some() || self.log.is_portable();
        let Some((base, tree)) = state.workspace.filter(|_| can_restore) else {
            return self.create_workspace().await;
        };
        self.prepare_workspace(&base).await?;
        if !state.begun.is_empty() {
            let results = new_results.unwrap_or_default();
            if exists && state.begun.iter().all(|call| results.contains(call)) {
                // Every call has ended and is stored: the workspace is newer than its snapshot, and nothing is open.
                return Ok(());
            }
            // Some results may be stored; the calls have run together, and are interrupted together.
            if let Some(file) = self.session_file()? {
                session_file::truncate(&file, state.length).map_err(DriveError::Session)?;
            }
        }
        Ok(self.workspace.restore(&tree).await?)
    }

    /// Creates the workspace on this machine unless it exists, and adds the snapshots of other machines.
    async fn prepare_workspace(&mut self, base: &str) -> Result<(), Unready> {
        if !self.workspace.exists() {
            let creating = self.workspace.create(self.task, Some(base));
            self.supervise(creating).await??;
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

    async fn create_workspace(&mut self) -> Result<(), Unready> {
        let base = self
            .supervise(self.workspace.create(self.task, None))
            .await??;
        Ok(self.record_snapshot(base, None).await??)
    }
}

/// Returns the directory of the session of a task. Containers see no other sessions.
pub(crate) fn session_directory(batch: &Path, task: &FleetTask) -> PathBuf {
    let sessions = batch.join("sessions");
    match &task.workspace {
        Some(WorkspaceKind::Container { .. }) => sessions.join(&task.id),
        Some(WorkspaceKind::Worktree) | None => sessions,
    }
}

/// Returns the ID of the session of a task, which has a new one each time it starts over.
pub(crate) fn session_id(task: &FleetTask, round: u32) -> String {
    match round {
        0 => task.id.clone(),
        round => format!("{}-r{round}", task.id),
    }
}

/// Returns the environment variables of everything that a run starts.
fn run_environment(secrets: Vec<(String, String)>, trace: &RunTrace) -> Vec<(String, String)> {
    let mut variables = secrets;
    variables.extend(trace.environment());
    // Runs have nothing to do with the server of their fleet.
    variables.extend([
        (URL_VARIABLE.to_owned(), String::new()),
        (CREDENTIALS_VARIABLE.to_owned(), String::new()),
    ]);
    variables
}
