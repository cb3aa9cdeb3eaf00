//! The commands that run in the background of a session: at most a few, each with a name, the end of its output in memory
//! and all of it in a file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use pi_core::{ExitCode, ProcessError, ProcessOperations, ShellCommand};
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::recent_output::{OutputPart, RecentOutput};
use crate::output_spool::{OutputForm, OutputSpool, SpillTarget};
use crate::shell_run::{self, OutputProgress};

/// Maximum number of processes that run at the same time.
const MAX_RUNNING: usize = 8;

/// Number of ended processes whose output can still be read.
const MAX_ENDED: usize = 16;

const MAX_NAME_CHARACTERS: usize = 64;

/// Messages to a process that it has not read.
const MAX_UNREAD_INPUT: usize = 64;

/// Why a process cannot be started, read, written to or stopped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BackgroundProcessError {
    #[error(
        "Invalid name: use 1 to {MAX_NAME_CHARACTERS} characters without spaces or control characters."
    )]
    InvalidName,
    #[error("{0} is already running. Stop it first, or use another name.")]
    AlreadyRunning(String),
    #[error("{MAX_RUNNING} processes are running already: {0}. Stop one of them first.")]
    TooMany(String),
    #[error("There is no process {0}. Start it, or list the processes.")]
    Unknown(String),
    #[error("{0} has ended.")]
    Ended(String),
    #[error("{0} does not read its input.")]
    InputNotRead(String),
}

/// What a process does, or how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessState {
    Running,
    /// Ended without a request; the exit code may be unknown.
    Exited(Option<i32>),
    /// Ended on request.
    Stopped,
    /// Could not be started or observed, for this reason.
    Failed(String),
}

/// As after the name of the process: "is running", "exited with code 1".
impl fmt::Display for ProcessState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running => formatter.write_str("is running"),
            Self::Exited(Some(code)) => write!(formatter, "exited with code {code}"),
            Self::Exited(None) => formatter.write_str("exited without an exit code"),
            Self::Stopped => formatter.write_str("was stopped"),
            Self::Failed(reason) => write!(formatter, "failed: {reason}"),
        }
    }
}

/// A process in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStatus {
    pub name: String,
    pub command: String,
    pub state: ProcessState,
    /// Seconds since its start.
    pub age_seconds: u64,
    /// File with all of its output, if that is long.
    pub full_output_path: Option<PathBuf>,
}

/// A process that has ended without a request, for those who asked to be notified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessExit {
    pub name: String,
    pub state: ProcessState,
    /// The end of its output.
    pub output: String,
}

/// The background processes of a session. Clones share them; when the last one is dropped, they are killed.
#[derive(Clone)]
pub struct BackgroundProcesses(Arc<ProcessTable>);

struct ProcessTable {
    processes: Mutex<BTreeMap<String, Arc<BackgroundProcess>>>,
    exits: mpsc::UnboundedSender<ProcessExit>,
    /// What follows the processes; ends with the table.
    tasks: Mutex<JoinSet<()>>,
}

/// How to start a process.
pub(super) struct NewProcess {
    pub(super) name: String,
    pub(super) command: ShellCommand,
    /// What to show as the command.
    pub(super) title: String,
    /// Whether its end is reported.
    pub(super) notify: bool,
    /// Where long output is saved.
    pub(super) spill_directory: PathBuf,
}

pub(super) struct BackgroundProcess {
    name: String,
    title: String,
    started: Instant,
    state: watch::Sender<ProcessState>,
    output: Mutex<RecentOutput>,
    input: mpsc::Sender<Bytes>,
    stop: CancellationToken,
}

impl BackgroundProcesses {
    /// Creates an empty table, and what receives the ends of processes.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<ProcessExit>) {
        let (exits, receiver) = mpsc::unbounded_channel();
        let table = ProcessTable {
            processes: Mutex::default(),
            exits,
            tasks: Mutex::default(),
        };
        (Self(Arc::new(table)), receiver)
    }

    /// Returns all processes by name, also those that ended not long ago.
    pub fn list(&self) -> Vec<ProcessStatus> {
        let processes = self.processes();
        processes.values().map(|process| process.status()).collect()
    }

    /// Ends a process and waits until it is gone.
    pub async fn stop(&self, name: &str) -> Result<ProcessStatus, BackgroundProcessError> {
        let process = self.get(name)?;
        process.stop.cancel();
        process.ended().await;
        Ok(process.status())
    }

    /// Ends all processes.
    pub fn cancel_all(&self) {
        for process in self.processes().values() {
            process.stop.cancel();
        }
    }

    /// Ends all processes and waits until they are gone.
    pub async fn stop_all(&self) {
        self.cancel_all();
        let processes: Vec<_> = self.processes().values().cloned().collect();
        for process in processes {
            process.ended().await;
        }
    }

    pub(super) fn get(&self, name: &str) -> Result<Arc<BackgroundProcess>, BackgroundProcessError> {
        let found = self.processes().get(name).cloned();
        found.ok_or_else(|| BackgroundProcessError::Unknown(name.to_owned()))
    }

    pub(super) fn start(
        &self,
        processes: Arc<dyn ProcessOperations>,
        new: NewProcess,
    ) -> Result<Arc<BackgroundProcess>, BackgroundProcessError> {
        check_name(&new.name)?;
        let (input, receiver) = mpsc::channel(MAX_UNREAD_INPUT);
        let process = Arc::new(BackgroundProcess {
            name: new.name,
            title: new.title,
            started: Instant::now(),
            state: watch::Sender::new(ProcessState::Running),
            output: Mutex::default(),
            input,
            stop: CancellationToken::new(),
        });
        self.add(Arc::clone(&process))?;
        let target = SpillTarget {
            directory: new.spill_directory,
            prefix: "pi-process",
        };
        let exits = new.notify.then(|| self.0.exits.clone());
        let following = Arc::clone(&process);
        let mut tasks = self.0.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            following
                .follow(processes, new.command, receiver, target)
                .await;
            if let Some(exits) = exits {
                following.report_exit(&exits);
            }
        });
        Ok(process)
    }

    fn processes(&self) -> MutexGuard<'_, BTreeMap<String, Arc<BackgroundProcess>>> {
        self.0.processes.lock()
    }

    fn add(&self, process: Arc<BackgroundProcess>) -> Result<(), BackgroundProcessError> {
        let mut processes = self.processes();
        let running: Vec<&str> = processes
            .values()
            .filter(|process| process.is_running())
            .map(|process| process.name.as_str())
            .collect();
        if running.contains(&process.name.as_str()) {
            return Err(BackgroundProcessError::AlreadyRunning(process.name.clone()));
        }
        if running.len() >= MAX_RUNNING {
            return Err(BackgroundProcessError::TooMany(running.join(", ")));
        }
        processes.insert(process.name.clone(), process);
        forget_oldest(&mut processes);
        Ok(())
    }
}

fn forget_oldest(processes: &mut BTreeMap<String, Arc<BackgroundProcess>>) {
    let ended = |process: &&Arc<BackgroundProcess>| !process.is_running();
    while processes.values().filter(ended).count() > MAX_ENDED {
        let oldest = processes
            .values()
            .filter(ended)
            .min_by_key(|process| process.started);
        let Some(name) = oldest.map(|process| process.name.clone()) else {
            return;
        };
        processes.remove(&name);
    }
}

impl BackgroundProcess {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn state(&self) -> ProcessState {
        self.state.borrow().clone()
    }

    pub(super) fn is_running(&self) -> bool {
        *self.state.borrow() == ProcessState::Running
    }

    fn status(&self) -> ProcessStatus {
        ProcessStatus {
            name: self.name.clone(),
            command: self.title.clone(),
            state: self.state(),
            age_seconds: self.started.elapsed().as_secs(),
            full_output_path: self.output.lock().file().map(ToOwned::to_owned),
        }
    }

    /// Waits until the process has ended.
    pub(super) async fn ended(&self) {
        let mut state = self.state.subscribe();
        // The sender lives as long as `self`.
        state
            .wait_for(|state| *state != ProcessState::Running)
            .await
            .ok();
    }

    /// Returns the output after a position.
    pub(super) fn output_since(&self, position: u64) -> OutputPart {
        self.output.lock().since(position)
    }

    /// Sends text to the process.
    pub(super) fn write(&self, text: String) -> Result<(), BackgroundProcessError> {
        if !self.is_running() {
            return Err(BackgroundProcessError::Ended(self.name.clone()));
        }
        let sent = self.input.try_send(text.into());
        sent.map_err(|_full_or_closed| BackgroundProcessError::InputNotRead(self.name.clone()))
    }

    /// Runs the command to its end.
    async fn follow(
        &self,
        processes: Arc<dyn ProcessOperations>,
        command: ShellCommand,
        input: mpsc::Receiver<Bytes>,
        target: SpillTarget,
    ) {
        let mut spool = OutputSpool::new(OutputForm::Raw, target);
        let keep = |progress: OutputProgress<'_>| match progress {
            OutputProgress::Text(text) => self.output.lock().push(text),
            OutputProgress::UpdateDue(spool) => {
                self.output.lock().set_file(spool.full_output_path());
            }
        };
        let stop = self.stop.clone();
        let running =
            shell_run::run_with_input(&*processes, command, input, &mut spool, keep, stop);
        let state = match running.await {
            Ok(ExitCode(code)) => ProcessState::Exited(code),
            Err(ProcessError::Aborted) => ProcessState::Stopped,
            Err(error) => ProcessState::Failed(error.to_string()),
        };
        self.state.send_replace(state);
    }

    fn report_exit(&self, exits: &mpsc::UnboundedSender<ProcessExit>) {
        let state = self.state();
        if state == ProcessState::Stopped {
            return;
        }
        let exit = ProcessExit {
            name: self.name.clone(),
            state,
            output: self.output.lock().last_lines().to_owned(),
        };
        // The session may be gone.
        exits.send(exit).ok();
    }
}

fn check_name(name: &str) -> Result<(), BackgroundProcessError> {
    let is_allowed = |character: char| !character.is_whitespace() && !character.is_control();
    let length = name.chars().count();
    if length == 0 || length > MAX_NAME_CHARACTERS || !name.chars().all(is_allowed) {
        return Err(BackgroundProcessError::InvalidName);
    }
    Ok(())
}
