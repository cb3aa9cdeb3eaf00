//! WebSocket connections over the same TLS trust and proxy rules as HTTP.
//!
//! Text goes out, text comes in; pings are answered and binary messages read as text on the way.
//! All futures may be dropped at any await, which is how requests are cancelled.

use std::fmt;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use reqwest::Url;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use super::failure::{Route, Wait};
use super::http::{HttpClient, user_agent};
use super::tunnel::{self, Duplex};
use super::{headers, status};
use crate::env::Env;
use crate::error::ProviderError;
use crate::options::{HeaderOverrides, ResponseHead};

/// The largest message that is collected.
const LARGEST_MESSAGE: usize = 64 * 1024 * 1024;
/// How long the other side has to take note of a close.
const CLOSE_WAIT: Duration = Duration::from_secs(1);

/// An open WebSocket.
pub(crate) struct WebSocket {
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

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Incoming {
    Text(String),
    /// The other side closed the socket.
    Closed {
        /// The close code; 1005 when there was none.
        code: u16,
        /// The reason, often empty.
        reason: String,
    },
}

impl WebSocket {
    /// Connects and shakes hands within the limit; headers without a value are left out.
    ///
    /// A refused handshake is an error with the status and body of the refusal.
    pub(crate) async fn connect(
        http: &HttpClient,
        url: &str,
        headers: HeaderOverrides,
        env: &Env,
        limit: Option<Duration>,
    ) -> Result<(Self, ResponseHead), ProviderError> {
        let target = Url::parse(url)
            .ok()
            .filter(|url| matches!(url.scheme(), "ws" | "wss") && url.has_host())
            .ok_or_else(|| ProviderError::invalid("The address is not one of a WebSocket"))?;
        let proxy = http.proxy_for(&target, env)?;
        let route = Route::new(&target, proxy.as_ref());
        let connecting = shake_hands(http, &target, proxy.as_ref(), headers, route.clone());
        Wait::Connection.at_most(limit, &route, connecting).await?
    }

    /// Sends a text message.
    pub(crate) async fn send(&mut self, text: String) -> Result<(), ProviderError> {
        let sent = self.stream.send(Message::text(text)).await;
        sent.map_err(|error| self.failure(&error))
    }

    /// Waits for the next message, no longer than the limit; pings do not count.
    pub(crate) async fn receive(
        &mut self,
        limit: Option<Duration>,
    ) -> Result<Incoming, ProviderError> {
        let route = self.route.clone();
        Wait::NextPiece
            .at_most(limit, &route, self.next_message())
            .await?
    }

    async fn next_message(&mut self) -> Result<Incoming, ProviderError> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    return Ok(Incoming::Text(text.as_str().to_owned()));
                }
                Some(Ok(Message::Binary(bytes))) => {
                    return Ok(Incoming::Text(String::from_utf8_lossy(&bytes).into_owned()));
                }
                Some(Ok(Message::Close(frame))) => return Ok(closed(frame)),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Err(self.failure(&error)),
                None => {
                    return Err(ProviderError::network(format!(
                        "WebSocket closed: {} ended the connection",
                        self.route
                    )));
                }
            }
        }
    }

    /// Closes the socket, giving the other side a moment to take note.
    pub(crate) async fn close(mut self, code: u16, reason: &str) {
        let frame = CloseFrame {
            code: code.into(),
            reason: reason.into(),
        };
        let closing = self.stream.close(Some(frame));
        match tokio::time::timeout(CLOSE_WAIT, closing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a WebSocket did not close cleanly"),
            Err(_elapsed) => tracing::debug!("a WebSocket did not close in time"),
        }
    }

    fn failure(&self, error: &tungstenite::Error) -> ProviderError {
        let route = &self.route;
        match error {
            tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed => {
                ProviderError::network(format!("WebSocket closed: {route} ended the connection"))
            }
            tungstenite::Error::Io(error) => ProviderError::network(format!(
                "WebSocket error: the connection to {route} was lost ({error})"
            )),
            tungstenite::Error::Protocol(
                tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
            ) => ProviderError::network(format!("WebSocket closed: {route} cut the connection")),
            error => ProviderError::protocol(format!("WebSocket error: {route} sent {error}")),
        }
    }
}

fn closed(frame: Option<CloseFrame>) -> Incoming {
    match frame {
        Some(frame) => Incoming::Closed {
            code: frame.code.into(),
            reason: frame.reason.as_str().to_owned(),
        },
        None => Incoming::Closed {
            code: 1005,
            reason: String::new(),
        },
    }
}

async fn shake_hands(
    http: &HttpClient,
    target: &Url,
    proxy: Option<&Url>,
    own_headers: HeaderOverrides,
    route: Route,
) -> Result<(WebSocket, ResponseHead), ProviderError> {
    let mut all_headers = HeaderOverrides::new();
    all_headers.insert("user-agent".to_owned(), Some(user_agent()));
    headers::lay_over(&mut all_headers, own_headers);
    let mut request = target
        .as_str()
        .into_client_request()
        .map_err(|_invalid| ProviderError::invalid("The address is not one of a WebSocket"))?;
    request
        .headers_mut()
        .extend(headers::to_header_map(&all_headers)?);
    let socket = tunnel::open(http, target, proxy, &route).await?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST_MESSAGE))
        .max_frame_size(Some(LARGEST_MESSAGE));
    let shaken = tokio_tungstenite::client_async_with_config(request, socket, Some(config)).await;
    let (stream, response) = shaken.map_err(|error| refused(error, &route))?;
    let head = headers::response_head(response.status().as_u16(), response.headers());
    Ok((WebSocket { stream, route }, head))
}

fn refused(error: tungstenite::Error, route: &Route) -> ProviderError {
    let tungstenite::Error::Http(response) = error else {
        return ProviderError::network(format!(
            "WebSocket error: the handshake with {route} failed ({error})"
        ));
    };
    let head = headers::response_head(response.status().as_u16(), response.headers());
    let body = String::from_utf8_lossy(response.body().as_deref().unwrap_or_default());
    let class = status::classify_status(&head, &body);
    let message = format!(
        "WebSocket error: {route} refused the handshake: {} {body}",
        head.status
    );
    ProviderError::new(class, message.trim_end()).with_status(head.status)
}

#[cfg(test)]
mod tests;
