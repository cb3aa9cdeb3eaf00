//! The engine for one machine: files in a directory, and locks that end with their process.

mod day_ledger;
mod live;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_fs::file_lock::{LockState, try_lock};

use super::{
    AppendError, Charge, ControlMessage, Delivery, EngineError, FleetEngine, Lease, NextRun,
    RunContent, RunControl, RunLog, RunOverview, is_paused,
};
use crate::journal::{self, Journal};
use crate::limits::{BucketChange, BucketGrant, BucketId, BucketState, unix_ms};
use crate::live::{LiveClient, LiveHost};
use crate::record::{LogEntry, RunRecord};
use crate::run_state::RunState;
use crate::task::{FleetTask, UnreadableTask, parse_stored_tasks};

/// A batch in a directory: `batch.jsonl` has the tasks, `runs/` the log, the lock and the control messages of each run.
pub struct LocalEngine {
    directory: PathBuf,
    queue: Mutex<LocalQueue>,
    /// Rate limits of this process.
    buckets: Mutex<HashMap<BucketId, BucketState>>,
}

/// What this process knows about the queue.
#[derive(Default)]
struct LocalQueue {
    tasks: Vec<FleetTask>,
    unreadable: Vec<UnreadableTask>,
    finished: HashSet<String>,
    released: HashMap<String, Instant>,
}

/// The messages to a run.
#[derive(Default)]
struct ControlFile {
    messages: Vec<RunControl>,
    /// Number of messages, with those that this version cannot read.
    length: u64,
    /// Why a message cannot be read.
    problem: Option<String>,
}

impl LocalEngine {
    /// Opens a batch, and creates its directory if necessary.
    pub fn open(directory: &Path) -> Result<Self, EngineError> {
        let runs = directory.join("runs");
        pi_fs::private::create_directory(&runs).map_err(|error| file_error(&runs, error))?;
        let engine = Self {
            directory: directory.to_owned(),
            queue: Mutex::default(),
            buckets: Mutex::default(),
        };
        let path = engine.batch_file();
        let text = journal::read(&path).map_err(|error| file_error(&path, error))?;
        engine.set_tasks(parse_stored_tasks(&text));
        Ok(engine)
    }

    fn set_tasks(&self, (tasks, unreadable): (Vec<FleetTask>, Vec<UnreadableTask>)) {
        let mut queue = self.queue();
        queue.tasks = tasks;
        queue.unreadable = unreadable;
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
        self.queue.lock()
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<BucketId, BucketState>> {
        self.buckets.lock()
    }

    fn store(&self, tasks: &[FleetTask]) -> Result<usize, EngineError> {
        let path = self.batch_file();
        let failed = |error| file_error(&path, error);
        // Another process may submit the same tasks.
        let _lock = self.lock_batch()?;
        let (mut journal, text) = Journal::open(&path).map_err(failed)?;
        let (mut stored, unreadable) = parse_stored_tasks(&text);
        let mut added = 0;
        for task in tasks {
            let is_stored = stored.iter().any(|one| one.id == task.id);
            if is_stored || unreadable.iter().any(|one| one.id == task.id) {
                continue;
            }
            let line = serde_json::to_string(task).map_err(|error| failed(error.into()))?;
            journal.append(&line).map_err(failed)?;
            stored.push(task.clone());
            added += 1;
        }
        journal.sync().map_err(failed)?;
        self.set_tasks((stored, unreadable));
        Ok(added)
    }

    /// Waits for the lock of what several processes write, which ends with the returned handle.
    fn lock_batch(&self) -> Result<File, EngineError> {
        let path = self.directory.join("batch.lock");
        let failed = |error| file_error(&path, error);
        let lock = pi_fs::private::open_or_create(&path).map_err(failed)?;
        lock.lock().map_err(failed)?;
        Ok(lock)
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

    /// Takes the locks of all runs, so that no process works on the batch while they are held.
    pub(crate) fn lock_runs(&self) -> Result<Vec<File>, EngineError> {
        let tasks = self.queue().tasks.clone();
        let locks = tasks.iter().map(|task| {
            let lock = self.try_lease(&task.id)?;
            lock.ok_or_else(|| EngineError::InProgress(task.id.clone()))
        });
        locks.collect()
    }

    /// Returns the task of a run and its state; `None` if it cannot be read.
    pub(crate) fn stored_run(&self, run: &str) -> Option<(FleetTask, RunState)> {
        let state = self.read_state(run).ok()?;
        let queue = self.queue();
        let task = queue.tasks.iter().find(|task| task.id == run)?;
        Some((task.clone(), state))
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
            match self.read_state(&task.id) {
                Ok(state) if state.result.is_none() => {
                    if is_paused(&self.read_control(&task.id)?.messages) {
                        continue;
                    }
                }
                Ok(_finished) => {
                    self.queue().finished.insert(task.id.clone());
                    continue;
                }
                // Its worker reports the problem when it opens the log, once: nothing else can be done with the run.
                Err(error) if error.is_of_run() => {
                    self.queue().finished.insert(task.id.clone());
                }
                Err(error) => return Err(error),
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

    fn read_control(&self, run: &str) -> Result<ControlFile, EngineError> {
        let path = self.run_file(run, "control");
        let text = journal::read(&path).map_err(|error| file_error(&path, error))?;
        let mut file = ControlFile::default();
        for line in text.lines() {
            file.length += 1;
            let number = file.length;
            match serde_json::from_str(line) {
                Ok(message) => file.messages.push(RunControl { number, message }),
                Err(error) => {
                    let problem = EngineError::Invalid {
                        path: path.clone(),
                        reason: error.to_string(),
                    };
                    file.problem.get_or_insert(problem.to_string());
                }
            }
        }
        Ok(file)
    }

    fn append_control(&self, run: &str, message: &ControlMessage) -> Result<(), EngineError> {
        self.check_run(run)?;
        let path = self.run_file(run, "control");
        let failed = |error| file_error(&path, error);
        let line = serde_json::to_string(message).map_err(|error| failed(error.into()))?;
        let _lock = self.lock_batch()?;
        let (mut journal, _messages) = Journal::open(&path).map_err(failed)?;
        journal.append(&line).map_err(failed)
    }

    fn check_run(&self, run: &str) -> Result<(), EngineError> {
        let is_known = self.queue().tasks.iter().any(|task| task.id == run);
        let unknown = || EngineError::UnknownRun(run.to_owned());
        is_known.then_some(()).ok_or_else(unknown)
    }

    fn open_again(&self, run: &str, prompt: Option<String>) -> Result<bool, EngineError> {
        self.check_run(run)?;
        let Some(_lock) = self.try_lease(run)? else {
            return Err(EngineError::InProgress(run.to_owned()));
        };
        let mut log = self.open_log(run)?;
        if log.state.result.is_none() {
            return Ok(false);
        }
        // What was sent to the finished run is over, such as its cancellation.
        let delivered = self.read_control(run)?.length;
        let entry = LogEntry::new(log.state.epoch, RunRecord::Reopen { prompt, delivered });
        log.write(&entry).map_err(|error| EngineError::Invalid {
            path: self.run_file(run, "log"),
            reason: error.to_string(),
        })?;
        self.queue().finished.remove(run);
        Ok(true)
    }

    /// Returns all runs, in the order of their tasks.
    pub(crate) fn list(&self) -> Result<Vec<RunOverview>, EngineError> {
        let (tasks, unreadable) = {
            let queue = self.queue();
            (queue.tasks.clone(), queue.unreadable.clone())
        };
        let readable = tasks.into_iter().map(|task| (task, None));
        let unreadable = unreadable.into_iter().map(|unreadable| {
            let task = FleetTask {
                id: unreadable.id,
                ..FleetTask::default()
            };
            (task, Some(unreadable.reason))
        });
        let runs = readable.chain(unreadable).map(|(task, mut problem)| {
            let control = self.read_control(&task.id)?;
            let is_paused = is_paused(&control.messages);
            let state = match self.read_state(&task.id) {
                Ok(state) => state,
                // A newer version may have written its files.
                Err(error) if error.is_of_run() => {
                    problem.get_or_insert(error.to_string());
                    RunState::default()
                }
                Err(error) => return Err(error),
            };
            let problem = problem.or(control.problem);
            let is_open = state.epoch > 0 && state.result.is_none();
            let is_active = is_open && self.try_lease(&task.id)?.is_none();
            Ok(RunOverview {
                task,
                state,
                is_active,
                is_paused,
                problem,
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
        let messages = self.read_control(&delivery.task.id).map(|mut file| {
            file.messages.retain(|message| message.number > delivered);
            file.messages
        });
        ready(messages)
    }

    fn live<'a>(&'a self, delivery: &'a Delivery) -> BoxFuture<'a, Result<LiveHost, EngineError>> {
        let record = self.run_file(&delivery.task.id, "live");
        ready(live::listen(&record).map_err(|error| file_error(&record, error)))
    }

    fn attach<'a>(
        &'a self,
        run: &'a str,
    ) -> BoxFuture<'a, Result<Option<LiveClient>, EngineError>> {
        Box::pin(async move {
            self.check_run(run)?;
            let record = self.run_file(run, "live");
            let attached = live::attach(&record).await;
            attached.map_err(|error| file_error(&record, error))
        })
    }

    fn reopen<'a>(
        &'a self,
        run: &'a str,
        prompt: Option<String>,
    ) -> BoxFuture<'a, Result<bool, EngineError>> {
        ready(self.open_again(run, prompt))
    }

    fn overview(&self) -> BoxFuture<'_, Result<Vec<RunOverview>, EngineError>> {
        ready(self.list())
    }

    /// The pool knows the costs of the batch and its limit; what a day costs is next to the batches.
    fn charge<'a>(
        &'a self,
        _delivery: &'a Delivery,
        charge: &'a Charge,
    ) -> BoxFuture<'a, Result<bool, EngineError>> {
        let ledger = self.directory.parent().unwrap_or(&self.directory);
        let path = ledger.with_file_name("day.json");
        ready(day_ledger::charge(&path, charge).map_err(|error| file_error(&path, error)))
    }

    fn change_bucket<'a>(
        &'a self,
        bucket: &'a BucketId,
        change: &'a BucketChange,
    ) -> BoxFuture<'a, Result<BucketGrant, EngineError>> {
        let mut buckets = self.buckets();
        let state = buckets.entry(bucket.clone()).or_default();
        ready(Ok(state.apply(change, unix_ms()).0))
    }

    fn drained(&self, bucket: &BucketId) -> Duration {
        let buckets = self.buckets();
        let state = buckets.get(bucket);
        state.map_or(Duration::ZERO, |state| state.drained_for(unix_ms()))
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

    fn check_owner(&self) -> BoxFuture<'_, Result<(), AppendError>> {
        ready(match self.journal.is_current() {
            Ok(true) => Ok(()),
            Ok(false) => Err(AppendError::Fenced),
            Err(error) => Err(AppendError::Failed(error.to_string())),
        })
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Returns the numbers of the messages for a run.
    async fn messages(engine: &LocalEngine) -> Vec<u64> {
        let NextRun::Run(delivery) = engine.next().await.unwrap() else {
            panic!("there is no run");
        };
        let messages = engine.control(&delivery, 0).await.unwrap();
        messages.iter().map(|message| message.number).collect()
    }

    #[tokio::test]
    async fn a_message_that_was_cut_does_not_damage_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let engine = LocalEngine::open(directory.path()).unwrap();
        let tasks = crate::parse_tasks(r#"{"id":"a","prompt":"x"}"#).unwrap();
        engine.submit(&tasks).await.unwrap();
        let steer = || ControlMessage::Steer {
            message: "faster".to_owned(),
        };
        engine.send("a", steer()).await.unwrap();
        // The write of a killed process.
        let file = engine.run_file("a", "control");
        let mut text = std::fs::read(&file).unwrap();
        text.extend_from_slice(b"{\"type\":\"st");
        std::fs::write(&file, text).unwrap();
        assert_eq!(messages(&engine).await, [1]);
        engine.send("a", steer()).await.unwrap();
        assert_eq!(messages(&engine).await, [1, 2]);
    }

    #[tokio::test]
    async fn messages_that_cannot_be_read_are_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let engine = LocalEngine::open(directory.path()).unwrap();
        let tasks = crate::parse_tasks(r#"{"id":"a","prompt":"x"}"#).unwrap();
        engine.submit(&tasks).await.unwrap();
        let lines = "{\"control\":\"dance\"}\nno JSON\n{\"control\":\"cancel\"}\n";
        std::fs::write(engine.run_file("a", "control"), lines).unwrap();
        assert_eq!(messages(&engine).await, [3]);
        let runs = engine.overview().await.unwrap();
        let problem = runs[0].problem.as_deref().unwrap();
        assert!(problem.contains("`dance`"), "{problem}");
    }

    #[tokio::test]
    async fn a_log_that_cannot_be_read_stops_no_other_run() {
        let directory = tempfile::tempdir().unwrap();
        let engine = LocalEngine::open(directory.path()).unwrap();
        let tasks = "{\"id\":\"a\",\"prompt\":\"x\"}\n{\"id\":\"b\",\"prompt\":\"x\"}";
        engine
            .submit(&crate::parse_tasks(tasks).unwrap())
            .await
            .unwrap();
        std::fs::write(engine.run_file("a", "log"), "no record\n").unwrap();
        let NextRun::Run(damaged) = engine.next().await.unwrap() else {
            panic!("there is no run");
        };
        assert_eq!(damaged.task.id, "a");
        let error = engine.open(&damaged).await.err().unwrap();
        assert!(error.is_of_run(), "{error}");
        engine.release(damaged, Duration::ZERO).await.unwrap();
        let NextRun::Run(sound) = engine.next().await.unwrap() else {
            panic!("there is no run");
        };
        assert_eq!(sound.task.id, "b");
        engine.finish(sound).await.unwrap();
        assert!(matches!(engine.next().await, Ok(NextRun::Done)));
    }

    #[tokio::test]
    async fn a_task_of_a_newer_version_does_not_hide_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let newer = "{\"id\":\"newer\",\"prompt\":\"x\",\"planet\":\"mars\"}\n";
        let sound = "{\"id\":\"sound\",\"prompt\":\"x\"}\n";
        std::fs::write(
            directory.path().join("batch.jsonl"),
            format!("{newer}cut\n{sound}"),
        )
        .unwrap();
        let engine = LocalEngine::open(directory.path()).unwrap();
        let tasks = [newer, sound].map(|line| line.replace(",\"planet\":\"mars\"", ""));
        let tasks = crate::parse_tasks(&tasks.concat()).unwrap();
        // It is stored.
        assert_eq!(engine.submit(&tasks).await.unwrap(), 0);
        let runs = engine.overview().await.unwrap();
        let found: Vec<_> = runs
            .iter()
            .map(|run| (run.task.id.as_str(), run.problem.is_some()))
            .collect();
        assert_eq!(found, [("sound", false), ("newer", true), ("line 2", true)]);
        let problem = runs[1].problem.as_deref().unwrap();
        assert!(problem.contains("unknown field `planet`"), "{problem}");
        assert!(
            matches!(engine.next().await, Ok(NextRun::Run(delivery)) if delivery.task.id == "sound")
        );
    }

    #[tokio::test]
    async fn tasks_and_messages_of_concurrent_writers_are_all_kept() {
        let directory = tempfile::tempdir().unwrap();
        let tasks = crate::parse_tasks(r#"{"id":"a","prompt":"x"}"#).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (directory, tasks) = (directory.path(), &tasks);
                scope.spawn(move || {
                    // Each has its own descriptors and locks, like a process.
                    let engine = LocalEngine::open(directory).unwrap();
                    engine.store(tasks).unwrap();
                    let own = format!("{{\"id\":\"task-{writer}\",\"prompt\":\"x\"}}");
                    engine.store(&crate::parse_tasks(&own).unwrap()).unwrap();
                    for message in 0..10 {
                        let message = format!("{writer} {message}");
                        let message = ControlMessage::Steer { message };
                        engine.append_control("a", &message).unwrap();
                    }
                });
            }
        });
        let engine = LocalEngine::open(directory.path()).unwrap();
        assert_eq!(engine.queue().tasks.len(), 5);
        assert_eq!(engine.read_control("a").unwrap().length, 40);
    }
}
