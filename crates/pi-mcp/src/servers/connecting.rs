//! Connects to servers in the background and follows their connections.

use std::sync::Arc;

use pi_protocol::McpState;
use tokio::sync::watch;

use super::{ManagedServer, ReportScope, ServersState};
use crate::connection::{ConnectionOptions, McpConnection};

impl ServersState {
    /// Connects to servers in the background, then reports problems.
    pub(super) fn connect_all(self: &Arc<Self>, names: &[String], scope: ReportScope) {
        let attempts: Vec<_> = names
            .iter()
            .map(|name| self.start_connection(name))
            .collect();
        let (done, reported) = watch::channel(false);
        self.inner().reported = Some(reported);
        let state = Arc::clone(self);
        self.tasks.spawn(async move {
            for mut ready in attempts {
                ready.wait_for(|ready| *ready).await.ok();
            }
            let only = match &scope {
                ReportScope::Everything => None,
                ReportScope::Servers(names) => Some(names.as_slice()),
            };
            state.report_problems(only).await;
            done.send_replace(true);
        });
    }

    /// Starts to connect to a server; the result becomes true when the attempt has ended.
    pub(super) fn start_connection(self: &Arc<Self>, name: &str) -> watch::Receiver<bool> {
        let (done, ready) = watch::channel(false);
        let mut inner = self.inner();
        inner.next_attempt += 1;
        let attempt = inner.next_attempt;
        let session = inner.session.clone();
        let has_elicitation = inner.has_elicitation;
        let Some(server) = inner.find_mut(name) else {
            done.send_replace(true);
            return ready;
        };
        server.attempt = attempt;
        server.ready = Some(ready.clone());
        let options = ConnectionOptions {
            has_elicitation,
            ..self.connector.options(&server.configured, session)
        };
        let pooled = self.options.pool.acquire(options);
        let connection = pooled.connection().clone();
        let replaced = server.connection.replace(pooled);
        drop(inner);
        self.changed();
        let (state, name) = (Arc::clone(self), name.to_owned());
        self.tasks.spawn(async move {
            if let Some(replaced) = replaced {
                replaced.release().await;
            }
            if connection.waits_for_use() {
                state.register_tools(&name);
                state.changed();
                done.send_replace(true);
                state.follow(&name, &connection).await;
                return;
            }
            // The outcome is in the status of the connection.
            let outcome = connection.connect().await;
            state.connection_changed(&name, &connection);
            if let Err(error) = outcome {
                tracing::debug!(%error, server = name, "cannot connect to an MCP server");
            }
            done.send_replace(true);
            state.prompts_changed(&name, &connection).await;
            state.follow(&name, &connection).await;
        });
        ready
    }

    /// Reads the prompts of a server again if they changed. Only a user at a screen sees commands before using them.
    async fn prompts_changed(&self, name: &str, connection: &McpConnection) {
        let version = connection.status().prompts_version;
        let is_new = {
            let mut inner = self.inner();
            let has_screen = inner.session.as_ref().is_some_and(|it| it.has_screen());
            let server = inner.find_mut(name).filter(|_| has_screen);
            server.is_some_and(|server| {
                std::mem::replace(&mut server.prompts_version, version) != version
            })
        };
        if is_new && let Err(problem) = self.load_prompts(name, connection).await {
            tracing::debug!(problem, "cannot list prompts");
        }
    }

    /// Applies changes of a connection until another one replaces it.
    async fn follow(self: &Arc<Self>, name: &str, connection: &McpConnection) {
        let mut status = connection.watch();
        let mut known = status.borrow().clone();
        let mut others = self.changes.subscribe();
        loop {
            // Checked before waiting: the session may have ended while the server connected.
            let is_current = {
                let inner = self.inner();
                let live = inner.find(name).and_then(ManagedServer::live);
                live.is_some_and(|live| live.is_same(connection))
            };
            if !is_current {
                return;
            }
            tokio::select! {
                changed = status.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let current = status.borrow_and_update().clone();
                    let is_list = known.state == McpState::Connected
                        && current.state == McpState::Connected
                        && !Arc::ptr_eq(&known.tools, &current.tools);
                    known = current;
                    if is_list {
                        self.list_changed(name, connection);
                    } else {
                        self.connection_changed(name, connection);
                    }
                    self.prompts_changed(name, connection).await;
                }
                _ = others.changed() => {}
            }
        }
    }
}
