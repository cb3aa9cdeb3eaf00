//! Opens a connection: starts the transport, makes the handshake and lists the tools.

use std::sync::Arc;

use pi_protocol::{McpState, McpTransport};

use super::observer::ConnectionObserver;
use super::{ConnectionOptions, ConnectionState, ConnectionStatus, RETRY_DELAYS};
use crate::catalog::CatalogEntry;
use crate::client::{Client, ListKind, RequestOptions};
use crate::error::McpError;
use crate::http::HttpTransport;
use crate::stdio::StdioTransport;
use crate::transport::{Transport, WeakInbox};

impl ConnectionState {
    /// Connects; an HTTP server is tried again after transient errors.
    pub(super) async fn open(self: Arc<Self>) -> Result<Client, McpError> {
        self.set_state(McpState::Connecting, None);
        let mut delays = match &self.options.spec.transport {
            McpTransport::Http(_) => RETRY_DELAYS.iter(),
            McpTransport::Stdio(_) => [].iter(),
        };
        let result = loop {
            let failure = match self.connect_once().await {
                Ok(client) => break Ok(client),
                Err(failure) => failure,
            };
            let Some(delay) = delays.next().filter(|_| failure.error.is_transient()) else {
                break Err(failure);
            };
            let slept = self.closing.run_until_cancelled(tokio::time::sleep(*delay));
            if slept.await.is_none() {
                break Err(failure);
            }
        };
        self.live().opening = None;
        result.map_err(|failure| self.connect_failed(failure))
    }

    fn connect_failed(&self, failure: ConnectFailure) -> McpError {
        let is_closed = self.closing.is_cancelled();
        if failure.error == McpError::Unauthorized && self.options.auth.is_some() && !is_closed {
            self.set_state(McpState::NeedsAuth, None);
            return self.sign_in_needed();
        }
        let mut text = failure.error.to_string();
        if let Some(output) = failure.error_output {
            text.push('\n');
            text.push_str(&output);
        }
        if !is_closed {
            self.set_state(McpState::Failed, Some(text.clone()));
        }
        let name = &self.options.spec.name;
        McpError::Reported(format!("MCP server \"{name}\" failed to connect: {text}"))
    }

    async fn connect_once(self: &Arc<Self>) -> Result<Client, ConnectFailure> {
        let generation = {
            let mut live = self.live();
            live.generation += 1;
            live.generation
        };
        let options = &self.options;
        let observer = ConnectionObserver {
            connection: Arc::downgrade(self),
            generation,
        };
        let timeout = options.spec.timeout;
        let client = match &options.spec.transport {
            McpTransport::Stdio(command) => {
                let command = self.resolve_command(command).await?;
                Client::start(&options.cwd, Box::new(observer), |inbox: WeakInbox| {
                    let transport = StdioTransport::start(command, inbox)?;
                    Ok(Box::new(transport) as Box<dyn Transport>)
                })?
            }
            McpTransport::Http(endpoint) => {
                let target = self.resolve_endpoint(endpoint).await?;
                Client::start(&options.cwd, Box::new(observer), |inbox: WeakInbox| {
                    Ok(Box::new(HttpTransport::new(target, inbox)) as Box<dyn Transport>)
                })?
            }
        };
        let setup = async {
            let info = Box::pin(self.negotiate(&client)).await?;
            let tools = if info.has_tools {
                let options = RequestOptions::new(timeout);
                client.list_all(ListKind::Tools, &options).await?
            } else {
                Vec::new()
            };
            Ok::<_, McpError>((info, tools))
        };
        let outcome = self.closing.run_until_cancelled(setup).await;
        match outcome.unwrap_or(Err(McpError::Closed)) {
            Ok((info, tools)) if client.is_connected() && !self.closing.is_cancelled() => {
                self.live().client = Some(client.clone());
                self.status.send_modify(|status| {
                    *status = ConnectionStatus {
                        state: McpState::Connected,
                        error: None,
                        tools: Arc::new(tools),
                        has_resources: info.has_resources,
                        has_prompts: info.has_prompts,
                        has_completions: info.has_completions,
                        prompts_version: status.prompts_version + 1,
                        instructions: info.instructions,
                    };
                });
                self.remember(info.is_modern);
                self.stop_when_idle(&client);
                Ok(client)
            }
            Ok(_) => Err(close_failed(&client, McpError::Closed).await),
            Err(error) => Err(close_failed(&client, error).await),
        }
    }

    /// Returns what is known about the server from earlier connections.
    pub(super) fn catalog_entry(&self) -> Option<CatalogEntry> {
        self.options.catalog.load(&self.options.spec)
    }

    /// Remembers what the next start needs.
    fn remember(&self, is_modern: bool) {
        let ConnectionOptions { spec, catalog, .. } = &self.options;
        let status = self.status.borrow().clone();
        match CatalogEntry::of(spec, is_modern, &status) {
            Some(entry) => catalog.store(spec, &entry),
            // It was updated to a version with a handshake only.
            None => {
                if self.catalog_entry().is_some_and(|known| known.is_modern) {
                    catalog.store(spec, &CatalogEntry::default());
                }
            }
        }
    }
}

/// Why no connection was made.
struct ConnectFailure {
    error: McpError,
    /// What a child process wrote to its standard error.
    error_output: Option<String>,
}

impl From<McpError> for ConnectFailure {
    fn from(error: McpError) -> Self {
        Self {
            error,
            error_output: None,
        }
    }
}

async fn close_failed(client: &Client, error: McpError) -> ConnectFailure {
    client.close().await;
    ConnectFailure {
        error,
        error_output: client.error_output(),
    }
}
