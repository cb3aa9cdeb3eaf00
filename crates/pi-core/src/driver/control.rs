//! The machine of a session, shared by its lanes, with the tokens and watches that belong to it.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use pi_protocol::{ActivityKind, RequestId, SessionActivity, StreamPhase};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::lanes::Lanes;
use crate::machine::{CancelScope, Effect, Input, Machine, Outcome, Rejection, Reply};
use crate::validation::Validators;

type Configure = Box<dyn Fn(&mut Machine) + Send + Sync>;

/// A machine that several tasks feed.
pub struct Control {
    machine: Mutex<Machine>,
    /// Sets what a step depends on and the machine does not own: the time, and the retry policy.
    configure: Configure,
    tokens: Mutex<HashMap<CancelScope, CancellationToken>>,
    /// Canceled when the request of a tool call is answered. A client may answer before the lane waits for it.
    answers: Mutex<HashMap<RequestId, CancellationToken>>,
    activity: watch::Sender<SessionActivity>,
    request_phase: watch::Sender<Option<StreamPhase>>,
    /// Compiled argument schemas of the tools called so far.
    pub(super) validators: Validators,
    /// Held by the nested call that must run alone.
    pub(super) nested_order: tokio::sync::Mutex<()>,
    pub(super) lanes: Lanes,
}

impl Control {
    pub fn new(machine: Machine, configure: impl Fn(&mut Machine) + Send + Sync + 'static) -> Self {
        Self {
            machine: Mutex::new(machine),
            configure: Box::new(configure),
            tokens: Mutex::default(),
            answers: Mutex::default(),
            activity: watch::Sender::default(),
            request_phase: watch::Sender::new(None),
            validators: Validators::default(),
            nested_order: tokio::sync::Mutex::default(),
            lanes: Lanes::default(),
        }
    }

    /// Locks the machine. The lock is held briefly, never across an await.
    pub fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock()
    }

    pub(super) fn step(&self, input: Input) -> Vec<Effect> {
        let mut machine = self.machine();
        // Deltas of a response are frequent. They depend on neither time nor policy, and end no work.
        if matches!(input, Input::Outcome(Outcome::Response(_))) {
            return machine.step(input);
        }
        (self.configure)(&mut machine);
        let effects = machine.step(input);
        let activity = SessionActivity {
            kind: machine.activity(),
            is_compacting: machine.is_compacting(),
            is_retrying: machine.is_retrying(),
        };
        let canceled = self.update_tokens(&effects, activity);
        // Sent under the lock, so that the last value is the current one.
        self.activity.send_if_modified(|current| {
            let changes = *current != activity;
            *current = activity;
            changes
        });
        drop(machine);
        canceled.iter().for_each(CancellationToken::cancel);
        effects
    }

    pub fn activity(&self) -> SessionActivity {
        *self.activity.borrow()
    }

    pub async fn wait_for_idle(&self) {
        self.wait_for(|activity| activity.kind == ActivityKind::Idle)
            .await;
    }

    pub async fn wait_until_settled(&self) {
        self.wait_for(|activity| activity.kind != ActivityKind::Settling)
            .await;
    }

    async fn wait_for(&self, reached: impl Fn(&SessionActivity) -> bool) {
        let mut activity = self.activity.subscribe();
        if activity.wait_for(reached).await.is_err() {
            tracing::debug!("session dropped while waiting for it");
        }
    }

    /// Watches the phase of the current model request; `None` between requests.
    pub fn request_phase(&self) -> watch::Receiver<Option<StreamPhase>> {
        self.request_phase.subscribe()
    }

    pub(super) fn request_phase_sender(&self) -> &watch::Sender<Option<StreamPhase>> {
        &self.request_phase
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<CancelScope, CancellationToken>> {
        self.tokens.lock()
    }

    /// Returns the token of work that begins, or that was canceled before it began. All work of a run ends with it.
    pub fn begin(&self, scope: CancelScope) -> CancellationToken {
        let mut tokens = self.tokens();
        if scope == CancelScope::Navigation {
            return tokens.entry(scope).or_default().clone();
        }
        let run = tokens.entry(CancelScope::Run).or_default().clone();
        if scope == CancelScope::Run {
            return run;
        }
        tokens
            .entry(scope)
            .or_insert_with(|| run.child_token())
            .clone()
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.answers.lock()
    }

    /// Returns a token that is canceled when a request is answered.
    pub(super) fn answered(&self, request: &RequestId) -> CancellationToken {
        self.answers().entry(request.clone()).or_default().clone()
    }

    /// Forgets a request whose answer the lane has received.
    pub(super) fn forget_request(&self, request: &RequestId) {
        self.answers().remove(request);
    }

    /// Forgets the tokens of work that has ended, and returns those to cancel.
    ///
    /// This belongs to a step and happens under its lock: a cancellation reaches the work that was in progress at that
    /// step, and never work of the same kind that begins later.
    fn update_tokens(
        &self,
        effects: &[Effect],
        activity: SessionActivity,
    ) -> Vec<CancellationToken> {
        let run_ends = effects
            .iter()
            .any(|effect| matches!(effect, Effect::EndRun));
        self.tokens().retain(|scope, _| match scope {
            CancelScope::Run => !run_ends,
            CancelScope::Retry => activity.is_retrying,
            CancelScope::Compaction => activity.is_compacting,
            CancelScope::Navigation => activity.kind == ActivityKind::Navigating,
        });
        if run_ends {
            self.answers().clear();
        }
        let canceled = effects.iter().filter_map(|effect| match effect {
            Effect::Cancel(scope) => Some(self.begin(*scope)),
            Effect::Resolve(request) => Some(self.answered(request)),
            _ => None,
        });
        canceled.collect()
    }

    /// Feeds a request that only cancels.
    pub fn interrupt(&self, input: Input) {
        drop(self.step(input));
    }

    /// Begins a move in the tree and returns the token that cancels it. `Outcome::Navigated` ends it.
    pub fn begin_navigation(&self) -> Result<CancellationToken, Rejection> {
        let rejection = self
            .step(Input::Navigate)
            .into_iter()
            .find_map(|effect| match effect {
                Effect::Reply(Reply::Rejected(rejection)) => Some(rejection),
                _ => None,
            });
        match rejection {
            Some(rejection) => Err(rejection),
            None => Ok(self.begin(CancelScope::Navigation)),
        }
    }

    /// Waits until all lanes have ended; none may start afterwards.
    pub async fn wait_for_lanes(&self) {
        self.lanes.wait().await;
    }
}
