//! One start of an agent, from its first command to its end.

use std::time::{Duration, Instant};

use pi_protocol::{BarrierLine, BarrierResponse, BarrierStop, SessionUsage, SupervisedPoint};
use pi_rpc_client::RpcSupervisor;

use super::agent::{Agent, AgentEvent};
use super::{ActiveRun, DriveError};
use crate::engine::{AppendError, ControlMessage};
use crate::record::RunRecord;

/// How often messages to the run and its time limit are checked.
const POLL: Duration = Duration::from_millis(250);

/// Tools that change no files: no snapshot is taken after their calls.
const READ_ONLY_TOOLS: [&str; 4] = ["read", "grep", "find", "ls"];

/// Last bytes of the agent's standard error that an error repeats.
const STDERR_CHARS: usize = 1000;

pub(super) enum AttemptEnd {
    /// The agent died; another one continues.
    Died,
    Settled,
    /// The limit that was reached.
    Limit(String),
    Canceled,
    /// The run was paused, or the worker stops.
    Released,
    OutOfBudget,
    /// The agent refused to work.
    Failed(String),
}

/// Why the run is being stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stopping {
    Limit(String),
    Budget,
    Canceled,
    Paused,
}

impl Stopping {
    fn reason(&self) -> BarrierStop {
        match self {
            Self::Limit(_) | Self::Budget => BarrierStop::Limit,
            Self::Canceled => BarrierStop::Canceled,
            Self::Paused => BarrierStop::Paused,
        }
    }

    fn end(self) -> AttemptEnd {
        match self {
            Self::Limit(limit) => AttemptEnd::Limit(limit),
            Self::Budget => AttemptEnd::OutOfBudget,
            Self::Canceled => AttemptEnd::Canceled,
            Self::Paused => AttemptEnd::Released,
        }
    }
}

pub(super) struct Attempt<'run, 'driver> {
    run: &'run mut ActiveRun<'driver>,
    agent: Agent,
    started: Instant,
    stopping: Option<Stopping>,
    /// Calls that may change files have run since the last snapshot.
    is_changed: bool,
}

impl<'run, 'driver> Attempt<'run, 'driver> {
    /// Starts the agent and serves it until it ends.
    pub(super) async fn start(
        run: &'run mut ActiveRun<'driver>,
        has_prompt: bool,
    ) -> Result<AttemptEnd, DriveError> {
        let session = if has_prompt {
            run.session_file()?
        } else {
            None
        };
        let agent = match Agent::start(run, session).await {
            Ok(agent) => agent,
            Err(error) => return Ok(AttemptEnd::Failed(error.to_string())),
        };
        let begun = run.log.state().begun.clone();
        // What ran before this worker is in the session or undone; a batch that was complete is newer than its snapshot.
        let is_changed = !begun.is_empty();
        let sent = if has_prompt {
            RpcSupervisor::of(&agent.client).resume(begun).await
        } else {
            agent.client.prompt(&*run.task.prompt, Vec::new()).await
        };
        let mut attempt = Self {
            run,
            agent,
            started: Instant::now(),
            stopping: None,
            is_changed,
        };
        let end = match sent {
            Ok(_started) => attempt.serve().await?,
            Err(pi_rpc_client::RpcClientError::Exited { .. }) => attempt.died().await,
            Err(error) => AttemptEnd::Failed(error.to_string()),
        };
        // The agent stores nothing once its input has ended.
        attempt.agent.stop().await.ok();
        Ok(end)
    }

    async fn serve(&mut self) -> Result<AttemptEnd, DriveError> {
        let mut poll = tokio::time::interval(POLL);
        loop {
            let event = tokio::select! {
                biased;
                () = self.run.driver.stop.cancelled() => return Ok(AttemptEnd::Released),
                event = self.agent.events.recv() => event,
                _code = RpcSupervisor::of(&self.agent.client).wait() => None,
                _tick = poll.tick() => {
                    self.check_time().await;
                    self.read_control().await?;
                    continue;
                }
            };
            let responded = match event {
                None => return Ok(self.died().await),
                Some(AgentEvent::Settled) => {
                    let stopping = self.stopping.take();
                    return Ok(stopping.map_or(AttemptEnd::Settled, Stopping::end));
                }
                Some(AgentEvent::Question(question)) => self.agent.refuse(question).await,
                Some(AgentEvent::Barrier(barrier)) => {
                    let response = self.decide(barrier).await?;
                    RpcSupervisor::of(&self.agent.client)
                        .respond(&response)
                        .await
                }
            };
            // A dead agent is noticed by its exit.
            responded.ok();
        }
    }

    /// Returns how the run continues without its agent.
    async fn died(&self) -> AttemptEnd {
        let code = RpcSupervisor::of(&self.agent.client)
            .wait()
            .await
            .ok()
            .flatten();
        let stderr = self.agent.client.stderr();
        match code {
            // It stopped before it could reach a barrier: the configuration is invalid.
            Some(code) if code != 0 && self.run.log.state().usage == SessionUsage::default() => {
                let tail: Vec<char> = stderr.trim().chars().rev().take(STDERR_CHARS).collect();
                let tail: String = tail.into_iter().rev().collect();
                AttemptEnd::Failed(format!("pi exited with code {code}: {tail}"))
            }
            _ => AttemptEnd::Died,
        }
    }

    /// Journals what has happened up to a barrier, then decides whether the run proceeds.
    async fn decide(&mut self, barrier: BarrierLine) -> Result<BarrierResponse, DriveError> {
        let stop = match self.pass(&barrier).await {
            Ok(()) => None,
            Err(BarrierFailure::Stop(stop)) => Some(stop),
            Err(BarrierFailure::Error(error)) => return Err(error),
        };
        Ok(BarrierResponse {
            id: barrier.id,
            ok: stop.is_none(),
            reason: stop,
        })
    }

    async fn pass(&mut self, barrier: &BarrierLine) -> Result<(), BarrierFailure> {
        self.read_control().await?;
        if let SupervisedPoint::Request { usage, .. } = &barrier.point {
            self.check_limits(usage).await?;
        }
        // The log never refers to a workspace that is not stored.
        if std::mem::take(&mut self.is_changed) {
            self.snapshot().await?;
        }
        let is_settled = matches!(barrier.point, SupervisedPoint::Settled);
        if let Some(stopping) = self.stopping.as_ref().filter(|_| !is_settled) {
            return Err(BarrierFailure::Stop(stopping.reason()));
        }
        let (calls, usage) = match &barrier.point {
            SupervisedPoint::Request { usage, .. } => (Vec::new(), Some(*usage)),
            SupervisedPoint::Tools { calls } => {
                let changes = |name: &str| !READ_ONLY_TOOLS.contains(&name);
                self.is_changed = calls.iter().any(|call| changes(&call.name));
                (calls.iter().map(|call| call.id.clone()).collect(), None)
            }
            SupervisedPoint::Settled => (Vec::new(), None),
        };
        let record = RunRecord::Bytes {
            length: barrier.length,
            calls,
            usage,
        };
        let payload = self.run.session_bytes(barrier.length)?;
        match self.run.record(record, payload).await {
            Ok(()) => Ok(()),
            Err(AppendError::Fenced) => {
                let fenced = BarrierResponse {
                    id: barrier.id.clone(),
                    ok: false,
                    reason: Some(BarrierStop::Fenced),
                };
                RpcSupervisor::of(&self.agent.client)
                    .respond(&fenced)
                    .await
                    .ok();
                RpcSupervisor::of(&self.agent.client).wait().await.ok();
                Err(BarrierFailure::Error(AppendError::Fenced.into()))
            }
            Err(error) => Err(BarrierFailure::Error(error.into())),
        }
    }

    async fn snapshot(&mut self) -> Result<(), BarrierFailure> {
        let Some((base, stored)) = self.run.log.state().workspace.clone() else {
            return Ok(());
        };
        match self.run.record_snapshot(base, Some(&stored)).await? {
            Ok(()) => Ok(()),
            Err(error) => {
                self.stopping = Some(Stopping::Limit(format!("workspace: {error}")));
                Err(BarrierFailure::Stop(BarrierStop::Limit))
            }
        }
    }

    async fn check_limits(&mut self, usage: &SessionUsage) -> Result<(), DriveError> {
        let driver = self.run.driver;
        driver.budget.set(&self.run.task.id, usage.cost);
        let is_reached = self.run.charge(usage.cost).await? || driver.budget.is_reached();
        let limits = &self.run.task.limits;
        let reached = [
            (
                "turns",
                limits.turns.is_some_and(|limit| usage.turns >= limit),
            ),
            ("cost", limits.cost.is_some_and(|limit| usage.cost >= limit)),
            (
                "tokens",
                limits.tokens.is_some_and(|limit| usage.tokens >= limit),
            ),
        ];
        if let Some((name, _)) = reached.into_iter().find(|(_, is_reached)| *is_reached) {
            self.stop_with(Stopping::Limit(name.to_owned()));
        } else if is_reached {
            self.stop_with(Stopping::Budget);
        }
        Ok(())
    }

    async fn check_time(&mut self) {
        let limit = self.run.task.limits.wall;
        if limit.is_some_and(|limit| self.started.elapsed() >= limit) && self.stopping.is_none() {
            self.stop_with(Stopping::Limit("wall".to_owned()));
            self.abort().await;
        }
    }

    /// The first reason to stop is the one that is reported.
    fn stop_with(&mut self, stopping: Stopping) {
        self.stopping.get_or_insert(stopping);
    }

    /// Ends what is in progress without waiting for the next barrier.
    async fn abort(&self) {
        let client = &self.agent.client;
        // The response comes when the agent has settled, which may need responses to barriers: do not wait for it.
        let aborting = client.abort();
        tokio::time::timeout(Duration::from_millis(50), aborting)
            .await
            .ok();
    }

    /// Performs the messages that clients have sent.
    async fn read_control(&mut self) -> Result<(), DriveError> {
        let delivered = self.run.log.state().delivered;
        let engine = &self.run.driver.engine;
        let messages = engine.control(self.run.delivery, delivered).await?;
        for control in messages {
            let mut is_canceled = false;
            match control.message {
                ControlMessage::Steer { message } => {
                    self.agent.client.steer(message, Vec::new()).await.ok();
                }
                ControlMessage::Cancel => {
                    self.stop_with(Stopping::Canceled);
                    is_canceled = true;
                }
                ControlMessage::Pause => self.stop_with(Stopping::Paused),
                ControlMessage::Resume => {
                    if self.stopping == Some(Stopping::Paused) {
                        self.stopping = None;
                    }
                }
            }
            // A cancellation stays undelivered until the run has ended, so that it survives a kill.
            if is_canceled {
                self.abort().await;
                break;
            }
            let record = RunRecord::Control {
                delivered: control.number,
            };
            self.run.record(record, Vec::new()).await?;
        }
        Ok(())
    }
}

/// Why a run does not pass a barrier.
enum BarrierFailure {
    Stop(BarrierStop),
    Error(DriveError),
}

impl From<DriveError> for BarrierFailure {
    fn from(error: DriveError) -> Self {
        Self::Error(error)
    }
}
