//! The sessions that a host keeps while clients attach and detach.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::session_handle::{Attachment, SessionHandle};
use crate::connection::ClientUi;
use crate::runtime::{SessionRuntime, StartError};
use crate::session::{AgentSession, LiveClients};

#[derive(Default)]
pub(super) struct LiveSessions {
    kept: Mutex<Vec<KeptSession>>,
    /// One lock per session that is being opened or closed.
    turns: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    /// Counts the operations that open or close sessions.
    operations: TaskTracker,
    /// Canceled when the host shuts down: nothing is opened from then on.
    closing: CancellationToken,
    /// Changes when a session is opened or closed.
    changes: watch::Sender<u64>,
}

struct KeptSession {
    runtime: SessionRuntime,
    client_ui: Option<ClientUi>,
    attachment: Weak<Attachment>,
    last_used: Arc<Mutex<Instant>>,
}

impl KeptSession {
    fn attach(&mut self) -> SessionHandle {
        let attachment = self.attachment.upgrade().unwrap_or_else(|| {
            let attachment = Arc::new(Attachment::new(Arc::clone(&self.last_used)));
            self.attachment = Arc::downgrade(&attachment);
            attachment
        });
        SessionHandle::new(self.runtime.clone(), self.client_ui.clone(), attachment)
    }

    /// Whether this session had no client and nothing to do for `limit`, as far as earlier calls have seen it.
    fn is_idle_for(&self, limit: Duration) -> bool {
        let mut last_used = self.last_used.lock();
        if self.attachment.strong_count() > 0 || !is_quiet(&self.runtime.session()) {
            *last_used = Instant::now();
        }
        last_used.elapsed() >= limit
    }
}

impl LiveSessions {
    /// Begins to open or close a session; ends when dropped. Shutting down waits for it.
    pub(super) fn begin_operation(&self) -> TaskTrackerToken {
        self.operations.token()
    }

    /// Opens a session. That is canceled, or not even begun, if the host shuts down.
    pub(super) async fn open(
        &self,
        opening: BoxFuture<'_, Result<SessionRuntime, StartError>>,
        client_ui: Option<ClientUi>,
    ) -> Result<SessionHandle, StartError> {
        let opened = self.closing.run_until_cancelled(opening).await;
        Ok(self.keep(opened.ok_or(StartError::HostShutDown)??, client_ui))
    }

    /// Watches for sessions that are opened or closed.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn notify(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Refuses to open sessions from now on, and waits until none is being opened or closed.
    pub(super) async fn close(&self) {
        self.closing.cancel();
        self.operations.close();
        self.operations.wait().await;
    }

    fn keep(&self, runtime: SessionRuntime, client_ui: Option<ClientUi>) -> SessionHandle {
        let mut session = KeptSession {
            runtime,
            client_ui,
            attachment: Weak::new(),
            last_used: Arc::new(Mutex::new(Instant::now())),
        };
        let handle = session.attach();
        let mut kept = self.kept.lock();
        // A client may have shut its session down.
        kept.retain(|session| !session.runtime.ended().is_cancelled());
        kept.push(session);
        drop(kept);
        self.notify();
        handle
    }

    pub(super) fn attach(&self, id: &str) -> Option<SessionHandle> {
        let mut kept = self.kept.lock();
        // A client may have shut its session down.
        kept.retain(|session| !session.runtime.ended().is_cancelled());
        let session = kept.iter_mut().find(|session| has_id(session, id))?;
        Some(session.attach())
    }

    pub(super) fn sessions(&self) -> Vec<AgentSession> {
        let kept = self.kept.lock();
        let live = kept
            .iter()
            .filter(|session| !session.runtime.ended().is_cancelled());
        live.map(|session| session.runtime.session()).collect()
    }

    /// Returns the IDs of the sessions that may be closed.
    pub(super) fn idle(&self, limit: Duration) -> Vec<String> {
        let kept = self.kept.lock();
        let idle = kept.iter().filter(|session| session.is_idle_for(limit));
        idle.map(|session| session.runtime.session().session_id())
            .collect()
    }

    /// Removes a session if it may still be closed.
    pub(super) fn take_idle(&self, id: &str, limit: Duration) -> Option<SessionRuntime> {
        let mut kept = self.kept.lock();
        let position = kept
            .iter()
            .position(|session| has_id(session, id) && session.is_idle_for(limit))?;
        let runtime = kept.swap_remove(position).runtime;
        drop(kept);
        self.notify();
        Some(runtime)
    }

    /// Removes a session.
    pub(super) fn take(&self, id: &str) -> Option<SessionRuntime> {
        let mut kept = self.kept.lock();
        let position = kept.iter().position(|session| has_id(session, id))?;
        let runtime = kept.swap_remove(position).runtime;
        drop(kept);
        self.notify();
        Some(runtime)
    }

    pub(super) fn take_all(&self) -> Vec<SessionRuntime> {
        let kept = std::mem::take(&mut *self.kept.lock());
        kept.into_iter().map(|session| session.runtime).collect()
    }

    /// Waits until no one else opens or closes the session.
    pub(super) async fn lock(&self, id: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock();
            turns.retain(|_, turn| turn.strong_count() > 0);
            let known = turns.get(id).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let turn = Arc::default();
                turns.insert(id.to_owned(), Arc::downgrade(&turn));
                turn
            })
        };
        turn.lock_owned().await
    }
}

/// Whether closing the session would interrupt or lose nothing: it is idle, no message is queued, no shell command runs,
/// no request waits for an answer and no other process follows it.
fn is_quiet(session: &AgentSession) -> bool {
    session.is_idle()
        && session.queue().message_count() == 0
        && !session.user_commands().is_running()
        && session.requests().pending().is_empty()
        && LiveClients::of(session).count() == 0
}

fn has_id(session: &KeptSession, id: &str) -> bool {
    session.runtime.session().session_id() == id
}
