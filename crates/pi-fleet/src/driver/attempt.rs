//! One start of an agent, from its first command to its end.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use pi_protocol::{
    BarrierLine, BarrierResponse, BarrierStop, RateLimitLine, SessionUsage, SupervisedCall,
    SupervisedPoint,
};
use pi_rpc_client::{RpcClientError, RpcSupervisor};

use super::agent::{Agent, AgentEvent, Question};
use super::live;
use super::{ActiveRun, DriveError, LONGEST_RATE_WAIT};
use crate::engine::{AppendError, ControlMessage};
use crate::live::{LiveEvents, LiveHost};
use crate::record::RunRecord;
use crate::session_file;

/// How often messages to the run and its time limit are checked.
pub(super) const POLL: Duration = Duration::from_millis(250);

/// How often a worker checks that the run is still its own. It may have been suspended, or cut off from the engine.
pub(super) const OWNER_CHECK: Duration = Duration::from_secs(10);

/// How long a fenced agent may take to exit.
const FENCE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an agent that was aborted may be silent before it is killed, and how long it may take to accept a message.
const ABORT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a paused run stays in the queue.
const PAUSED_DELAY: Duration = Duration::from_millis(200);

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
    /// The run returns to the queue for this time.
    Released(Duration),
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
    /// The model accepts no requests for this time.
    RateLimited(Duration),
}

impl Stopping {
    fn reason(&self) -> BarrierStop {
        match self {
            Self::Limit(_) | Self::Budget => BarrierStop::Limit,
            Self::Canceled => BarrierStop::Canceled,
            Self::Paused | Self::RateLimited(_) => BarrierStop::Paused,
        }
    }

    fn end(self) -> AttemptEnd {
        match self {
            Self::Limit(limit) => AttemptEnd::Limit(limit),
            Self::Budget => AttemptEnd::OutOfBudget,
            Self::Canceled => AttemptEnd::Canceled,
            Self::Paused => AttemptEnd::Released(PAUSED_DELAY),
            Self::RateLimited(wait) => AttemptEnd::Released(wait),
        }
    }
}

/// Whether the run is being stopped, and how far that is.
#[derive(Debug, Default)]
struct StopState {
    reason: Option<Stopping>,
    /// Whether a barrier was refused: the agent stops.
    is_refused: bool,
}

impl StopState {
    /// The first reason to stop is the one that is reported.
    fn request(&mut self, reason: Stopping) {
        self.reason.get_or_insert(reason);
    }

    /// Ends a pause, unless the agent stops already; then the next one continues.
    fn end_pause(&mut self) {
        if self.reason == Some(Stopping::Paused) && !self.is_refused {
            self.reason = None;
        }
    }

    /// Returns how an attempt ends whose agent has settled.
    fn settled(&mut self) -> AttemptEnd {
        match self.reason.take() {
            Some(reason) => reason.end(),
            // What was refused has not happened: the run is not over.
            None if self.is_refused => AttemptEnd::Released(Duration::ZERO),
            None => AttemptEnd::Settled,
        }
    }
}

pub(super) struct Attempt<'run, 'driver> {
    run: &'run mut ActiveRun<'driver>,
    agent: Agent,
    started: Instant,
    /// Whether the agent has accepted its first command.
    has_begun: bool,
    stop: StopState,
    /// When an agent that was aborted is killed.
    abort_deadline: Option<Instant>,
    /// Whether the run ends although its agent works.
    is_overdue: bool,
    /// Calls that may change files have run since the last snapshot.
    is_changed: bool,
    live: LiveEvents,
    /// Questions that attached clients may answer.
    questions: Vec<Question>,
}

impl<'run, 'driver> Attempt<'run, 'driver> {
    /// Starts the agent and serves it until it ends.
    pub(super) async fn start(
        run: &'run mut ActiveRun<'driver>,
        has_prompt: bool,
    ) -> Result<AttemptEnd, DriveError> {
        let prompt = run.log.state().prompt.clone();
        let session = if has_prompt || prompt.is_some() {
            run.session_file()?
        } else {
            session_file::remove(&run.session_directory(), &run.session_id())
                .map_err(DriveError::Session)?;
            None
        };
        // A run does not depend on its clients.
        let host = run.driver.engine.live(run.delivery).await;
        let host = host.unwrap_or_else(|_unreachable| LiveHost::unreachable());
        let live = host.events();
        let agent = match Agent::start(run, session, live.clone()).await {
            Ok(agent) => agent,
            Err(error) => return Ok(AttemptEnd::Failed(error.to_string())),
        };
        let _clients = live::serve(host, Arc::clone(&agent.client));
        let begun = run.log.state().begun.clone();
        // What ran before this worker is in the session or undone; a batch that was complete is newer than its snapshot.
        let is_changed = !begun.is_empty();
        let client = Arc::clone(&agent.client);
        let prompt = prompt.map_or_else(|| run.task.prompt.clone(), |(prompt, _)| prompt);
        let sending = async move {
            if has_prompt {
                return RpcSupervisor::of(&client).resume(begun).await;
            }
            client.prompt(prompt, Vec::new()).await
        };
        let mut attempt = Self {
            run,
            agent,
            started: Instant::now(),
            has_begun: false,
            stop: StopState::default(),
            abort_deadline: None,
            is_overdue: false,
            is_changed,
            live,
            questions: Vec::new(),
        };
        let end = attempt.serve(sending).await;
        if end.is_err() || attempt.is_overdue {
            // The run may belong to another worker: commands of this one must not continue.
            attempt.run.end_processes().await;
        }
        // The agent stores nothing once its input has ended.
        attempt.agent.stop().await.ok();
        attempt.run.trace.end_agent();
        end
    }

    /// Sends the agent its first command and serves it until it ends.
    async fn serve<T>(
        &mut self,
        sending: impl Future<Output = Result<T, RpcClientError>>,
    ) -> Result<AttemptEnd, DriveError> {
        let mut sending = pin!(sending);
        let mut poll = tokio::time::interval(POLL);
        let mut owner_check = tokio::time::interval(OWNER_CHECK);
        loop {
            let event = tokio::select! {
                biased;
                () = self.run.driver.stop.cancelled() => {
                    return Ok(AttemptEnd::Released(Duration::ZERO));
                }
                sent = &mut sending, if !self.has_begun => {
                    self.has_begun = true;
                    match sent {
                        Ok(_started) => continue,
                        Err(RpcClientError::Exited { .. }) => None,
                        Err(error) => return Ok(AttemptEnd::Failed(error.to_string())),
                    }
                }
                event = self.agent.events.recv() => event,
                _code = RpcSupervisor::of(&self.agent.client).wait() => None,
                _tick = owner_check.tick() => {
                    if let Err(AppendError::Fenced) = self.run.log.check_owner().await {
                        return Err(AppendError::Fenced.into());
                    }
                    continue;
                }
                _tick = poll.tick() => {
                    self.check_time().await;
                    self.read_control().await?;
                    self.refuse_unwatched().await;
                    if let Some(stopping) = self.overdue() {
                        return Ok(stopping.end());
                    }
                    continue;
                }
            };
            let responded = match event {
                None => return Ok(self.died().await),
                Some(AgentEvent::Settled) => {
                    return Ok(self.stop.settled());
                }
                Some(AgentEvent::Question(question)) => {
                    self.questions.push(question);
                    self.refuse_unwatched().await;
                    Ok(())
                }
                Some(AgentEvent::RateLimited(limit)) => {
                    self.drain(&limit).await;
                    continue;
                }
                Some(AgentEvent::Barrier(barrier)) => {
                    let response = self.decide(barrier).await?;
                    self.stop.is_refused |= !response.ok;
                    RpcSupervisor::of(&self.agent.client)
                        .respond(&response)
                        .await
                }
            };
            // A dead agent is noticed by its exit.
            responded.ok();
            if let Some(deadline) = &mut self.abort_deadline {
                *deadline = Instant::now() + ABORT_TIMEOUT;
            }
        }
    }

    /// Answers questions that no client can answer. Those that clients have answered are over.
    async fn refuse_unwatched(&mut self) {
        if self.live.is_watched() {
            return;
        }
        for question in std::mem::take(&mut self.questions) {
            self.agent.refuse(question).await.ok();
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
            Ok(()) => {
                if let SupervisedPoint::Request { model, .. } = &barrier.point {
                    self.run.trace.begin_request(model.as_deref());
                }
                None
            }
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
        if let SupervisedPoint::Request {
            model,
            estimate,
            usage,
        } = &barrier.point
        {
            self.check_limits(usage);
            if let Some(model) = model {
                self.wait_for_rate(model, estimate.input_tokens).await?;
            }
            self.reserve(usage).await?;
        }
        // The log never refers to a workspace that is not stored.
        if std::mem::take(&mut self.is_changed) {
            self.snapshot().await?;
        }
        let is_settled = matches!(barrier.point, SupervisedPoint::Settled);
        let stop = self.stop.reason.as_ref().filter(|_| !is_settled);
        let stop = stop.map(Stopping::reason);
        let (calls, usage) = match &barrier.point {
            SupervisedPoint::Tools { calls } => {
                let mut begun = self.run.open_calls(barrier.length)?;
                // What has happened is journaled, what follows does not happen.
                if stop.is_none() {
                    let changes = |name: &str| !READ_ONLY_TOOLS.contains(&name);
                    self.is_changed = calls.iter().any(|call| changes(&call.name));
                    let is_new = |call: &&SupervisedCall| !begun.contains(&call.id);
                    let new: Vec<_> = calls.iter().filter(is_new).collect();
                    begun.extend(new.into_iter().map(|call| call.id.clone()));
                }
                (begun, None)
            }
            SupervisedPoint::Request { usage, .. } if stop.is_none() => (Vec::new(), Some(*usage)),
            SupervisedPoint::Request { .. } | SupervisedPoint::Settled => (Vec::new(), None),
        };
        let record = RunRecord::Bytes {
            length: barrier.length,
            calls,
            usage,
            counted: usage.map(|_| self.run.counted),
        };
        let payload = self.run.session_bytes(barrier.length)?;
        match self.run.record(record, payload).await {
            Ok(()) => stop.map_or(Ok(()), |stop| Err(BarrierFailure::Stop(stop))),
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
                let exiting = RpcSupervisor::of(&self.agent.client).wait();
                tokio::time::timeout(FENCE_TIMEOUT, exiting).await.ok();
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
            Err(error) if error.is_disk_full() => {
                Err(BarrierFailure::Error(DriveError::Workspace(error)))
            }
            Err(error) => {
                self.stop.reason = Some(Stopping::Limit(format!("workspace: {error}")));
                Err(BarrierFailure::Stop(BarrierStop::Limit))
            }
        }
    }

    fn check_limits(&mut self, usage: &SessionUsage) {
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
            self.stop.request(Stopping::Limit(name.to_owned()));
        }
    }

    /// Counts what the run has cost, and reserves what the next request is expected to cost.
    async fn reserve(&mut self, usage: &SessionUsage) -> Result<(), DriveError> {
        let budget = &self.run.driver.budget;
        let before = self.run.log.state().usage;
        if usage.turns > before.turns {
            budget.observe_request(usage.cost - before.cost);
        }
        if self.stop.reason.is_some() {
            return Ok(());
        }
        let expected = budget.expected_request();
        let total = self.run.log.state().past_cost + usage.cost;
        let is_within = budget.reserve(&self.run.task.id, total, expected);
        let expected = if is_within { expected } else { 0.0 };
        if !self.run.charge(usage.cost, expected).await? || !is_within {
            self.run.driver.budget.set(&self.run.task.id, total);
            self.stop.request(Stopping::Budget);
        }
        Ok(())
    }

    /// Waits until the rate limits of a model allow a request.
    async fn wait_for_rate(&mut self, model: &str, tokens: u64) -> Result<(), DriveError> {
        while self.stop.reason.is_none() {
            let driver = self.run.driver;
            let request = || {
                let engine = driver.engine.as_ref();
                driver.limiter.request(engine, model, tokens).boxed()
            };
            let wait = driver.when_reachable(request).await?;
            if wait.is_zero() {
                return Ok(());
            }
            if wait > LONGEST_RATE_WAIT {
                self.stop.request(Stopping::RateLimited(wait));
                return Ok(());
            }
            let deadline = Instant::now() + wait;
            while self.stop.reason.is_none() && Instant::now() < deadline {
                let rest = deadline.saturating_duration_since(Instant::now());
                let sleeping = tokio::time::sleep(rest.min(POLL));
                if driver.stop.run_until_cancelled(sleeping).await.is_none() {
                    self.stop.request(Stopping::Paused);
                }
                self.check_time().await;
                self.read_control().await?;
            }
        }
        Ok(())
    }

    /// Stops requests of all workers to a model whose provider has refused one.
    async fn drain(&self, limit: &RateLimitLine) {
        let driver = self.run.driver;
        let retry_after = limit.retry_after_ms.map(Duration::from_millis);
        let engine = driver.engine.as_ref();
        let drained = driver.limiter.drain(engine, &limit.model, retry_after);
        // Without the engine, the next request waits for it.
        drained.await.ok();
    }

    async fn check_time(&mut self) {
        let limit = self.run.task.limits.wall;
        if limit.is_some_and(|limit| self.started.elapsed() >= limit) && self.stop.reason.is_none()
        {
            self.stop.request(Stopping::Limit("wall".to_owned()));
            self.abort().await;
        }
    }

    /// Returns why the run ends although its agent has not settled: it does not start, or it does not stop.
    fn overdue(&mut self) -> Option<Stopping> {
        let is_late = self
            .abort_deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        if !is_late && self.has_begun {
            return None;
        }
        let stopping = self.stop.reason.take();
        self.is_overdue = stopping.is_some();
        stopping
    }

    /// Ends what is in progress without waiting for the next barrier.
    async fn abort(&mut self) {
        self.abort_deadline
            .get_or_insert_with(|| Instant::now() + ABORT_TIMEOUT);
        let client = &self.agent.client;
        // The response comes when the agent has settled, which may need responses to barriers: do not wait for it.
        let aborting = client.abort();
        tokio::time::timeout(Duration::from_millis(50), aborting)
            .await
            .ok();
    }

    /// Performs the messages that clients have sent. Until the agent has begun, only a cancellation is.
    async fn read_control(&mut self) -> Result<(), DriveError> {
        if !self.has_begun {
            if self.run.is_canceled().await.unwrap_or(false) {
                self.stop.request(Stopping::Canceled);
            }
            return Ok(());
        }
        let delivered = self.run.log.state().delivered;
        let engine = &self.run.driver.engine;
        let messages = match engine.control(self.run.delivery, delivered).await {
            // Messages wait, too, while the engine is not reachable.
            Err(error) if error.is_transient() => return Ok(()),
            messages => messages?,
        };
        for control in messages {
            let mut is_canceled = false;
            match control.message {
                ControlMessage::Steer { message } => {
                    let steering = self.agent.client.steer(message, Vec::new());
                    tokio::time::timeout(ABORT_TIMEOUT, steering).await.ok();
                }
                ControlMessage::Cancel => {
                    self.stop.request(Stopping::Canceled);
                    is_canceled = true;
                }
                ControlMessage::Pause => self.stop.request(Stopping::Paused),
                ControlMessage::Resume => self.stop.end_pause(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_that_ends_after_it_stopped_the_agent_does_not_finish_the_run() {
        let mut stop = StopState::default();
        stop.request(Stopping::Paused);
        stop.end_pause();
        assert!(matches!(stop.settled(), AttemptEnd::Settled));
        stop.request(Stopping::Paused);
        stop.is_refused = true;
        stop.end_pause();
        assert!(matches!(stop.settled(), AttemptEnd::Released(_)));
        assert!(matches!(stop.settled(), AttemptEnd::Released(_)));
    }
}
