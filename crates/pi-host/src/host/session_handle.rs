//! A client's hold on a session that the host keeps.

use std::sync::Arc;

use parking_lot::Mutex;
use pi_core::Observer;
use pi_protocol::{Ack, Command, Cursor, Rejected, Snapshot};
use tokio::time::Instant;

use crate::connection::ClientUi;
use crate::runtime::SessionRuntime;
use crate::session::AgentSession;

/// Attaches a client to a session. The host keeps the session as long as a handle exists.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    runtime: SessionRuntime,
    client_ui: Option<ClientUi>,
    _attachment: Arc<Attachment>,
}

/// Exists while clients are attached; records when the last one has detached.
#[derive(Debug)]
pub(super) struct Attachment {
    last_used: Arc<Mutex<Instant>>,
}

impl Attachment {
    pub(super) fn new(last_used: Arc<Mutex<Instant>>) -> Self {
        Self { last_used }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let mut last_used = self.last_used.lock();
        *last_used = Instant::now();
    }
}

impl SessionHandle {
    pub(super) fn new(
        runtime: SessionRuntime,
        client_ui: Option<ClientUi>,
        attachment: Arc<Attachment>,
    ) -> Self {
        Self {
            runtime,
            client_ui,
            _attachment: attachment,
        }
    }

    /// Returns a handle to a session that a front end owns. It does not keep the session open.
    pub fn of_owned(runtime: SessionRuntime) -> Self {
        let last_used = Arc::new(Mutex::new(Instant::now()));
        Self::new(runtime, None, Arc::new(Attachment::new(last_used)))
    }

    /// Returns the ID of the current session; it changes when the session is replaced.
    pub fn id(&self) -> String {
        self.session().session_id()
    }

    pub fn session(&self) -> AgentSession {
        self.runtime.session()
    }

    /// Executes a command. Resolves when it is executed or, for a prompt, accepted; events report the rest.
    pub async fn submit(&self, command: Command) -> Result<Ack, Rejected> {
        self.runtime.submit(command).await
    }

    /// Returns what shows notices of extensions to clients, if the session was opened with it.
    pub fn client_ui(&self) -> Option<ClientUi> {
        self.client_ui.clone()
    }

    /// Returns the operations that replace the session.
    pub fn runtime(&self) -> &SessionRuntime {
        &self.runtime
    }

    /// Returns the current state; observe its cursor to follow the changes.
    pub fn snapshot(&self) -> Snapshot {
        self.session().snapshot()
    }

    /// Observes the events after a position, or those from now on, without ever delaying the session.
    pub fn observe(&self, from: Option<Cursor>) -> Observer {
        self.session().observe(from)
    }
}
