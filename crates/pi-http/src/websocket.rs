//! WebSocket connections with the same TLS trust and proxy rules as HTTP.
//!
//! Messages are text in both directions; pings are answered internally and binary messages are
//! decoded as text. All futures are cancel-safe at any await, which is how requests are canceled.

use std::fmt;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use pi_env::Env;
use pi_protocol::ProviderError;
use reqwest::Url;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use super::client::{HttpClient, user_agent};
use super::network_error::{Route, TimeoutKind};
use super::tunnel::{self, Duplex};
use super::{headers, status};
use crate::{HeaderOverrides, ResponseHead};

const MAX_MESSAGE: usize = 64 * 1024 * 1024;
/// How long to wait for the peer to acknowledge a close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

pub struct WebSocket {
    stream: WebSocketStream<Box<dyn Duplex>>,
    route: Route,
}

impl fmt::Debug for WebSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WebSocket")
            .field("route", &self.route)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebSocketMessage {
    Text(String),
    /// The peer closed the socket.
    Closed {
        /// The close code; 1005 when there was none.
        code: u16,
        reason: String,
    },
}

impl WebSocket {
    /// Connects and completes the handshake within the limit; headers without a value are omitted.
    ///
    /// A rejected handshake is an error with the status and body of the response.
    pub async fn connect(
        http: &HttpClient,
        url: &str,
        headers: HeaderOverrides,
        env: &Env,
        limit: Option<Duration>,
    ) -> Result<(Self, ResponseHead), ProviderError> {
        let target = Url::parse(url)
            .ok()
            .filter(|url| matches!(url.scheme(), "ws" | "wss") && url.has_host())
            .ok_or_else(|| ProviderError::invalid("Not a WebSocket URL"))?;
        let proxy = http.proxy_for(&target, env)?;
        let route = Route::new(&target, proxy.as_ref());
        let handshake = handshake(http, &target, proxy.as_ref(), headers, route.clone());
        TimeoutKind::Connect
            .enforce(limit, &route, handshake)
            .await?
    }

    pub async fn send(&mut self, text: String) -> Result<(), ProviderError> {
        let sent = self.stream.send(Message::text(text)).await;
        sent.map_err(|error| self.socket_error(&error))
    }

    /// Waits for the next message, at most for `limit`; pings do not reset the timer.
    pub async fn receive(
        &mut self,
        limit: Option<Duration>,
    ) -> Result<WebSocketMessage, ProviderError> {
        let route = self.route.clone();
        TimeoutKind::Idle
            .enforce(limit, &route, self.next_message())
            .await?
    }

    async fn next_message(&mut self) -> Result<WebSocketMessage, ProviderError> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    return Ok(WebSocketMessage::Text(text.as_str().to_owned()));
                }
                Some(Ok(Message::Binary(bytes))) => {
                    return Ok(WebSocketMessage::Text(
                        String::from_utf8_lossy(&bytes).into_owned(),
                    ));
                }
                Some(Ok(Message::Close(frame))) => return Ok(close_message(frame)),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Err(self.socket_error(&error)),
                None => {
                    return Err(ProviderError::network(format!(
                        "WebSocket closed: {} closed the connection",
                        self.route
                    )));
                }
            }
        }
    }

    /// Closes the socket and briefly waits for the peer to acknowledge.
    pub async fn close(mut self, code: u16, reason: &str) {
        let frame = CloseFrame {
            code: code.into(),
            reason: reason.into(),
        };
        let closing = self.stream.close(Some(frame));
        match tokio::time::timeout(CLOSE_TIMEOUT, closing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "WebSocket did not close cleanly"),
            Err(_elapsed) => tracing::debug!("WebSocket did not close in time"),
        }
    }

    fn socket_error(&self, error: &tungstenite::Error) -> ProviderError {
        let route = &self.route;
        match error {
            tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed => {
                ProviderError::network(format!("WebSocket closed: {route} closed the connection"))
            }
            tungstenite::Error::Io(error) => ProviderError::network(format!(
                "WebSocket error: lost the connection to {route} ({error})"
            )),
            tungstenite::Error::Protocol(
                tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
            ) => {
                ProviderError::network(format!("WebSocket closed: {route} dropped the connection"))
            }
            error => ProviderError::protocol(format!("WebSocket error: {route} sent {error}")),
        }
    }
}

fn close_message(frame: Option<CloseFrame>) -> WebSocketMessage {
    match frame {
        Some(frame) => WebSocketMessage::Closed {
            code: frame.code.into(),
            reason: frame.reason.as_str().to_owned(),
        },
        None => WebSocketMessage::Closed {
            code: 1005,
            reason: String::new(),
        },
    }
}

async fn handshake(
    http: &HttpClient,
    target: &Url,
    proxy: Option<&Url>,
    extra_headers: HeaderOverrides,
    route: Route,
) -> Result<(WebSocket, ResponseHead), ProviderError> {
    let mut all_headers = HeaderOverrides::new();
    all_headers.insert("user-agent".to_owned(), Some(user_agent()));
    headers::merge_headers(&mut all_headers, extra_headers);
    let mut request = target
        .as_str()
        .into_client_request()
        .map_err(|_invalid| ProviderError::invalid("Not a WebSocket URL"))?;
    request
        .headers_mut()
        .extend(headers::to_header_map(&all_headers)?);
    let socket = tunnel::open(http, target, proxy, &route).await?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
    let result = tokio_tungstenite::client_async_with_config(request, socket, Some(config)).await;
    let (stream, response) = result.map_err(|error| handshake_error(error, &route))?;
    let head = headers::response_head(response.status().as_u16(), response.headers());
    Ok((WebSocket { stream, route }, head))
}

fn handshake_error(error: tungstenite::Error, route: &Route) -> ProviderError {
    let tungstenite::Error::Http(response) = error else {
        return ProviderError::network(format!(
            "WebSocket error: the handshake with {route} failed ({error})"
        ));
    };
    let head = headers::response_head(response.status().as_u16(), response.headers());
    let body = String::from_utf8_lossy(response.body().as_deref().unwrap_or_default());
    let class = status::classify_status(&head, &body);
    let message = format!(
        "WebSocket error: {route} rejected the handshake: {} {body}",
        head.status
    );
    ProviderError::new(class, message.trim_end()).with_status(head.status)
}

#[cfg(test)]
mod tests;
