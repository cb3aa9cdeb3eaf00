//! Changes the stored session, one change at a time.
//!
//! A change is made before the call returns: extensions expect it to be visible then, and no other request of the session
//! comes in between. On a multi-thread runtime, the other tasks of the thread continue on another one meanwhile.

use std::sync::{MutexGuard, TryLockError};

use pi_extensions::is_on_extension_thread;
use pi_session::SessionError;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::transcript::Transcript;
use super::{AgentSession, SessionOutline, lock};

/// The right to change the session. What depends on a change, such as the selected model, is updated before it is
/// dropped, so that file and memory agree. Hooks and listeners may write, so they must not be awaited meanwhile; the
/// compiler rejects that in a task, because this is not `Send`.
pub(super) struct SessionWriter<'session> {
    session: &'session AgentSession,
    _turn: MutexGuard<'session, ()>,
}

impl AgentSession {
    /// Waits for the right to change the session.
    pub(super) fn writer(&self) -> SessionWriter<'_> {
        let turn = match self.0.writing.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => block(|| lock(&self.0.writing)),
        };
        SessionWriter {
            session: self,
            _turn: turn,
        }
    }
}

impl SessionWriter<'_> {
    pub(super) fn write<Data>(
        &mut self,
        change: impl FnOnce(&mut Transcript) -> Result<Data, SessionError>,
    ) -> Result<Data, SessionError> {
        block(|| {
            let mut transcript = self.session.0.transcript();
            if transcript.is_taken() {
                return Err(SessionError::Closed);
            }
            let changed = change(&mut transcript);
            *lock(&self.session.0.outline) = SessionOutline::of(transcript.session());
            changed
        })
    }
}

/// Runs work that may wait for the disk. Threads that run a single task, or no task of this program, simply wait.
fn block<Data>(work: impl FnOnce() -> Data) -> Data {
    let is_shared = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if is_shared && !is_on_extension_thread() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}
