//! A run: the agent loop, and the session's own work when the loop ends.
//!
//! After each loop, a failed attempt is retried, a context that is too large is compacted, queued
//! messages are sent, and hooks may request more; then the session settles. Actions requested while
//! `agent_settled` is published run afterwards in the same task.

use std::sync::Arc;

use pi_ai::{AgentMessage, StopReason};
use pi_session::CompactionPhase;
use tracing::Instrument as _;

use super::AgentSession;
use super::prompt::Preflight;
use super::state::Deferred;
use crate::event::SessionEvent;

/// Permission to run; there is one at a time. Released if dropped without a run.
pub(super) struct RunClaim(Option<AgentSession>);

impl Drop for RunClaim {
    fn drop(&mut self) {
        if let Some(session) = self.0.take() {
            session.state().run.active = false;
            session.update_busy();
        }
    }
}

/// How to continue after an agent run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterLoop {
    Loop,
    /// Settle, unless messages are queued.
    Settle,
    /// Settle, even if messages are queued.
    End,
}

/// How an agent run starts.
enum LoopStart {
    Prompt(Vec<AgentMessage>),
    Resume,
}

impl AgentSession {
    /// Claims the permission to run; `None` during a run.
    pub(super) fn claim_run(&self) -> Option<RunClaim> {
        {
            let mut state = self.state();
            if state.run.active || state.disposed {
                return None;
            }
            state.run.active = true;
            state.run.abort_requested = false;
            state.run.storage_failed = false;
            state.run.last_response = None;
            state.run.last_results.clear();
        }
        self.transcript().clear_recorded();
        self.update_busy();
        Some(RunClaim(Some(self.clone())))
    }

    /// Runs in a separate task.
    pub(super) fn spawn_run(&self, claim: RunClaim, messages: Vec<AgentMessage>) {
        let session = self.clone();
        let span = tracing::info_span!("session", id = %self.session_id());
        let run = async move { session.run(claim, messages).await };
        self.0.runs.spawn(run.instrument(span));
    }

    /// Runs until the session has settled.
    pub(super) async fn run(&self, claim: RunClaim, messages: Vec<AgentMessage>) {
        self.prepare_requests();
        let mut begin = LoopStart::Prompt(messages);
        loop {
            let next = self.run_loop_once(begin).await;
            if next != AfterLoop::Loop {
                self.flush_pending().await;
                if self.begin_settling(next).await {
                    break;
                }
            }
            begin = LoopStart::Resume;
        }
        self.settle(claim).await;
    }

    async fn run_loop_once(&self, begin: LoopStart) -> AfterLoop {
        let agent = &self.0.agent;
        let running = async {
            match begin {
                LoopStart::Prompt(messages) => agent.prompt(messages).await,
                LoopStart::Resume => agent.resume().await,
            }
        };
        // Forward an abort that was requested before the loop started.
        let late_abort = async {
            if self.is_abort_requested() {
                agent.abort();
            }
        };
        let (ran, ()) = tokio::join!(biased; running, late_abort);
        if let Err(error) = ran {
            self.report("run", None, &error);
            return AfterLoop::End;
        }
        if self.is_abort_requested() || self.state().run.storage_failed {
            return AfterLoop::End;
        }
        let proceeds = self.after_loop().await || self.before_settle().await;
        match (proceeds, self.is_abort_requested()) {
            (_, true) => AfterLoop::End,
            (true, false) => AfterLoop::Loop,
            (false, false) => AfterLoop::Settle,
        }
    }

    pub(super) fn is_abort_requested(&self) -> bool {
        self.state().run.abort_requested
    }

    /// Handles retry and compaction for the last response; returns whether the loop runs again.
    async fn after_loop(&self) -> bool {
        let (response, results) = {
            let mut state = self.state();
            let results = std::mem::take(&mut state.run.last_results);
            (state.run.last_response.take(), results)
        };
        let Some((message, id)) = response else {
            return self.0.agent.has_queued_messages();
        };
        let AgentMessage::Assistant(response) = &*message else {
            return self.0.agent.has_queued_messages();
        };
        if self.is_retryable(response) && self.prepare_retry(response, &id).await {
            return !self.is_abort_requested();
        }
        if self.is_abort_requested() {
            return false;
        }
        if response.stop_reason == StopReason::Error {
            self.finish_retry(response.error_message.clone()).await;
        }
        if self
            .check_context(CompactionPhase::AfterRun, response, Some(&id), &results)
            .await
        {
            return !self.is_abort_requested();
        }
        !self.is_abort_requested() && self.0.agent.has_queued_messages()
    }

    /// Stores messages that were held back during the loop.
    async fn flush_pending(&self) {
        // An attempt is only left over if the run ended early.
        self.cancel_retry().await;
        if self.state().run.storage_failed {
            // Discard messages that could not be stored.
            self.refresh_context_or_report("run");
        }
        self.flush_bash_messages();
        self.flush_custom_messages().await;
    }

    /// Starts settling under the same lock as the final queue check: messages queued until then
    /// still belong to this run. Returns false if the run continues.
    async fn begin_settling(&self, next: AfterLoop) -> bool {
        loop {
            self.wait_for_enqueues().await;
            let mut state = self.state();
            if state.enqueuing > 0 {
                continue;
            }
            let is_cut_short = state.run.abort_requested || next == AfterLoop::End;
            if !is_cut_short && self.0.agent.has_queued_messages() {
                return false;
            }
            state.run.sections = None;
            state.run.forced_prompt = None;
            state.run.active = false;
            state.run.settling = true;
            return true;
        }
    }

    async fn settle(&self, mut claim: RunClaim) {
        // The claim is consumed without releasing it: `update_busy` below reports idle only after
        // settling.
        claim.0 = None;
        self.publish_with_hooks(SessionEvent::AgentSettled).await;
        let deferred = {
            let mut state = self.state();
            state.run.settling = false;
            state.run.deferring = !state.deferred.is_empty();
            std::mem::take(&mut state.deferred)
        };
        // Wake callers that wait only for the end of settling.
        self.0.busy.send_modify(|_| {});
        for action in deferred {
            self.run_deferred(action).await;
        }
        self.state().run.deferring = false;
        self.update_busy();
    }

    async fn run_deferred(&self, action: Deferred) {
        let (claim, messages) = match action {
            Deferred::Message(message) => match self.claim_run() {
                Some(claim) => (claim, self.with_system_update(message)),
                None => return self.0.agent.steer(message),
            },
            Deferred::Prompt(prompt) => match self.preflight(prompt).await {
                Ok(Preflight::Start(claim, messages)) => (claim, messages),
                Ok(Preflight::Done(_)) => return,
                Err(error) => return self.report("prompt", None, &error),
            },
        };
        Box::pin(self.run(claim, messages)).await;
    }

    /// Waits until `agent_settled` has been published.
    pub(super) async fn wait_until_settled(&self) {
        let mut busy = self.0.busy.subscribe();
        let core = Arc::clone(&self.0);
        let settled = busy.wait_for(|_| !super::lock(&core.state).run.settling);
        if settled.await.is_err() {
            tracing::debug!("session dropped while waiting to settle");
        }
    }
}
