//! Hands a session over to another process, which continues its run.

use std::sync::atomic::Ordering;

use pi_core::Input;

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
}
