//! Abstracts the connection for the Codex protocol, so its rules can be tested without a network.
//!
//! The production implementation is the transport's WebSocket.

use std::future::Future;
use std::time::Duration;

use pi_env::Env;
use pi_http::{HeaderOverrides, HttpClient, WebSocket, WebSocketMessage};
use pi_protocol::ProviderError;

const NORMAL_CLOSURE: u16 = 1000;

/// A connection that carries text messages in both directions.
pub(crate) trait MessageSocket: std::fmt::Debug + Send + 'static {
    fn send(&mut self, text: String) -> impl Future<Output = Result<(), ProviderError>> + Send;

    /// Waits for the next message, at most for `limit`. Cancel-safe: no message is lost if the future
    /// is dropped.
    fn receive(
        &mut self,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<WebSocketMessage, ProviderError>> + Send;

    /// Closes the connection normally.
    fn close(self) -> impl Future<Output = ()> + Send;
}

pub(crate) trait SocketOpener: Send + Sync + 'static {
    type Socket: MessageSocket;

    /// Opens a connection within the target's limit.
    fn open(
        &self,
        http: &HttpClient,
        target: SocketTarget<'_>,
        env: &Env,
    ) -> impl Future<Output = Result<Self::Socket, ProviderError>> + Send;
}

/// Where to connect. The headers hold secrets.
pub(crate) struct SocketTarget<'a> {
    pub url: &'a str,
    pub headers: HeaderOverrides,
    /// Timeout for opening the connection.
    pub limit: Option<Duration>,
}

/// Opens real WebSocket connections.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NetworkSockets;

impl SocketOpener for NetworkSockets {
    type Socket = WebSocket;

    async fn open(
        &self,
        http: &HttpClient,
        target: SocketTarget<'_>,
        env: &Env,
    ) -> Result<WebSocket, ProviderError> {
        let SocketTarget {
            url,
            headers,
            limit,
        } = target;
        let (socket, _head) = WebSocket::connect(http, url, headers, env, limit).await?;
        Ok(socket)
    }
}

impl MessageSocket for WebSocket {
    async fn send(&mut self, text: String) -> Result<(), ProviderError> {
        Self::send(self, text).await
    }

    async fn receive(
        &mut self,
        limit: Option<Duration>,
    ) -> Result<WebSocketMessage, ProviderError> {
        Self::receive(self, limit).await
    }

    async fn close(self) {
        Self::close(self, NORMAL_CLOSURE, "done").await;
    }
}
