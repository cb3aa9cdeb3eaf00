//! Where tasks and logs of runs are stored, and how workers get them.

mod local;
mod nats;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::limits::{BucketChange, BucketGrant, BucketId};
use crate::live::{LiveClient, LiveHost};
use crate::record::LogEntry;
use crate::run_state::RunState;
use crate::task::FleetTask;

pub use local::LocalEngine;
pub(crate) use nats::{DiskSync, SavedRun, inbox_prefix};
pub use nats::{NatsEngine, NatsOptions};

/// Environment variable with the URL of the server, for commands without `--engine`.
pub(crate) const URL_VARIABLE: &str = "PI_FLEET_ENGINE";

/// Environment variable with the path of a file that has the user and the password, as `USER:PASSWORD`.
pub(crate) const CREDENTIALS_VARIABLE: &str = "PI_FLEET_CREDENTIALS";

/// Stores one batch. The queue gives liveness and may deliver a run twice; safety is in the log, whose appends are
/// compare-and-set: of two workers that hold a run, one is refused.
pub trait FleetEngine: Send + Sync {
    /// Stores the tasks. Tasks that exist are not changed, so that submitting twice has no effect. Returns the number of
    /// new tasks.
    fn submit<'a>(&'a self, tasks: &'a [FleetTask]) -> BoxFuture<'a, Result<usize, EngineError>>;

    /// Returns a run for this worker.
    fn next(&self) -> BoxFuture<'_, Result<NextRun, EngineError>>;

    /// Opens the log of a run that was delivered.
    fn open<'a>(
        &'a self,
        delivery: &'a Delivery,
    ) -> BoxFuture<'a, Result<Box<dyn RunLog>, EngineError>>;

    /// Returns a run to the queue, for any worker.
    fn release(
        &self,
        delivery: Delivery,
        after: Duration,
    ) -> BoxFuture<'_, Result<(), EngineError>>;

    /// Forgets a run that belongs to another worker, and leaves it in the queue as it is.
    fn abandon(&self, delivery: Delivery) {
        drop(delivery);
    }

    /// Removes a run from the queue: its log has an end.
    fn finish(&self, delivery: Delivery) -> BoxFuture<'_, Result<(), EngineError>>;

    /// Sends a message to the worker of a run, now or when a worker owns it.
    fn send<'a>(
        &'a self,
        run: &'a str,
        message: ControlMessage,
    ) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Returns the messages to a run that this worker holds, with their numbers, after the first `delivered`. Messages that
    /// this version cannot read are left out: any client may send them.
    fn control<'a>(
        &'a self,
        delivery: &'a Delivery,
        delivered: u64,
    ) -> BoxFuture<'a, Result<Vec<RunControl>, EngineError>>;

    /// Lets clients attach to a run that this worker holds, until the host is dropped.
    fn live<'a>(&'a self, _delivery: &'a Delivery) -> BoxFuture<'a, Result<LiveHost, EngineError>> {
        Box::pin(std::future::ready(Ok(LiveHost::unreachable())))
    }

    /// Connects to the worker of a run; `None` if no agent works on it.
    fn attach<'a>(
        &'a self,
        _run: &'a str,
    ) -> BoxFuture<'a, Result<Option<LiveClient>, EngineError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Starts a finished run again, from its start, or with another prompt in its session. Returns whether it was finished.
    fn reopen<'a>(
        &'a self,
        run: &'a str,
        prompt: Option<String>,
    ) -> BoxFuture<'a, Result<bool, EngineError>>;

    /// Returns all runs in the order of their tasks.
    fn overview(&self) -> BoxFuture<'_, Result<Vec<RunOverview>, EngineError>>;

    /// Counts what a run costs. Returns whether a budget is reached; nothing is reserved then.
    fn charge<'a>(
        &'a self,
        delivery: &'a Delivery,
        charge: &'a Charge,
    ) -> BoxFuture<'a, Result<bool, EngineError>>;

    /// Takes from a rate limit that all workers share, or drains it.
    fn change_bucket<'a>(
        &'a self,
        bucket: &'a BucketId,
        change: &'a BucketChange,
    ) -> BoxFuture<'a, Result<BucketGrant, EngineError>>;

    /// Returns how long a bucket stays drained, as far as this process knows.
    fn drained(&self, bucket: &BucketId) -> Duration;

    /// Stores a file of the batch where clients find it. `name` is its path in the directory of the batch.
    fn store_file<'a>(
        &'a self,
        delivery: &'a Delivery,
        name: &'a str,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Returns the content of a file of the batch.
    fn read_file<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<u8>, EngineError>>;
}

/// The log of a run, open for one writer.
pub trait RunLog: Send + Sync {
    fn state(&self) -> &RunState;

    /// Whether the log stores the payload of records, so that another machine can continue the run. Otherwise the session
    /// file and the workspace of this machine are the only copy, and payloads are ignored.
    fn is_portable(&self) -> bool;

    /// Returns what the log has stored when it was opened; nothing when called again.
    fn take_content(&mut self) -> RunContent;

    /// Fails with [`AppendError::Fenced`] if another worker has appended.
    fn check_owner(&self) -> BoxFuture<'_, Result<(), AppendError>>;

    /// Appends a record with its payload. After [`AppendError::Fenced`], the run belongs to another worker.
    fn append(
        &mut self,
        entry: LogEntry,
        payload: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), AppendError>>;
}

/// What a run adds to the costs of its batch and of the day, in US dollars.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Charge {
    /// Unique; a charge that is sent twice is counted once.
    pub id: String,
    /// Negative if less was spent than reserved.
    pub spent: f64,
    /// What the next request is expected to cost.
    pub reserve: f64,
    /// The budget of a day.
    pub per_day: Option<f64>,
}

/// Returns the number of a day (UTC) since 1970.
fn day(unix_ms: u64) -> u64 {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    unix_ms / DAY_MS
}

/// The payloads of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunContent {
    /// The session file.
    pub session: Vec<u8>,
    /// Git packs with the objects of the snapshots, in their order.
    pub packs: Vec<Vec<u8>>,
}

pub enum NextRun {
    Run(Delivery),
    /// Other workers hold the runs that are left, or they are paused or released for later.
    Wait,
    /// Every run is finished.
    Done,
}

/// A run that this worker may try to claim.
pub struct Delivery {
    pub batch: String,
    pub task: FleetTask,
    /// Ends when it is dropped.
    pub lease: Lease,
}

/// What makes a run belong to a worker, until it is dropped or the process exits.
pub struct Lease(pub Box<dyn Send + Sync>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "control", rename_all = "lowercase")]
pub enum ControlMessage {
    /// Sends a message to the agent, as `steer` does.
    Steer {
        message: String,
    },
    Cancel,
    Pause,
    /// Ends a pause.
    Resume,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunControl {
    /// Starts with 1.
    pub number: u64,
    pub message: ControlMessage,
}

/// Whether the last of these messages that decides about it pauses the run.
fn is_paused(messages: &[RunControl]) -> bool {
    let deciding = messages.iter().rev().find_map(|one| match one.message {
        ControlMessage::Pause => Some(true),
        ControlMessage::Resume | ControlMessage::Cancel => Some(false),
        ControlMessage::Steer { .. } => None,
    });
    deciding.unwrap_or(false)
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunOverview {
    /// Only its ID is known if it cannot be read.
    pub task: FleetTask,
    pub state: RunState,
    /// Whether a worker holds the run.
    pub is_active: bool,
    pub is_paused: bool,
    /// Why this version cannot read the run.
    pub problem: Option<String>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error("cannot access {}: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("invalid line in {}: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
    #[error("no run `{0}` in this batch")]
    UnknownRun(String),
    #[error("the run `{0}` is in progress; cancel it first")]
    InProgress(String),
    /// The server does not fence writers reliably.
    #[error("the NATS server has version {0}; fleets need 2.12 or newer")]
    OldServer(String),
    #[error("invalid fleet `{0}`: use letters, digits, `-` and `_`")]
    InvalidFleet(String),
    #[error("cannot {action} on the NATS server: {reason}")]
    Server {
        action: &'static str,
        reason: String,
    },
    /// The server does not let this user do something.
    #[error("the NATS server refused a request: {0}")]
    Denied(String),
    #[error(
        "the task `{task}` has {bytes} bytes, more than a server accepts; put long texts into a file of the repository"
    )]
    TaskTooLong { task: String, bytes: usize },
    #[error("the log of `{run}` is damaged: {reason}")]
    DamagedLog { run: String, reason: String },
}

impl EngineError {
    /// Whether the same may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Server { .. })
    }

    /// Whether only this run is affected.
    pub(crate) fn is_of_run(&self) -> bool {
        matches!(self, Self::DamagedLog { .. } | Self::Invalid { .. })
    }

    /// Whether the disk of this machine is full.
    pub(crate) fn is_disk_full(&self) -> bool {
        matches!(self, Self::File { source, .. } if crate::workspace::is_disk_full(source))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another worker has appended.
    #[error("another worker owns the run")]
    Fenced,
    #[error("cannot write the log of the run: {0}")]
    Failed(String),
}
