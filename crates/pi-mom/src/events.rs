//! The events directory: files that run the bot at once, at a time, or by a schedule.
//!
//! An event becomes a line of its channel's log, whose `ts` is derived from file and occurrence, before its file is
//! deleted. A crash in between repeats the line, which the log drops.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use notify::Watcher as _;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::bot::Bot;
use crate::chat::ChatUser;
use crate::log::{EVENT, LogLine};
use crate::schedule::{EventError, EventStep, ScheduledEvent};

/// Name of the directory in the workspace.
const DIRECTORY: &str = "events";

/// Time between two checks, so that a clock that was changed is noticed.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Time after a change in which a file may still be written.
const SETTLE_TIME: Duration = Duration::from_millis(100);

/// Largest event file, in bytes.
const MAX_FILE: u64 = 64 * 1024;

/// An event in the list of `pi-mom events`.
#[derive(Debug)]
pub struct ListedEvent {
    pub file: String,
    pub event: Result<ScheduledEvent, EventError>,
}

/// Reads the events of a workspace, by file name.
pub fn list_events(workspace: &Path) -> io::Result<Vec<ListedEvent>> {
    let files = event_files(&workspace.join(DIRECTORY))?.into_iter();
    let read = files.filter_map(|path| {
        let file = path.file_name()?.to_string_lossy().into_owned();
        let text = read_file(&path).ok()?;
        let event = ScheduledEvent::parse(&text);
        Some(ListedEvent { file, event })
    });
    Ok(read.collect())
}

fn event_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths.sort();
    Ok(paths)
}

/// Reads a regular file that is not too large: the model writes them.
fn read_file(path: &Path) -> io::Result<String> {
    let metadata = std::fs::symlink_metadata(path)?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    std::fs::read_to_string(path)
}

/// Runs the events of a workspace.
pub struct EventRunner {
    bot: Arc<Bot>,
    directory: PathBuf,
    started: Timestamp,
    last: HashMap<PathBuf, Timestamp>,
}

impl EventRunner {
    pub fn new(bot: Arc<Bot>) -> io::Result<Self> {
        let directory = bot.context().workspace.join(DIRECTORY);
        std::fs::create_dir_all(&directory)?;
        let mut runner = Self {
            bot,
            directory,
            started: Timestamp::UNIX_EPOCH,
            last: HashMap::new(),
        };
        runner.started = runner.now();
        Ok(runner)
    }

    fn now(&self) -> Timestamp {
        let now = self.bot.context().env.now_ms();
        Timestamp::from_millisecond(now).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Runs events until canceled.
    pub async fn run(mut self, cancel: CancellationToken) {
        let changed = Arc::new(Notify::new());
        let notified = Arc::clone(&changed);
        let watcher = notify::recommended_watcher(move |_event| notified.notify_one());
        let watcher = watcher.and_then(|mut watcher| {
            watcher.watch(&self.directory, notify::RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        if let Err(error) = &watcher {
            tracing::warn!(%error, "changes of the events directory are noticed later");
        }
        while !cancel.is_cancelled() {
            let wait = self.check();
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = changed.notified() => tokio::time::sleep(SETTLE_TIME).await,
                () = cancel.cancelled() => {}
            }
        }
    }

    /// Runs what is due, and returns the time to wait.
    fn check(&mut self) -> Duration {
        let now = self.now();
        let mut next = None;
        let files = event_files(&self.directory).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the events directory");
            Vec::new()
        });
        for path in files {
            if let Some(wait) = self.check_file(&path, now) {
                next = Some(next.map_or(wait, |next: Timestamp| next.min(wait)));
            }
        }
        let wait = next.map_or(MAX_WAIT, |next| {
            let wait = next.as_millisecond().saturating_sub(now.as_millisecond());
            Duration::from_millis(u64::try_from(wait).unwrap_or_default())
        });
        wait.clamp(Duration::from_millis(1), MAX_WAIT)
    }

    /// Runs a file if it is due; returns when it is next.
    fn check_file(&mut self, path: &Path, now: Timestamp) -> Option<Timestamp> {
        let (text, written) = (read_file(path).ok()?, modified(path)?);
        let event = match ScheduledEvent::parse(&text) {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "an event is ignored");
                return None;
            }
        };
        match event.step(now, written, self.last.get(path).copied(), self.started) {
            EventStep::Wait(next) => Some(next),
            EventStep::Drop => {
                tracing::warn!(path = %path.display(), "an event in the past is deleted");
                delete(path);
                None
            }
            EventStep::Run {
                occurrence,
                is_last,
            } => {
                let line = line_of(path, &event, occurrence, now);
                match self.bot.event(&event.channel, line) {
                    Ok(is_known) => {
                        if !is_known {
                            tracing::warn!(path = %path.display(), "the channel of an event is not allowed");
                        }
                        self.last.insert(path.to_owned(), occurrence);
                        if is_last {
                            delete(path);
                        }
                    }
                    Err(error) => tracing::error!(%error, "an event is not stored"),
                }
                (!is_last).then_some(now)
            }
        }
    }
}

fn modified(path: &Path) -> Option<Timestamp> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    Timestamp::try_from(modified).ok()
}

fn delete(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::warn!(%error, path = %path.display(), "cannot delete an event");
    }
}

/// Returns the line of an occurrence. Its `ts` is a time like those of messages; the last digits tell files apart.
fn line_of(path: &Path, event: &ScheduledEvent, occurrence: Timestamp, now: Timestamp) -> LogLine {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut hasher = DefaultHasher::new();
    (&name, occurrence.as_nanosecond()).hash(&mut hasher);
    let ts = format!(
        "{}.{:06}",
        occurrence.as_second(),
        hasher.finish() % 1_000_000
    );
    let user = ChatUser {
        id: EVENT.to_owned(),
        name: Some(EVENT.to_owned()),
        display_name: None,
    };
    let text = format!("[EVENT:{name}:{}] {}", event.label(), event.text);
    LogLine {
        request: true,
        ..LogLine::new(&ts, user, &text, now.as_millisecond())
    }
}
