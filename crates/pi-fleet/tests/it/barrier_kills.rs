//! Kills of an agent at each of its barriers, before and after the append.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_fleet::{
    AppendError, Budget, ControlMessage, Delivery, DriverOptions, EngineError, FleetEngine,
    FleetTask, LocalEngine, LogEntry, NextRun, RunContent, RunControl, RunLog, RunOverview,
    RunRecord, RunState, WhenEmpty, WorkerPool, parse_tasks,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

/// An engine that kills the agent when a certain barrier is journaled.
struct KillingEngine {
    engine: LocalEngine,
    kill: Arc<BarrierKill>,
}

struct BarrierKill {
    /// Counts barriers; the one with this number is fatal.
    at: usize,
    is_before: bool,
    seen: AtomicUsize,
    agent: PathBuf,
    /// Stops the worker.
    stop: CancellationToken,
}

struct KillingLog {
    log: Box<dyn RunLog>,
    kill: Arc<BarrierKill>,
}

impl BarrierKill {
    /// Kills the agent and waits until it is dead.
    async fn perform(&self) {
        let text = std::fs::read_to_string(&self.agent).unwrap();
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

    fn append(
        &mut self,
        entry: LogEntry,
        payload: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), AppendError>> {
        Box::pin(async move {
            let is_barrier = matches!(entry.record, RunRecord::Bytes { .. });
            let number = self.kill.seen.load(Ordering::Relaxed);
            let is_fatal = is_barrier && number == self.kill.at;
            if is_barrier {
                self.kill.seen.fetch_add(1, Ordering::Relaxed);
            }
            if is_fatal && self.kill.is_before {
                // The worker dies with its agent.
                self.kill.perform().await;
                self.kill.stop.cancel();
                return Err(AppendError::Failed("killed".to_owned()));
            }
            self.log.append(entry, payload).await?;
            if is_fatal && !self.kill.is_before {
                self.kill.perform().await;
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

    fn reopen<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, EngineError>> {
        self.engine.reopen(run)
    }

    fn overview(&self) -> BoxFuture<'_, Result<Vec<RunOverview>, EngineError>> {
        self.engine.overview()
    }

    fn charge<'a>(
        &'a self,
        delivery: &'a Delivery,
        dollars: f64,
    ) -> BoxFuture<'a, Result<bool, EngineError>> {
        self.engine.charge(delivery, dollars)
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

#[tokio::test]
async fn an_agent_may_be_killed_at_every_barrier() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    // The pool starts pi with the environment of this process.
    let wrapper = wrapper_script(&fixture);
    for at in 0..BARRIERS {
        for is_before in [true, false] {
            let name = format!("{}-{at}", if is_before { "before" } else { "after" });
            let file = fixture.tasks(std::slice::from_ref(&name), &json!({}));
            let tasks = parse_tasks(&std::fs::read_to_string(file).unwrap()).unwrap();
            let batch = fixture.batch();
            let kill = Arc::new(BarrierKill {
                at,
                is_before,
                seen: AtomicUsize::new(0),
                agent: batch.join("runs").join(format!("{name}.agent")),
                stop: CancellationToken::new(),
            });
            for stop in [kill.stop.clone(), CancellationToken::new()] {
                let engine = LocalEngine::open(&batch).unwrap();
                engine.submit(&tasks).await.unwrap();
                let kill = Arc::clone(&kill);
                let pool = WorkerPool {
                    engine: Arc::new(KillingEngine { engine, kill }),
                    options: DriverOptions {
                        batches: batch.parent().unwrap().to_owned(),
                        mirrors: fixture.home.path().join("mirrors"),
                        program: wrapper.clone(),
                        arguments: Vec::new(),
                        worker: "w".to_owned(),
                    },
                    slots: 1,
                    when_empty: WhenEmpty::Stop,
                    budget: Arc::new(Budget::new(None)),
                    stop,
                    on_result: Arc::new(|_| {}),
                    on_problem: Arc::new(|_, _| {}),
                };
                pool.run().await.unwrap();
            }
            assert!(
                kill.seen.load(Ordering::Relaxed) > at,
                "{name}: no such barrier"
            );
            let (cut, interrupted) = fixture.check_results(std::slice::from_ref(&name)).await;
            let result = &fixture.results().await[&name];
            assert_eq!(result["attempts"], 2, "{name}: {result}");
            // A request or call that was journaled may have started; others have not.
            let is_request = at % 2 == 0 && at < BARRIERS - 1;
            let is_tools = at % 2 == 1 && at < BARRIERS - 1;
            assert_eq!(cut, u64::from(is_request && !is_before), "{name}: {result}");
            // `write` and `read` are safe to repeat.
            let begun = is_tools && !is_before && at > 1;
            assert_eq!(interrupted, u64::from(begun), "{name}: {result}");
        }
    }
}

/// Writes a program that starts pi with the environment of the fixture.
fn wrapper_script(fixture: &Fixture) -> PathBuf {
    use std::fmt::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    let mut text = "#!/bin/sh\n".to_owned();
    for (name, value) in fixture.environment() {
        writeln!(text, "export {name}='{value}'").unwrap();
    }
    writeln!(text, "exec '{}' \"$@\"", fixture.pi.display()).unwrap();
    let path = fixture.home.write("pi.sh", text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    path
}
