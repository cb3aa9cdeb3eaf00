//! Changes the stored session, one change at a time; on a multi-thread runtime, on a thread that may block.

use std::panic::resume_unwind;

use pi_session::SessionError;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::MutexGuard;

use super::AgentSession;
use super::transcript::Transcript;

/// The right to change the session. What depends on a change, such as the selected model, is updated before it is
/// dropped, so that file and memory agree. Hooks and listeners may write: do not await them meanwhile.
pub(super) struct SessionWriter<'session> {
    session: &'session AgentSession,
    _turn: MutexGuard<'session, ()>,
}

impl AgentSession {
    /// Waits for the right to change the session.
    pub(super) async fn writer(&self) -> SessionWriter<'_> {
        SessionWriter {
            session: self,
            _turn: self.0.writing.lock().await,
        }
    }
}

impl SessionWriter<'_> {
    /// Performs a change. It completes even if the caller goes away.
    pub(super) async fn write<Data: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut Transcript) -> Result<Data, SessionError> + Send + 'static,
    ) -> Result<Data, SessionError> {
        let session = self.session.clone();
        if may_block() || session.0.transcript().session().path().is_none() {
            return change(&mut session.0.transcript());
        }
        let writing = tokio::task::spawn_blocking(move || change(&mut session.0.transcript()));
        match writing.await {
            Ok(result) => result,
            Err(failure) => match failure.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The process is exiting, and this task with it.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

/// Whether the program has a single thread for its tasks. Then the change is made at once: extensions expect it to be
/// visible when their call returns.
fn may_block() -> bool {
    Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::CurrentThread)
}
