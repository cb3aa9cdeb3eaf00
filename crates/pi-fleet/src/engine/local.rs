//! The engine for one machine: files in a directory, and locks that end with their process.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use pi_fs::file_lock::{LockState, try_lock};

use super::{
    AppendError, ControlMessage, Delivery, EngineError, FleetEngine, Lease, NextRun, RunContent,
    RunControl, RunLog, RunOverview, is_paused,
};
use crate::journal::{self, Journal};
use crate::record::{LogEntry, RunRecord};
use crate::run_state::RunState;
use crate::task::FleetTask;

/// A batch in a directory: `batch.jsonl` has the tasks, `runs/` the log, the lock and the control messages of each run.
pub struct LocalEngine {
    directory: PathBuf,
    queue: Mutex<LocalQueue>,
}

/// What this process knows about the queue.
#[derive(Default)]
struct LocalQueue {
    tasks: Vec<FleetTask>,
    finished: HashSet<String>,
    released: HashMap<String, Instant>,
}

impl LocalEngine {
    /// Opens a batch, and creates its directory if necessary.
    pub fn open(directory: &Path) -> Result<Self, EngineError> {
        let runs = directory.join("runs");
        pi_fs::private::create_directory(&runs).map_err(|error| file_error(&runs, error))?;
        let engine = Self {
            directory: directory.to_owned(),
            queue: Mutex::default(),
        };
        let path = engine.batch_file();
        let text = journal::read(&path).map_err(|error| file_error(&path, error))?;
        engine.queue().tasks = parse_tasks(&path, &text)?;
        Ok(engine)
    }

    fn batch_file(&self) -> PathBuf {
        self.directory.join("batch.jsonl")
    }

    fn run_file(&self, run: &str, extension: &str) -> PathBuf {
        self.directory
            .join("runs")
            .join(format!("{run}.{extension}"))
    }

    fn queue(&self) -> MutexGuard<'_, LocalQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self, tasks: &[FleetTask]) -> Result<usize, EngineError> {
        let path = self.batch_file();
        let failed = |error| file_error(&path, error);
        // Another process may submit the same tasks.
        let lock_path = self.directory.join("batch.lock");
        let lock = pi_fs::private::open_or_create(&lock_path)
            .map_err(|error| file_error(&lock_path, error))?;
        lock.lock().map_err(|error| file_error(&lock_path, error))?;
        let (mut journal, text) = Journal::open(&path).map_err(failed)?;
        let mut stored = parse_tasks(&path, &text)?;
        let mut added = 0;
        for task in tasks {
            if stored.iter().any(|one| one.id == task.id) {
                continue;
            }
            let line = serde_json::to_string(task).map_err(|error| failed(error.into()))?;
            journal.append(&line).map_err(failed)?;
            stored.push(task.clone());
            added += 1;
        }
        journal.sync().map_err(failed)?;
        self.queue().tasks = stored;
        Ok(added)
    }

    /// Takes the lock of a run; `None` if another process holds it.
    fn try_lease(&self, run: &str) -> Result<Option<File>, EngineError> {
        let path = self.run_file(run, "lock");
        let file =
            pi_fs::private::open_or_create(&path).map_err(|error| file_error(&path, error))?;
        Ok(match try_lock(&file, &path) {
            LockState::Acquired => Some(file),
            LockState::HeldElsewhere => None,
            LockState::Unsupported => {
                let error = io::Error::other("the file system does not support locks");
                return Err(file_error(&path, error));
            }
        })
    }

    fn take_next(&self) -> Result<NextRun, EngineError> {
        let mut candidates: Vec<FleetTask> = {
            let queue = self.queue();
            let open = queue.tasks.iter();
            open.filter(|task| !queue.finished.contains(&task.id))
                .cloned()
                .collect()
        };
        if candidates.is_empty() {
            return Ok(NextRun::Done);
        }
        // Stable: tasks of the same priority keep their order.
        candidates.sort_by_key(|task| std::cmp::Reverse(task.priority));
        for task in candidates {
            let released = self.queue().released.get(&task.id).copied();
            if released.is_some_and(|until| Instant::now() < until) {
                continue;
            }
            let Some(lock) = self.try_lease(&task.id)? else {
                continue;
            };
            // Read under the lock: another process may have finished the run meanwhile.
            if self.read_state(&task.id)?.result.is_some() {
                self.queue().finished.insert(task.id.clone());
                continue;
            }
            let messages = self.read_control(&task.id)?;
            if is_paused(&messages) {
                continue;
            }
            let lease = Lease(Box::new(lock));
            let batch = self.directory.file_name().unwrap_or_default();
            let batch = batch.to_string_lossy().into_owned();
            return Ok(NextRun::Run(Delivery { batch, task, lease }));
        }
        let queue = self.queue();
        let is_finished = |task: &FleetTask| queue.finished.contains(&task.id);
        Ok(if queue.tasks.iter().all(is_finished) {
            NextRun::Done
        } else {
            NextRun::Wait
        })
    }

    fn read_state(&self, run: &str) -> Result<RunState, EngineError> {
        let path = self.run_file(run, "log");
        let text = journal::read(&path).map_err(|error| file_error(&path, error))?;
        parse_state(&path, &text)
    }

    fn open_log(&self, run: &str) -> Result<LocalLog, EngineError> {
        let path = self.run_file(run, "log");
        let (journal, text) = Journal::open(&path).map_err(|error| file_error(&path, error))?;
        let state = parse_state(&path, &text)?;
        Ok(LocalLog { journal, state })
    }

    fn read_control(&self, run: &str) -> Result<Vec<RunControl>, EngineError> {
        let path = self.run_file(run, "control");
        let text = journal::read(&path).map_err(|error| file_error(&path, error))?;
        let messages = text.lines().zip(1..).map(|(line, number)| {
            let message = serde_json::from_str(line).map_err(|error| EngineError::Invalid {
                path: path.clone(),
                reason: error.to_string(),
            })?;
            Ok(RunControl { number, message })
        });
        messages.collect()
    }

    fn append_control(&self, run: &str, message: &ControlMessage) -> Result<(), EngineError> {
        self.check_run(run)?;
        let path = self.run_file(run, "control");
        let failed = |error| file_error(&path, error);
        let mut line = serde_json::to_vec(message).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        let mut file = pi_fs::private::open_for_append(&path).map_err(failed)?;
        file.write_all(&line).map_err(failed)
    }

    fn check_run(&self, run: &str) -> Result<(), EngineError> {
        let is_known = self.queue().tasks.iter().any(|task| task.id == run);
        let unknown = || EngineError::UnknownRun(run.to_owned());
        is_known.then_some(()).ok_or_else(unknown)
    }

    fn open_again(&self, run: &str) -> Result<bool, EngineError> {
        self.check_run(run)?;
        let Some(_lock) = self.try_lease(run)? else {
            return Err(EngineError::InProgress(run.to_owned()));
        };
        let mut log = self.open_log(run)?;
        if log.state.result.is_none() {
            return Ok(false);
        }
        let entry = LogEntry::new(log.state.epoch, RunRecord::Reopen);
        log.write(&entry).map_err(|error| EngineError::Invalid {
            path: self.run_file(run, "log"),
            reason: error.to_string(),
        })?;
        self.queue().finished.remove(run);
        Ok(true)
    }

    fn list(&self) -> Result<Vec<RunOverview>, EngineError> {
        let tasks = self.queue().tasks.clone();
        let runs = tasks.into_iter().map(|task| {
            let state = self.read_state(&task.id)?;
            let is_paused = is_paused(&self.read_control(&task.id)?);
            let is_open = state.epoch > 0 && state.result.is_none();
            let is_active = is_open && self.try_lease(&task.id)?.is_none();
            Ok(RunOverview {
                task,
                state,
                is_active,
                is_paused,
            })
        });
        runs.collect()
    }
}

impl FleetEngine for LocalEngine {
    fn submit<'a>(&'a self, tasks: &'a [FleetTask]) -> BoxFuture<'a, Result<usize, EngineError>> {
        ready(self.store(tasks))
    }

    fn next(&self) -> BoxFuture<'_, Result<NextRun, EngineError>> {
        ready(self.take_next())
    }

    fn open<'a>(
        &'a self,
        delivery: &'a Delivery,
    ) -> BoxFuture<'a, Result<Box<dyn RunLog>, EngineError>> {
        let log = self.open_log(&delivery.task.id);
        ready(log.map(|log| Box::new(log) as Box<dyn RunLog>))
    }

    fn release(
        &self,
        delivery: Delivery,
        after: Duration,
    ) -> BoxFuture<'_, Result<(), EngineError>> {
        let until = Instant::now() + after;
        self.queue().released.insert(delivery.task.id, until);
        ready(Ok(()))
    }

    fn finish(&self, delivery: Delivery) -> BoxFuture<'_, Result<(), EngineError>> {
        self.queue().finished.insert(delivery.task.id);
        ready(Ok(()))
    }

    fn send<'a>(
        &'a self,
        run: &'a str,
        message: ControlMessage,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        ready(self.append_control(run, &message))
    }

    fn control<'a>(
        &'a self,
        delivery: &'a Delivery,
        delivered: u64,
    ) -> BoxFuture<'a, Result<Vec<RunControl>, EngineError>> {
        let messages = self.read_control(&delivery.task.id).map(|mut messages| {
            messages.retain(|message| message.number > delivered);
            messages
        });
        ready(messages)
    }

    fn reopen<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, EngineError>> {
        ready(self.open_again(run))
    }

    fn overview(&self) -> BoxFuture<'_, Result<Vec<RunOverview>, EngineError>> {
        ready(self.list())
    }

    /// The pool knows the costs of the batch and its limit.
    fn charge<'a>(
        &'a self,
        _delivery: &'a Delivery,
        _dollars: f64,
    ) -> BoxFuture<'a, Result<bool, EngineError>> {
        ready(Ok(false))
    }

    /// The files of a batch are in its directory.
    fn store_file<'a>(
        &'a self,
        _delivery: &'a Delivery,
        _name: &'a str,
        _content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        ready(Ok(()))
    }

    fn read_file<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<u8>, EngineError>> {
        let path = self.directory.join(name);
        ready(std::fs::read(&path).map_err(|error| file_error(&path, error)))
    }
}

/// The log of a run in a file. Its writer holds the lock of the run.
struct LocalLog {
    journal: Journal,
    state: RunState,
}

impl LocalLog {
    fn write(&mut self, entry: &LogEntry) -> Result<(), AppendError> {
        let failed = |reason: String| AppendError::Failed(reason);
        let line = serde_json::to_string(entry).map_err(|error| failed(error.to_string()))?;
        match self.journal.append(&line) {
            Ok(()) => {
                self.state.apply(entry);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(AppendError::Fenced),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

impl RunLog for LocalLog {
    fn state(&self) -> &RunState {
        &self.state
    }

    fn is_portable(&self) -> bool {
        false
    }

    fn take_content(&mut self) -> RunContent {
        RunContent::default()
    }

    fn append(
        &mut self,
        entry: LogEntry,
        _payload: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), AppendError>> {
        let written = self.write(&entry);
        Box::pin(std::future::ready(written))
    }
}

fn ready<'a, T: Send + 'a>(result: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

fn parse_tasks(path: &Path, text: &str) -> Result<Vec<FleetTask>, EngineError> {
    crate::task::parse_tasks(text).map_err(|error| EngineError::Invalid {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

fn parse_state(path: &Path, text: &str) -> Result<RunState, EngineError> {
    let mut state = RunState::default();
    for line in text.lines() {
        let entry = LogEntry::parse(line).map_err(|error| EngineError::Invalid {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        if let Some(entry) = entry {
            state.apply(&entry);
        }
    }
    Ok(state)
}

fn file_error(path: &Path, source: io::Error) -> EngineError {
    EngineError::File {
        path: path.to_owned(),
        source,
    }
}
