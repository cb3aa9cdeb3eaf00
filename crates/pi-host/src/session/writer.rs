//! Changes the stored session, one change at a time.
//!
//! A change is made before the call returns: extensions expect it to be visible then, and no other request of the session
//! comes in between. In a process with several sessions, the tasks of the others continue on another thread meanwhile. A
//! single session has its thread for itself, since front ends have theirs, and handing it over would take longer than
//! most changes.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pi_extensions::is_on_extension_thread;
use pi_session::SessionError;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::transcript::Transcript;
use super::{AgentSession, SessionOutline};

/// Number of sessions in this process.
static SESSIONS: AtomicUsize = AtomicUsize::new(0);

/// Allows one change of a session at a time.
pub(super) struct WriteLock(Mutex<()>);

impl WriteLock {
    pub(super) fn new() -> Self {
        SESSIONS.fetch_add(1, Ordering::Relaxed);
        Self(Mutex::default())
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        SESSIONS.fetch_sub(1, Ordering::Relaxed);
    }
}

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
        let writing = &self.0.writing.0;
        let turn = writing
            .try_lock()
            .unwrap_or_else(|| leave_thread(|| writing.lock()));
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
            if transcript.is_taken() || self.session.0.is_fenced.load(Ordering::Relaxed) {
                return Err(SessionError::Closed);
            }
            let changed = change(&mut transcript);
            let outline = SessionOutline::of(transcript.session());
            let is_saved = outline.is_saved;
            let earlier = std::mem::replace(&mut *self.session.0.outline.lock(), outline);
            if is_saved && !earlier.is_saved {
                self.session.0.saved.notify_waiters();
            }
            changed
        })
    }
}

/// Runs work that may wait for the disk.
fn block<Data>(work: impl FnOnce() -> Data) -> Data {
    if SESSIONS.load(Ordering::Relaxed) > 1 {
        leave_thread(work)
    } else {
        work()
    }
}

/// Runs work while the other tasks of this thread continue on another one. Threads that run a single task, or no task of
/// this program, simply wait.
fn leave_thread<Data>(work: impl FnOnce() -> Data) -> Data {
    let is_shared = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if is_shared && !is_on_extension_thread() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}
