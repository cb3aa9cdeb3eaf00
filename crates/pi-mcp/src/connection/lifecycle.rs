//! Chooses how a connection starts: with a handshake, or without one since 2026-07-28.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::select_ok;
use pi_protocol::{JsonRpcError, McpProtocol, McpTransport};
use serde_json::{Value, json};

use super::ConnectionState;
use crate::client::{Client, ServerInfo};
use crate::error::{MODERN_ERRORS, McpError};

/// How long a child process may take to answer before the handshake is tried as well.
const DISCOVERY_PATIENCE: Duration = Duration::from_secs(1);

impl ConnectionState {
    /// Starts a connection the way its configuration or the last connection did, and the other way if that is rejected.
    pub(super) async fn negotiate(&self, client: &Client) -> Result<ServerInfo, McpError> {
        let starts_modern = match self.options.spec.lifecycle.protocol {
            McpProtocol::Legacy => return self.initialize(client).await,
            McpProtocol::Modern => true,
            McpProtocol::Auto => self.catalog_entry().is_some_and(|entry| entry.is_modern),
        };
        let is_child = matches!(self.options.spec.transport, McpTransport::Stdio(_));
        if starts_modern && is_child {
            return self.discover_or_initialize(client).await;
        }
        let first = if starts_modern {
            self.discover(client).await
        } else {
            self.initialize(client).await
        };
        let error = match first {
            Err(error) if starts_modern && is_rejection(&error) => error,
            Err(error) if rejects_handshake(&error) => error,
            outcome => return outcome,
        };
        let second = if starts_modern {
            self.initialize(client).await
        } else {
            self.discover(client).await
        };
        second.map_err(|second| {
            if starts_modern || second == McpError::Unauthorized {
                second
            } else {
                error
            }
        })
    }

    /// Some children ignore what they do not know. Those get a handshake after a moment, and the first success decides.
    async fn discover_or_initialize(&self, client: &Client) -> Result<ServerInfo, McpError> {
        let mut discovery = self.discover(client).boxed();
        tokio::select! {
            outcome = &mut discovery => match outcome {
                Err(error) if is_rejection(&error) => return self.initialize(client).await,
                outcome => return outcome,
            },
            () = tokio::time::sleep(DISCOVERY_PATIENCE) => {}
        }
        let handshake = self.initialize(client).boxed();
        let first = select_ok([discovery, handshake]).await;
        first.map(|(info, _)| info)
    }

    async fn initialize(&self, client: &Client) -> Result<ServerInfo, McpError> {
        let timeout = self.options.spec.timeout;
        client.initialize(self.capabilities(), timeout).await
    }

    async fn discover(&self, client: &Client) -> Result<ServerInfo, McpError> {
        let timeout = self.options.spec.timeout;
        client.discover(self.capabilities(), timeout).await
    }

    /// Returns what the client offers to the server.
    fn capabilities(&self) -> Value {
        let mut capabilities = json!({"roots": {}});
        let offers = [
            (
                "elicitation",
                self.options.has_elicitation,
                json!({"form": {}, "url": {}}),
            ),
            ("sampling", self.options.has_sampling, json!({})),
        ];
        if let Value::Object(capabilities) = &mut capabilities {
            for (name, is_offered, value) in offers {
                if is_offered {
                    capabilities.insert(name.to_owned(), value);
                }
            }
        }
        capabilities
    }
}

/// Whether a server may know only connections without a handshake.
fn rejects_handshake(error: &McpError) -> bool {
    match error {
        McpError::Rpc { code, .. } => {
            MODERN_ERRORS.contains(code) || *code == JsonRpcError::METHOD_NOT_FOUND
        }
        _ => false,
    }
}

/// Whether a server may know only connections with a handshake.
fn is_rejection(error: &McpError) -> bool {
    match error {
        McpError::Rpc { .. } | McpError::Protocol(_) => true,
        McpError::Http { status, .. } => matches!(status, 400 | 404 | 405 | 406 | 415),
        _ => false,
    }
}
