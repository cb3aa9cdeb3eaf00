//! The connection as the Codex protocol needs it, so that its rules can be tested without one.
//!
//! The real one is the transport's WebSocket.

use std::future::Future;
use std::time::Duration;

use crate::env::Env;
use crate::error::ProviderError;
use crate::options::HeaderOverrides;
use crate::transport::HttpClient;
use crate::transport::websocket::{Incoming, WebSocket};

/// The code that says goodbye without complaint.
const NORMAL_CLOSURE: u16 = 1000;

/// A connection that carries text messages both ways.
pub(crate) trait MessageSocket: std::fmt::Debug + Send + 'static {
    /// Sends a message.
    fn send(&mut self, text: String) -> impl Future<Output = Result<(), ProviderError>> + Send;

    /// Waits for the next message, no longer than the limit; the wait may be given up at any time
    /// without losing one.
    fn receive(
        &mut self,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Incoming, ProviderError>> + Send;

    /// Says goodbye and closes the connection.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// Opens connections.
pub(crate) trait SocketOpener: Send + Sync + 'static {
    /// What it opens.
    type Socket: MessageSocket;

    /// Opens a connection, within the limit.
    fn open(
        &self,
        http: &HttpClient,
        target: SocketTarget<'_>,
        env: &Env,
    ) -> impl Future<Output = Result<Self::Socket, ProviderError>> + Send;
}

/// Where a connection goes. Its headers hold secrets.
pub(crate) struct SocketTarget<'a> {
    pub url: &'a str,
    /// The headers of the handshake.
    pub headers: HeaderOverrides,
    /// How long opening it may take.
    pub limit: Option<Duration>,
}

/// Opens connections to the network.
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

    async fn receive(&mut self, limit: Option<Duration>) -> Result<Incoming, ProviderError> {
        Self::receive(self, limit).await
    }

    async fn close(self) {
        Self::close(self, NORMAL_CLOSURE, "done").await;
    }
}
