//! The engine for many machines: NATS `JetStream` has the queue, the logs, the messages to runs and their last known state.
//!
//! The queue gives liveness only. After a restart, a server delivers runs again that healthy workers hold, so the owner of
//! a run is queried before another worker takes it over; the log fences the one that is wrong.

mod buckets;
mod costs;
mod delete;
mod files;
mod import;
mod inspect;
mod lease;
mod link;
mod live;
mod log;
mod names;
mod server;
mod tasks;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream;
use async_nats::jetstream::message::{AckKind, PublishMessage};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::{
    Charge, ControlMessage, Delivery, EngineError, FleetEngine, Lease, NextRun, RunControl, RunLog,
    RunOverview, is_paused,
};
use crate::limits::{BucketChange, BucketGrant, BucketId};
use crate::live::{LiveClient, LiveHost};
use crate::record::{LogEntry, RunRecord};
use crate::run_state::RunState;
use crate::task::{FleetTask, is_id};
use lease::{Held, LeaseGuard};
use log::NatsLog;
use names::{Names, RunAddress};
use server::{OwnerQuery, QueueConsumer, Server, TIMEOUT, parse, server_error};

pub(crate) use import::SavedRun;
pub(crate) use inspect::DiskSync;
pub(crate) use server::inbox_prefix;

/// How long a run stays away after its owner answered.
const OWNED_DELAY: Duration = Duration::from_secs(5);

/// How long a paused run stays away.
const PAUSED_DELAY: Duration = Duration::from_secs(1);

/// How long a run without a valid task stays away.
const UNREADABLE_DELAY: Duration = Duration::from_mins(5);

/// How often, and after which pause, an owner that does not respond is queried again: it may be connecting.
const OWNER_QUERIES: u32 = 3;
const OWNER_PAUSE: Duration = Duration::from_millis(500);

/// Number of owners that are queried at the same time.
const CONCURRENT_QUERIES: usize = 64;

/// How long a free slot waits for a run.
const WAIT: Duration = Duration::from_secs(1);

/// How long limits are used without reading them again.
const LIMITS_AGE: Duration = Duration::from_secs(2);

/// How often a reopened run is queued again while its last worker leaves.
const QUEUE_ATTEMPTS: u32 = 50;
const QUEUE_PAUSE: Duration = Duration::from_millis(200);

/// How to reach a fleet.
#[derive(Clone)]
pub struct NatsOptions {
    /// `nats://` or `tls://`, which may contain user and password; the nodes of a cluster are separated by commas.
    pub url: String,
    /// User and password.
    pub credentials: Option<(String, String)>,
    /// Several fleets may share a server.
    pub fleet: String,
    /// How long a run stays with a worker that is silent.
    pub lease: Duration,
    /// Number of servers that store each message.
    pub replicas: usize,
    /// The labels of this worker: it also takes runs that need one of them.
    pub labels: Vec<String>,
}

impl NatsOptions {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            credentials: None,
            fleet: "main".to_owned(),
            lease: Duration::from_secs(30),
            replicas: 1,
            labels: Vec::new(),
        }
    }
}

/// A batch of a fleet. Its queue is that of the fleet: a worker gets runs of all batches.
#[derive(Clone)]
pub struct NatsEngine {
    fleet: Arc<Fleet>,
    batch: String,
}

/// What a fleet knows about a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct BatchLimits {
    /// In US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

struct Fleet {
    server: Arc<Server>,
    /// Limits of batches, and when they were read.
    limits: Mutex<HashMap<String, (Instant, BatchLimits)>>,
    /// Whether the queue has runs for this worker, and when that was read.
    has_runs: Mutex<Option<(Instant, bool)>>,
    lease: Duration,
    /// The runs that this process holds.
    held: Mutex<HashMap<RunAddress, Arc<Held>>>,
    drains: buckets::Drains,
}

impl NatsEngine {
    /// Connects to a fleet, and creates it if necessary and permitted.
    pub async fn connect(options: &NatsOptions, batch: &str) -> Result<Self, EngineError> {
        let server = Arc::new(Server::connect(options).await?);
        // The fleet may have been created with another one.
        let consumer = server.consumers.first();
        let lease = consumer.map(|consumer| consumer.cached_info().config.ack_wait);
        let fleet = Fleet {
            lease: lease.unwrap_or(options.lease),
            server,
            limits: Mutex::default(),
            has_runs: Mutex::default(),
            held: Mutex::default(),
            drains: buckets::Drains::default(),
        };
        Ok(Self {
            fleet: Arc::new(fleet),
            batch: batch.to_owned(),
        })
    }

    /// Returns the names of the streams of a fleet.
    pub(crate) fn stream_names(fleet: &str) -> Result<Vec<String>, EngineError> {
        let names = Names::new(fleet);
        let names = names.ok_or_else(|| EngineError::InvalidFleet(fleet.to_owned()))?;
        Ok(names.streams())
    }

    /// Returns another batch of the fleet.
    #[must_use]
    pub fn batch(&self, batch: &str) -> Self {
        Self {
            fleet: Arc::clone(&self.fleet),
            batch: batch.to_owned(),
        }
    }

    pub(crate) fn server_version(&self) -> String {
        let server = self.server().client.server_info();
        format!("nats-server {}", server.version)
    }

    /// Whether the user of this connection may delete streams. Asks for one that does not exist.
    pub(crate) async fn may_delete_streams(&self) -> bool {
        let stream = format!("{}_CHECK", self.server().names.runs_stream());
        let subject = format!("$JS.API.STREAM.DELETE.{stream}");
        let client = &self.server().client;
        let request = client.request(subject.clone(), bytes::Bytes::new());
        let response = self.server().try_request(&subject, request).await;
        response.is_some_and(|response| response.is_ok())
    }

    /// Returns the names of all batches in the order of their last submission.
    pub async fn batches(&self) -> Result<Vec<String>, EngineError> {
        let server = self.server();
        let stream = server.names.state_stream();
        let stored = server.read_all(&stream, &server.names.all("batch")).await?;
        let names = stored.iter().filter_map(|stored| {
            let token = stored.subject.rsplit('.').next()?;
            Some(token.replace('=', "."))
        });
        Ok(names.collect())
    }

    /// Adds the batch to the fleet. `cost` is its budget in US dollars; without it, a batch keeps the one that it has.
    pub async fn add(&self, cost: Option<f64>) -> Result<(), EngineError> {
        let limits = match cost {
            Some(_) => BatchLimits { cost },
            None => self.limits(&self.batch).await?,
        };
        let limits =
            serde_json::to_vec(&limits).map_err(|error| server_error("store limits", &error))?;
        let message = PublishMessage::build().payload(limits.into());
        let subject = self.server().names.batch(&self.batch);
        self.server().publish(subject, message).await.map(drop)
    }

    /// Returns the limits of a batch, as they were at most a few seconds ago.
    async fn limits(&self, batch: &str) -> Result<BatchLimits, EngineError> {
        let known = self.fleet.limits().get(batch).copied();
        if let Some((read, limits)) = known
            && read.elapsed() < LIMITS_AGE
        {
            return Ok(limits);
        }
        let server = self.server();
        let stream = server.names.state_stream();
        let stored = server.last(&stream, &server.names.batch(batch)).await?;
        let limits = stored.map(|stored| parse(batch, &stored.payload));
        let limits = limits.transpose()?.unwrap_or_default();
        let entry = (Instant::now(), limits);
        self.fleet.limits().insert(batch.to_owned(), entry);
        Ok(limits)
    }

    fn server(&self) -> &Server {
        &self.fleet.server
    }

    fn run(&self, task: &str) -> RunAddress {
        RunAddress::new(&self.batch, task)
    }

    async fn store(&self, tasks: &[FleetTask]) -> Result<usize, EngineError> {
        let server = self.server();
        for task in tasks {
            tasks::check_length(task)?;
        }
        let labels: BTreeSet<&String> = tasks
            .iter()
            .filter_map(|task| task.queue.as_ref())
            .collect();
        for label in labels {
            server.open_label(label, self.fleet.lease).await?;
        }
        let mut added = 0;
        for task in tasks {
            let run = self.run(&task.id);
            added += usize::from(tasks::store(server, &run, task).await?);
            // A client may have died between both; a run that is queued is not queued twice.
            if self
                .state(&run)
                .await?
                .is_none_or(|state| state.result.is_none())
            {
                self.enqueue(&run, task).await?;
            }
        }
        Ok(added)
    }

    /// Returns whether the run was added to the queue; `false` if it is there.
    async fn enqueue(&self, run: &RunAddress, task: &FleetTask) -> Result<bool, EngineError> {
        let server = self.server();
        let subject = server.names.queue(task, run);
        let queued = server
            .publish(subject.clone(), PublishMessage::build())
            .await;
        match queued {
            Ok(_sequence) => Ok(true),
            Err(error) => {
                let stream = server.names.runs_stream();
                let found = server.last(&stream, &subject).await?;
                found.map(|_queued| false).ok_or(error)
            }
        }
    }

    /// Returns the last known state of a run.
    async fn state(&self, run: &RunAddress) -> Result<Option<RunState>, EngineError> {
        let server = self.server();
        let subject = server.names.state(run);
        let found = server.last(&server.names.state_stream(), &subject).await?;
        found
            .map(|found| parse(&run.task, &found.payload))
            .transpose()
    }

    async fn task(&self, run: &RunAddress) -> Result<FleetTask, EngineError> {
        let server = self.server();
        let subject = server.names.task(run);
        let found = server.last(&server.names.state_stream(), &subject).await?;
        let found = found.ok_or_else(|| EngineError::UnknownRun(run.task.clone()))?;
        let task = tasks::read(server, run, &found.payload).await?;
        // Clients that are not ours may store tasks, too, and names become paths.
        let checked = task.check();
        let checked = checked.and_then(|()| {
            let is_named = task.id == run.task && is_id(&run.batch);
            is_named
                .then_some(())
                .ok_or_else(|| format!("its task has the ID `{}`", task.id))
        });
        checked.map_err(|reason| EngineError::DamagedLog {
            run: run.task.clone(),
            reason,
        })?;
        Ok(task)
    }

    async fn take_next(&self) -> Result<NextRun, EngineError> {
        for consumer in &self.server().consumers {
            let message = self.fetch(consumer, None).await?;
            if let Some(message) = message {
                return self.consider(message).await;
            }
        }
        let stream = self.server().names.runs_stream();
        let stream = self.server().context.get_stream(stream).await;
        let stream = stream.map_err(|error| server_error("read the queue", &error))?;
        if stream.cached_info().state.messages == 0 {
            return Ok(NextRun::Done);
        }
        let server = self.server();
        if let Some(consumer) = server.consumers.get(server.waiting)
            && let Some(message) = self.fetch(consumer, Some(WAIT)).await?
        {
            return self.consider(message).await;
        }
        // The runs that are left may need labels of other workers.
        Ok(if self.has_runs().await? {
            NextRun::Wait
        } else {
            NextRun::Done
        })
    }

    /// Whether this worker may get a run, as it was at most a few seconds ago.
    async fn has_runs(&self) -> Result<bool, EngineError> {
        let known = *self.fleet.has_runs();
        if let Some((read, has_runs)) = known
            && read.elapsed() < LIMITS_AGE
        {
            return Ok(has_runs);
        }
        let has_runs = self.server().has_runs().await?;
        *self.fleet.has_runs() = Some((Instant::now(), has_runs));
        Ok(has_runs)
    }

    /// Returns a run of the queue, at once or within a time.
    async fn fetch(
        &self,
        consumer: &QueueConsumer,
        wait: Option<Duration>,
    ) -> Result<Option<jetstream::Message>, EngineError> {
        const ACTION: &str = "read the queue";
        let limit = TIMEOUT + wait.unwrap_or_default();
        let fetching = async {
            let mut batch = match wait {
                None => consumer.fetch().max_messages(1).messages().await,
                Some(wait) => {
                    let batch = consumer.batch().max_messages(1).expires(wait);
                    batch.messages().await
                }
            }
            .map_err(|error| server_error(ACTION, &error))?;
            let message = batch.next().await.transpose();
            message.map_err(|error| EngineError::Server {
                action: ACTION,
                reason: error.to_string(),
            })
        };
        let fetching = tokio::time::timeout(limit, fetching);
        let fetched = self.server().guard(ACTION, fetching).await?;
        fetched.unwrap_or_else(|_elapsed| {
            Err(EngineError::Server {
                action: ACTION,
                reason: "no response".to_owned(),
            })
        })
    }

    /// Takes a run that the queue delivered, unless it is finished, paused, or its owner lives.
    async fn consider(&self, message: jetstream::Message) -> Result<NextRun, EngineError> {
        let (message, acker) = message.split();
        let Some(run) = RunAddress::of_subject(&message.subject) else {
            acker.ack_with(AckKind::Term).await.ok();
            return Ok(NextRun::Wait);
        };
        let later = |delay| acker.ack_with(AckKind::Nak(Some(delay)));
        let server = self.server();
        let stream = server.names.log_stream(run.shard());
        let last = server.last(&stream, &server.names.log(&run)).await?;
        if let Some(last) = &last {
            let line = last.payload.split(|byte| *byte == b'\n').next();
            let line = String::from_utf8_lossy(line.unwrap_or_default());
            let entry = LogEntry::parse(&line).ok().flatten();
            if entry.is_some_and(|entry| matches!(entry.record, RunRecord::End { .. })) {
                // Its worker died before it removed the run from the queue.
                match NatsLog::open(Arc::clone(&self.fleet.server), run).await {
                    Ok(log) => {
                        log.publish_end().await;
                        acker.double_ack().await.ok();
                    }
                    Err(error) if error.is_of_run() => {
                        later(UNREADABLE_DELAY).await.ok();
                    }
                    Err(error) => return Err(error),
                }
                return Ok(NextRun::Wait);
            }
            if self.has_owner(&run).await {
                later(OWNED_DELAY).await.ok();
                return Ok(NextRun::Wait);
            }
        }
        let task = match self.task(&run).await {
            Err(error) if !error.is_transient() => {
                // Nothing is known about it that a worker could do.
                later(UNREADABLE_DELAY).await.ok();
                return Ok(NextRun::Wait);
            }
            task => task?,
        };
        let held = Held::new(Arc::clone(&self.fleet.server), run.clone(), acker);
        let messages = held.messages().await?;
        if is_paused(&messages) {
            held.release(PAUSED_DELAY).await;
            return Ok(NextRun::Wait);
        }
        held.start(self.fleet.lease).await?;
        self.fleet.held().insert(run.clone(), Arc::clone(&held));
        let batch = run.batch.clone();
        let fleet = Arc::downgrade(&self.fleet);
        let forget = move || {
            if let Some(fleet) = fleet.upgrade() {
                fleet.held().remove(&run);
            }
        };
        let lease = Lease(Box::new(LeaseGuard::new(held, forget)));
        Ok(NextRun::Run(Delivery { batch, task, lease }))
    }

    /// Whether the worker of a run answers.
    async fn has_owner(&self, run: &RunAddress) -> bool {
        for _ in 0..OWNER_QUERIES {
            match self.server().owner(run).await {
                OwnerQuery::Owned => return true,
                OwnerQuery::Silent => return false,
                OwnerQuery::NoResponders => tokio::time::sleep(OWNER_PAUSE).await,
            }
        }
        false
    }

    fn held(&self, delivery: &Delivery) -> Option<Arc<Held>> {
        let run = RunAddress::new(&delivery.batch, &delivery.task.id);
        self.fleet.held().get(&run).cloned()
    }

    async fn reopen_run(&self, task: &str, prompt: Option<String>) -> Result<bool, EngineError> {
        let run = self.run(task);
        let queued = self.task(&run).await?;
        tasks::check_prompt(task, prompt.as_deref())?;
        let server = self.server();
        if server.owner(&run).await == OwnerQuery::Owned {
            return Err(EngineError::InProgress(task.to_owned()));
        }
        let mut log = NatsLog::open(Arc::clone(&self.fleet.server), run.clone()).await?;
        let is_finished = log.state().result.is_some();
        if is_finished {
            // What was sent to the finished run is over, such as its cancellation.
            let (stream, subject) = (server.names.messages_stream(), server.names.messages(&run));
            let delivered = server.read_all(&stream, &subject).await?.len() as u64;
            let entry = LogEntry::new(log.state().epoch, RunRecord::Reopen { prompt, delivered });
            let appended = log.append(entry, Vec::new()).await;
            appended.map_err(|error| server_error("open the run again", &error))?;
        }
        // Its last worker may not have removed it from the queue: what it removes after this would be lost.
        for _ in 0..QUEUE_ATTEMPTS {
            if self.enqueue(&run, &queued).await? || !is_finished {
                break;
            }
            tokio::time::sleep(QUEUE_PAUSE).await;
        }
        Ok(is_finished)
    }

    async fn list(&self) -> Result<Vec<RunOverview>, EngineError> {
        let server = self.server();
        let stream = server.names.state_stream();
        let subject = server.names.tasks(&self.batch);
        let tasks = server.read_all(&stream, &subject).await?;
        let subject = server.names.states(&self.batch);
        let states = server.read_all(&stream, &subject).await?;
        let (stream, subject) = (
            server.names.messages_stream(),
            server.names.messages_of(&self.batch),
        );
        let messages = server.read_all(&stream, &subject).await?;
        // A newer version may have stored a part of a run.
        let mut problems: HashMap<RunAddress, String> = HashMap::new();
        let mut known = HashMap::new();
        for stored in &states {
            if let Some(run) = RunAddress::of_subject(&stored.subject) {
                match parse::<RunState>(&run.task, &stored.payload) {
                    Ok(state) => drop(known.insert(run, state)),
                    Err(error) => drop(problems.insert(run, error.to_string())),
                }
            }
        }
        let mut sent: HashMap<RunAddress, Vec<RunControl>> = HashMap::new();
        for stored in &messages {
            if let Some(run) = RunAddress::of_subject(&stored.subject) {
                let message = match parse(&run.task, &stored.payload) {
                    Ok(message) => message,
                    Err(error) => {
                        problems.insert(run, error.to_string());
                        continue;
                    }
                };
                let messages = sent.entry(run).or_default();
                let number = messages.len() as u64 + 1;
                messages.push(RunControl { number, message });
            }
        }
        let mut runs = Vec::new();
        for stored in &tasks {
            let Some(run) = RunAddress::of_subject(&stored.subject) else {
                continue;
            };
            let mut problem = problems.remove(&run);
            let task = match tasks::read(server, &run, &stored.payload).await {
                Err(error) if error.is_of_run() => {
                    problem = Some(error.to_string());
                    FleetTask {
                        id: run.task.clone(),
                        ..FleetTask::default()
                    }
                }
                task => task?,
            };
            let state = known.remove(&run).unwrap_or_default();
            let is_paused = sent.get(&run).is_some_and(|messages| is_paused(messages));
            runs.push((run, task, state, is_paused, problem));
        }
        let runs = stream::iter(runs).map(|(run, task, state, is_paused, problem)| async move {
            let is_open = state.epoch > 0 && state.result.is_none();
            let is_active = is_open && server.owner(&run).await == OwnerQuery::Owned;
            RunOverview {
                task,
                state,
                is_active,
                is_paused,
                problem,
            }
        });
        Ok(runs.buffered(CONCURRENT_QUERIES).collect().await)
    }

    async fn send_message(&self, task: &str, message: &ControlMessage) -> Result<(), EngineError> {
        let run = self.run(task);
        self.task(&run).await?;
        let message =
            serde_json::to_vec(message).map_err(|error| server_error("send a message", &error))?;
        let message = PublishMessage::build().payload(message.into());
        let subject = self.server().names.messages(&run);
        self.server().publish(subject, message).await.map(drop)
    }
}

impl Fleet {
    fn limits(&self) -> MutexGuard<'_, HashMap<String, (Instant, BatchLimits)>> {
        self.limits.lock()
    }

    fn has_runs(&self) -> MutexGuard<'_, Option<(Instant, bool)>> {
        self.has_runs.lock()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<RunAddress, Arc<Held>>> {
        self.held.lock()
    }
}

impl FleetEngine for NatsEngine {
    fn submit<'a>(&'a self, tasks: &'a [FleetTask]) -> BoxFuture<'a, Result<usize, EngineError>> {
        Box::pin(self.store(tasks))
    }

    fn next(&self) -> BoxFuture<'_, Result<NextRun, EngineError>> {
        Box::pin(self.take_next())
    }

    fn open<'a>(
        &'a self,
        delivery: &'a Delivery,
    ) -> BoxFuture<'a, Result<Box<dyn RunLog>, EngineError>> {
        Box::pin(async move {
            let run = RunAddress::new(&delivery.batch, &delivery.task.id);
            let log = NatsLog::open(Arc::clone(&self.fleet.server), run).await?;
            Ok(Box::new(log) as Box<dyn RunLog>)
        })
    }

    fn release(
        &self,
        delivery: Delivery,
        after: Duration,
    ) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            if let Some(held) = self.held(&delivery) {
                held.release(after).await;
            }
            Ok(())
        })
    }

    fn abandon(&self, delivery: Delivery) {
        if let Some(held) = self.held(&delivery) {
            held.abandon();
        }
    }

    fn finish(&self, delivery: Delivery) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            if let Some(held) = self.held(&delivery) {
                held.finish().await;
            }
            Ok(())
        })
    }

    fn send<'a>(
        &'a self,
        run: &'a str,
        message: ControlMessage,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move { self.send_message(run, &message).await })
    }

    fn control<'a>(
        &'a self,
        delivery: &'a Delivery,
        delivered: u64,
    ) -> BoxFuture<'a, Result<Vec<RunControl>, EngineError>> {
        Box::pin(async move {
            let Some(held) = self.held(delivery) else {
                return Ok(Vec::new());
            };
            let mut messages = held.messages().await?;
            messages.retain(|message| message.number > delivered);
            Ok(messages)
        })
    }

    fn live<'a>(&'a self, delivery: &'a Delivery) -> BoxFuture<'a, Result<LiveHost, EngineError>> {
        Box::pin(async move {
            let run = RunAddress::new(&delivery.batch, &delivery.task.id);
            live::listen(Arc::clone(&self.fleet.server), &run).await
        })
    }

    fn attach<'a>(
        &'a self,
        run: &'a str,
    ) -> BoxFuture<'a, Result<Option<LiveClient>, EngineError>> {
        Box::pin(live::attach(Arc::clone(&self.fleet.server), self.run(run)))
    }

    fn reopen<'a>(
        &'a self,
        run: &'a str,
        prompt: Option<String>,
    ) -> BoxFuture<'a, Result<bool, EngineError>> {
        Box::pin(self.reopen_run(run, prompt))
    }

    fn overview(&self) -> BoxFuture<'_, Result<Vec<RunOverview>, EngineError>> {
        Box::pin(self.list())
    }

    fn charge<'a>(
        &'a self,
        delivery: &'a Delivery,
        charge: &'a Charge,
    ) -> BoxFuture<'a, Result<bool, EngineError>> {
        Box::pin(async move {
            let per_batch = self.limits(&delivery.batch).await?.cost;
            costs::charge(self.server(), &delivery.batch, charge, per_batch).await
        })
    }

    fn change_bucket<'a>(
        &'a self,
        bucket: &'a BucketId,
        change: &'a BucketChange,
    ) -> BoxFuture<'a, Result<BucketGrant, EngineError>> {
        Box::pin(buckets::change(&self.fleet, bucket, change))
    }

    fn drained(&self, bucket: &BucketId) -> Duration {
        self.fleet.drains.of(bucket)
    }

    fn store_file<'a>(
        &'a self,
        delivery: &'a Delivery,
        name: &'a str,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(files::store(self.server(), &delivery.batch, name, content))
    }

    fn read_file<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<u8>, EngineError>> {
        Box::pin(files::read(self.server(), &self.batch, name))
    }
}
