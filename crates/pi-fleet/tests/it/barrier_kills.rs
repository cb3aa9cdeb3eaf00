//! Kills of an agent at each of its barriers, before and after the append.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_fleet::{
    AppendError, BucketChange, BucketGrant, BucketId, Budget, Charge, ControlMessage, Delivery,
    DriverOptions, EngineError, FleetEngine, FleetLimits, FleetTask, LocalEngine, LogEntry,
    NextRun, RunContent, RunControl, RunLog, RunOverview, RunRecord, RunState, WhenEmpty,
    WorkerPool, WorkerResources, parse_tasks,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;
use crate::nats_server::NatsServer;

/// An engine that kills the agent when a certain barrier is journaled.
struct KillingEngine {
    engine: Arc<dyn FleetEngine>,
    kill: Arc<BarrierKill>,
}

struct BarrierKill {
    /// Counts barriers; those with these numbers are fatal.
    at: Vec<usize>,
    is_before: bool,
    /// Whether the worker dies with its agent.
    stops_worker: bool,
    seen: AtomicUsize,
    /// Where agents are stored, by run and epoch.
    runs: PathBuf,
    name: String,
    /// Stops the worker.
    stop: CancellationToken,
}

struct KillingLog {
    log: Box<dyn RunLog>,
    kill: Arc<BarrierKill>,
}

impl BarrierKill {
    /// Returns the file of the agent, of which only one is alive.
    fn agent_file(&self) -> PathBuf {
        let files = std::fs::read_dir(&self.runs).unwrap();
        let mut paths = files.map(|file| file.unwrap().path());
        let is_agent = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_of_run = name.starts_with(&format!("{}.", self.name));
            is_of_run && path.extension().is_some_and(|ending| ending == "agent")
        };
        paths.find(is_agent).unwrap()
    }

    /// Kills the agent and waits until it is dead.
    async fn perform(&self) {
        let text = std::fs::read_to_string(self.agent_file()).unwrap();
        let process = text.split(' ').next().unwrap().to_owned();
        let id = rustix::process::Pid::from_raw(process.parse().unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
        let is_alive = || {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        while is_alive() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl RunLog for KillingLog {
    fn state(&self) -> &RunState {
        self.log.state()
    }

    fn is_portable(&self) -> bool {
        self.log.is_portable()
    }

    fn take_content(&mut self) -> RunContent {
        self.log.take_content()
    }

    fn check_owner(&self) -> BoxFuture<'_, Result<(), AppendError>> {
        self.log.check_owner()
    }

    fn append(
        &mut self,
        entry: LogEntry,
        payload: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), AppendError>> {
        Box::pin(async move {
            let is_barrier = matches!(entry.record, RunRecord::Bytes { .. });
            let number = self.kill.seen.load(Ordering::Relaxed);
            let is_fatal = is_barrier && self.kill.at.contains(&number);
            if is_barrier {
                self.kill.seen.fetch_add(1, Ordering::Relaxed);
            }
            if is_fatal && self.kill.is_before {
                self.kill.perform().await;
                self.kill.stop.cancel();
                return Err(AppendError::Failed("killed".to_owned()));
            }
            self.log.append(entry, payload).await?;
            if is_fatal && !self.kill.is_before {
                self.kill.perform().await;
                if self.kill.stops_worker {
                    self.kill.stop.cancel();
                }
            }
            Ok(())
        })
    }
}

impl FleetEngine for KillingEngine {
    fn submit<'a>(&'a self, tasks: &'a [FleetTask]) -> BoxFuture<'a, Result<usize, EngineError>> {
        self.engine.submit(tasks)
    }

    fn next(&self) -> BoxFuture<'_, Result<NextRun, EngineError>> {
        self.engine.next()
    }

    fn open<'a>(
        &'a self,
        delivery: &'a Delivery,
    ) -> BoxFuture<'a, Result<Box<dyn RunLog>, EngineError>> {
        Box::pin(async move {
            let log = self.engine.open(delivery).await?;
            let kill = Arc::clone(&self.kill);
            Ok(Box::new(KillingLog { log, kill }) as Box<dyn RunLog>)
        })
    }

    fn release(
        &self,
        delivery: Delivery,
        after: Duration,
    ) -> BoxFuture<'_, Result<(), EngineError>> {
        self.engine.release(delivery, after)
    }

    fn finish(&self, delivery: Delivery) -> BoxFuture<'_, Result<(), EngineError>> {
        self.engine.finish(delivery)
    }

    fn send<'a>(
        &'a self,
        run: &'a str,
        message: ControlMessage,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        self.engine.send(run, message)
    }

    fn control<'a>(
        &'a self,
        delivery: &'a Delivery,
        delivered: u64,
    ) -> BoxFuture<'a, Result<Vec<RunControl>, EngineError>> {
        self.engine.control(delivery, delivered)
    }

    fn reopen<'a>(
        &'a self,
        run: &'a str,
        prompt: Option<String>,
    ) -> BoxFuture<'a, Result<bool, EngineError>> {
        self.engine.reopen(run, prompt)
    }

    fn overview(&self) -> BoxFuture<'_, Result<Vec<RunOverview>, EngineError>> {
        self.engine.overview()
    }

    fn charge<'a>(
        &'a self,
        delivery: &'a Delivery,
        charge: &'a Charge,
    ) -> BoxFuture<'a, Result<bool, EngineError>> {
        self.engine.charge(delivery, charge)
    }

    fn change_bucket<'a>(
        &'a self,
        bucket: &'a BucketId,
        change: &'a BucketChange,
    ) -> BoxFuture<'a, Result<BucketGrant, EngineError>> {
        self.engine.change_bucket(bucket, change)
    }

    fn drained(&self, bucket: &BucketId) -> Duration {
        self.engine.drained(bucket)
    }

    fn store_file<'a>(
        &'a self,
        delivery: &'a Delivery,
        name: &'a str,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        self.engine.store_file(delivery, name, content)
    }

    fn read_file<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<u8>, EngineError>> {
        self.engine.read_file(name)
    }
}

/// The barriers of an undisturbed run: four requests, three batches of calls, and the end.
const BARRIERS: usize = 8;

/// Drives a run until it is killed at a barrier, then until its end.
async fn drive(
    fixture: &Fixture,
    engine: Arc<dyn FleetEngine>,
    batches: PathBuf,
    kill: &Arc<BarrierKill>,
    stop: CancellationToken,
) {
    let kill = Arc::clone(kill);
    let pool = WorkerPool {
        engine: Arc::new(KillingEngine { engine, kill }),
        options: DriverOptions {
            batches,
            mirrors: fixture.home.path().join("mirrors"),
            // The pool starts pi with the environment of this process.
            program: wrapper_script(fixture),
            arguments: Vec::new(),
            pi_version: "1".to_owned(),
            worker: "w".to_owned(),
            resources: WorkerResources::default(),
        },
        slots: 1,
        when_empty: WhenEmpty::Stop,
        budget: Arc::new(Budget::new(None)),
        limits: FleetLimits::default(),
        stop,
        on_result: Arc::new(|_| {}),
        on_problem: Arc::new(|_, _| {}),
    };
    pool.run().await.unwrap();
}

impl BarrierKill {
    fn new(at: usize, is_before: bool, batch: &Path, name: &str) -> Arc<Self> {
        Arc::new(Self {
            at: vec![at],
            is_before,
            stops_worker: is_before,
            seen: AtomicUsize::new(0),
            runs: batch.join("runs"),
            name: name.to_owned(),
            stop: CancellationToken::new(),
        })
    }
}

async fn check(fixture: &Fixture, kill: &BarrierKill, name: &str, expected: (u64, u64)) {
    let seen = kill.seen.load(Ordering::Relaxed);
    let last = kill.at.iter().max().unwrap();
    assert!(seen > *last, "{name}: no such barrier");
    let names = [name.to_owned()];
    let found = fixture.check_results(&names).await;
    let result = &fixture.results().await[name];
    assert_eq!(result["attempts"], kill.at.len() + 1, "{name}: {result}");
    assert_eq!(found, expected, "{name}: {result}");
}

fn tasks(fixture: &Fixture, name: &str) -> Vec<FleetTask> {
    let file = fixture.tasks(&[name.to_owned()], &json!({}));
    parse_tasks(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[tokio::test]
async fn an_agent_may_be_killed_at_every_barrier() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    for at in 0..BARRIERS {
        for is_before in [true, false] {
            let name = format!("{}-{at}", if is_before { "before" } else { "after" });
            let tasks = tasks(&fixture, &name);
            let batch = fixture.batch();
            let kill = BarrierKill::new(at, is_before, &batch, &name);
            for stop in [kill.stop.clone(), CancellationToken::new()] {
                let engine = LocalEngine::open(&batch).unwrap();
                engine.submit(&tasks).await.unwrap();
                let batches = batch.parent().unwrap().to_owned();
                drive(&fixture, Arc::new(engine), batches, &kill, stop).await;
            }
            // A request or call that was journaled may have started; others have not.
            let is_request = at % 2 == 0 && at < BARRIERS - 1;
            let is_tools = at % 2 == 1 && at < BARRIERS - 1;
            let cut = u64::from(is_request && !is_before);
            // `write` and `read` are safe to repeat.
            let interrupted = u64::from(is_tools && !is_before && at > 1);
            check(&fixture, &kill, &name, (cut, interrupted)).await;
        }
    }
}

#[tokio::test]
async fn a_call_that_was_interrupted_does_not_run_after_another_kill() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let name = "twice";
    let tasks = tasks(&fixture, name);
    let batch = fixture.batch();
    let mut kill = BarrierKill::new(5, false, &batch, name);
    // `read` and a command, and then the barrier at which `read` runs again.
    Arc::get_mut(&mut kill).unwrap().at = vec![5, 6];
    let engine = LocalEngine::open(&batch).unwrap();
    engine.submit(&tasks).await.unwrap();
    let batches = batch.parent().unwrap().to_owned();
    let stop = CancellationToken::new();
    drive(&fixture, Arc::new(engine), batches, &kill, stop).await;
    check(&fixture, &kill, name, (0, 1)).await;
}

#[tokio::test]
async fn a_machine_may_be_lost_at_every_barrier() {
    let Some(mut fixture) = Fixture::new().await else {
        return;
    };
    let Some(server) = NatsServer::start().await else {
        return;
    };
    fixture.engine = Some(server.url());
    for at in 0..BARRIERS {
        for is_before in [true, false] {
            let name = format!("{}-{at}", if is_before { "before" } else { "after" });
            let tasks = tasks(&fixture, &name);
            let machines = ["one", "two"].map(|name| fixture.home.path().join(name));
            let mut kill = BarrierKill::new(at, is_before, &machines[0].join("b"), &name);
            Arc::get_mut(&mut kill).unwrap().stops_worker = true;
            let stops = [kill.stop.clone(), CancellationToken::new()];
            for (machine, stop) in machines.into_iter().zip(stops) {
                let engine = server.engine("main", "b").await;
                engine.add(None).await.unwrap();
                engine.submit(&tasks).await.unwrap();
                drive(&fixture, Arc::new(engine), machine, &kill, stop).await;
            }
            // What was not journaled is only on the lost machine: responses are requested again, and results of calls that
            // have begun are not known.
            let is_last = at == BARRIERS - 1;
            let is_request = at % 2 == 0 && !is_last;
            let cut = if is_before { !is_request } else { is_request };
            let interrupted = match (is_before, at) {
                (true, 4 | 6) | (false, 3 | 5) => 1,
                _ => 0,
            };
            check(&fixture, &kill, &name, (u64::from(cut), interrupted)).await;
        }
    }
}

/// Writes a program that starts pi with the environment of the fixture.
fn wrapper_script(fixture: &Fixture) -> PathBuf {
    use std::fmt::Write as _;
    let mut text = "#!/bin/sh\n".to_owned();
    for (name, value) in fixture.environment() {
        writeln!(text, "export {name}='{value}'").unwrap();
    }
    writeln!(text, "exec '{}' \"$@\"", fixture.pi.display()).unwrap();
    fixture.home.write_program("pi.sh", text)
}
