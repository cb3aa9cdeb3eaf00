//! Hands a session over to another process, which continues its run.

use std::sync::atomic::Ordering;

use pi_core::{Input, PromptOutcome};

use super::AgentSession;
use super::prompt::{PromptError, prompt_result};

/// Hands a session over to another process.
#[derive(Clone, Copy)]
pub struct Handover<'session>(&'session AgentSession);

impl<'session> Handover<'session> {
    pub fn of(session: &'session AgentSession) -> Self {
        Self(session)
    }

    /// Ends the run in progress after its current turn. Queued messages stay in the journal of the session file for the
    /// process that continues. Returns whether a run was in progress.
    pub async fn pause(self) -> bool {
        let was_running = !self.0.is_idle();
        let core = &self.0.0;
        core.is_handed_over.store(true, Ordering::Relaxed);
        core.control.interrupt(Input::Pause);
        self.0.wait_for_idle().await;
        was_running
    }

    /// Stores nothing more: another process owns the file. Queued messages stay in its journal.
    pub fn fence(self) {
        let core = &self.0.0;
        core.is_handed_over.store(true, Ordering::Relaxed);
        core.is_fenced.store(true, Ordering::Relaxed);
    }

    /// Releases the file of a session that was closed, so that another process can open it.
    pub fn release(self) {
        if let Err(error) = self.0.take_session() {
            tracing::warn!(%error, "cannot release the session file");
        }
    }

    /// Continues a run that another process has paused. Does nothing if the last message is a response and none is
    /// queued.
    pub async fn resume(self) -> Result<(), PromptError> {
        let mut reply = pi_core::submit(self.0, Input::Resume).reply().await;
        prompt_result(&mut reply).map(drop)
    }

    /// Continues a run whose process was killed. `begun` lists the calls that may have started.
    pub async fn resume_turn(self, begun: Vec<String>) -> Result<PromptOutcome, PromptError> {
        let mut reply = pi_core::submit(self.0, Input::ResumeTurn { begun })
            .reply()
            .await;
        prompt_result(&mut reply)
    }
}
