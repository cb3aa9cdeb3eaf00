//! A run: the agent loop, and what the session does by itself when the loop ends.
//!
//! After each loop: a failed attempt is tried again, a context that is too large is compacted, what
//! was queued is sent, the hooks may ask for more; then the session settles. What is asked for while
//! settling is told happens afterwards, in the same task.

use std::sync::Arc;

use pi_ai::{AgentMessage, StopReason};
use pi_session::CompactionPhase;

use super::AgentSession;
use super::live::Deferred;
use super::prompt::Preflight;
use crate::event::SessionEvent;

/// The right to run; there is one at a time. Dropped without a run, it is given back.
pub(super) struct RunClaim(Option<AgentSession>);

impl Drop for RunClaim {
    fn drop(&mut self) {
        if let Some(session) = self.0.take() {
            session.live().run.active = false;
            session.settle_busy();
        }
    }
}

/// What follows a low-level run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Loop,
    /// Nothing, unless something was queued.
    Settle,
    /// Nothing, whatever is queued.
    End,
}

/// How a low-level run begins.
enum Begin {
    Prompt(Vec<AgentMessage>),
    Resume,
}

impl AgentSession {
    /// Claims the right to run; none while a run is under way.
    pub(super) fn claim_run(&self) -> Option<RunClaim> {
        {
            let mut live = self.live();
            if live.run.active || live.disposed {
                return None;
            }
            live.run.active = true;
            live.run.abort_requested = false;
            live.run.storage_failed = false;
            live.run.last_answer = None;
            live.run.last_results.clear();
        }
        self.transcript().forget_recorded();
        self.settle_busy();
        Some(RunClaim(Some(self.clone())))
    }

    /// Runs in a task of its own.
    pub(super) fn spawn_run(&self, claim: RunClaim, messages: Vec<AgentMessage>) {
        let session = self.clone();
        self.0.runs.spawn(async move {
            session.run(claim, messages).await;
        });
    }

    /// Runs until the session has settled.
    pub(super) async fn run(&self, claim: RunClaim, messages: Vec<AgentMessage>) {
        self.prepare_requests();
        let mut begin = Begin::Prompt(messages);
        loop {
            let next = self.run_loop_once(begin).await;
            if next != Next::Loop {
                self.tidy_up().await;
                if self.begin_settling(next).await {
                    break;
                }
            }
            begin = Begin::Resume;
        }
        self.settle(claim).await;
    }

    /// Runs the loop once.
    async fn run_loop_once(&self, begin: Begin) -> Next {
        let agent = &self.0.agent;
        let running = async {
            match begin {
                Begin::Prompt(messages) => agent.prompt(messages).await,
                Begin::Resume => agent.resume().await,
            }
        };
        // An abort that came before the loop began reaches it as soon as it has.
        let late_abort = async {
            if self.is_abort_requested() {
                agent.abort();
            }
        };
        let (ran, ()) = tokio::join!(biased; running, late_abort);
        if let Err(error) = ran {
            self.report("run", None, &error);
            return Next::End;
        }
        if self.is_abort_requested() || self.live().run.storage_failed {
            return Next::End;
        }
        let proceeds = self.after_loop().await || self.before_settle().await;
        match (proceeds, self.is_abort_requested()) {
            (_, true) => Next::End,
            (true, false) => Next::Loop,
            (false, false) => Next::Settle,
        }
    }

    pub(super) fn is_abort_requested(&self) -> bool {
        self.live().run.abort_requested
    }

    /// Sees to what the last answer asks for; true asks for another loop.
    async fn after_loop(&self) -> bool {
        let (answer, results) = {
            let mut live = self.live();
            let results = std::mem::take(&mut live.run.last_results);
            (live.run.last_answer.take(), results)
        };
        let Some((message, id)) = answer else {
            return self.0.agent.has_queued_messages();
        };
        let AgentMessage::Assistant(answer) = &*message else {
            return self.0.agent.has_queued_messages();
        };
        if self.is_retryable(answer) && self.prepare_retry(answer, &id).await {
            return !self.is_abort_requested();
        }
        if self.is_abort_requested() {
            return false;
        }
        if answer.stop_reason == StopReason::Error {
            self.end_retry(answer.error_message.clone()).await;
        }
        if self
            .check_context(CompactionPhase::AfterRun, answer, Some(&id), &results)
            .await
        {
            return !self.is_abort_requested();
        }
        !self.is_abort_requested() && self.0.agent.has_queued_messages()
    }

    /// Stores what waited for the end of the loop.
    async fn tidy_up(&self) {
        // Only a run that ends before its time leaves an attempt behind.
        self.cancel_retry().await;
        if self.live().run.storage_failed {
            // What the file did not take does not count here either.
            self.refresh_context_or_report("run");
        }
        self.flush_bash_messages();
        self.flush_custom_messages().await;
    }

    /// Begins to settle, in one step with the last look at the queues: what came in meanwhile is
    /// still of this run. False where it is not over.
    async fn begin_settling(&self, next: Next) -> bool {
        loop {
            self.wait_for_entrances().await;
            let mut live = self.live();
            if live.enqueuing > 0 {
                continue;
            }
            let is_cut_short = live.run.abort_requested || next == Next::End;
            if !is_cut_short && self.0.agent.has_queued_messages() {
                return false;
            }
            live.run.sections = None;
            live.run.forced_prompt = None;
            live.run.active = false;
            live.run.settling = true;
            return true;
        }
    }

    async fn settle(&self, mut claim: RunClaim) {
        // The claim ends with settling and not before, so that nobody is told of idleness early.
        claim.0 = None;
        self.publish_with_hooks(SessionEvent::AgentSettled).await;
        let deferred = {
            let mut live = self.live();
            live.run.settling = false;
            live.run.deferring = !live.deferred.is_empty();
            std::mem::take(&mut live.deferred)
        };
        // Those who wait for the end of settling alone look again.
        self.0.busy.send_modify(|_| {});
        for action in deferred {
            self.do_deferred(action).await;
        }
        self.live().run.deferring = false;
        self.settle_busy();
    }

    async fn do_deferred(&self, action: Deferred) {
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

    /// Waits for a free moment to prompt: settling is a matter of the listeners only.
    pub(super) async fn wait_until_settled(&self) {
        let mut busy = self.0.busy.subscribe();
        let core = Arc::clone(&self.0);
        let settled = busy.wait_for(|_| !super::lock(&core.live).run.settling);
        if settled.await.is_err() {
            tracing::debug!("the session is gone while waited for");
        }
    }
}
