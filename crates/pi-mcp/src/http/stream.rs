//! Event streams: the responses to requests, and the messages that belong to none.

use std::sync::Arc;
use std::time::Duration;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method};
use pi_protocol::{JsonRpcError, JsonRpcMessage};
use reqwest::Response;
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::response::content_type;
use super::{EVENT_STREAM, HttpState, LAST_EVENT_ID};
use crate::error::{McpError, is_transient_status};
use crate::event_stream::{EventDecoder, StreamPosition};

/// How often a broken stream is opened again without a new event.
const MAX_REOPENS: u32 = 5;

/// Delay before a stream is opened again; doubled every time.
const FIRST_REOPEN_DELAY: Duration = Duration::from_secs(1);

const MAX_REOPEN_DELAY: Duration = Duration::from_secs(30);

/// How long other requests wait for the message stream. Some servers send no headers before the first message.
const FIRST_OPEN_PATIENCE: Duration = Duration::from_secs(1);

impl HttpState {
    /// Reads the stream of a response until it has arrived; a stream that breaks is resumed.
    pub(super) async fn read_response(&self, response: Response, request_id: Value) {
        let mut position = StreamPosition::default();
        let mut stream = Some(response);
        let mut reopens = 0;
        let failure = loop {
            let mut failure = None;
            if let Some(stream) = stream.take() {
                match self
                    .read_stream(stream, &mut position, Some(&request_id))
                    .await
                {
                    Ok(StreamEnd::Answered) => return,
                    Ok(StreamEnd::Closed) => {}
                    Err(error) if error.is_transient() => failure = Some(error),
                    Err(error) => break Some(error),
                }
            }
            let Some(id) = position.last_event_id.clone() else {
                break failure;
            };
            if std::mem::take(&mut position.has_events) {
                reopens = 0;
            }
            if reopens >= MAX_REOPENS {
                break failure;
            }
            tokio::time::sleep(reopen_delay(reopens, position.retry)).await;
            reopens += 1;
            match self.open_stream(Some(&id)).await {
                Ok(opened) => stream = opened,
                Err(error) if is_reopenable(&error) => {}
                Err(error) => break Some(error),
            }
        };
        let reason = failure.map_or_else(
            || "it ended without a response".to_owned(),
            |error| error.to_string(),
        );
        let text = format!("the response stream of the MCP server failed: {reason}");
        let failed = Err(JsonRpcError::internal(text));
        self.receive(JsonRpcMessage::response(&request_id, failed));
    }

    /// Opens the stream of messages that belong to no request, once, and waits until the server has answered: servers
    /// discard what they send while no stream is open.
    pub(super) async fn start_stream(self: &Arc<Self>) {
        if std::mem::replace(&mut self.session().has_stream, true) {
            return;
        }
        let answered = CancellationToken::new();
        let answer = answered.clone().drop_guard();
        let state = Arc::clone(self);
        self.spawn(async move {
            if let Err(error) = state.follow_stream(answer).await {
                tracing::debug!(%error, "the message stream of an MCP server ended");
            }
        });
        let opening = tokio::time::timeout(FIRST_OPEN_PATIENCE, answered.cancelled());
        if opening.await.is_err() {
            tracing::debug!("an MCP server has not answered the request for its message stream");
        }
    }

    /// Reads the stream, and opens it again when it breaks. `answer` is dropped when the server has answered first.
    async fn follow_stream(&self, answer: DropGuard) -> Result<(), McpError> {
        let mut position = StreamPosition::default();
        let mut reopens = 0;
        let mut answer = Some(answer);
        loop {
            let id = position.last_event_id.clone();
            let opened = self.open_stream(id.as_deref()).await;
            drop(answer.take());
            match opened {
                Ok(None) => return Ok(()),
                Ok(Some(stream)) => {
                    let opened = tokio::time::Instant::now();
                    match self.read_stream(stream, &mut position, None).await {
                        Ok(_) => {}
                        Err(error) if error.is_transient() => {}
                        Err(error) => return Err(error),
                    }
                    if position.has_events || opened.elapsed() > MAX_REOPEN_DELAY {
                        reopens = 0;
                    }
                }
                Err(error) if is_reopenable(&error) => {}
                Err(error) => return Err(error),
            }
            position.has_events = false;
            if reopens >= MAX_REOPENS {
                return Err(McpError::Closed);
            }
            tokio::time::sleep(reopen_delay(reopens, position.retry)).await;
            reopens += 1;
        }
    }

    /// Opens an event stream; `None` if the server has none.
    async fn open_stream(&self, last_event_id: Option<&str>) -> Result<Option<Response>, McpError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        let response = self.authorized(Method::GET, headers, None).await?;
        if response.status().as_u16() == 405 {
            return Ok(None);
        }
        let response = self.checked(response, false).await?;
        let kind = content_type(&response);
        if kind != EVENT_STREAM {
            return Err(McpError::Http {
                status: response.status().as_u16(),
                message: format!("the MCP server sent an unknown type of content: \"{kind}\""),
            });
        }
        Ok(Some(response))
    }

    /// Reads a stream to its end; messages may follow the response to a request.
    async fn read_stream(
        &self,
        mut stream: Response,
        position: &mut StreamPosition,
        request_id: Option<&Value>,
    ) -> Result<StreamEnd, McpError> {
        let mut decoder = EventDecoder::new(position);
        let mut is_answered = false;
        loop {
            let chunk = match stream.chunk().await {
                Ok(chunk) => chunk,
                Err(_) if is_answered => None,
                Err(error) => {
                    let error = pi_http::read_error(error, &self.route());
                    return Err(McpError::Network(error.message));
                }
            };
            let messages = match &chunk {
                Some(chunk) => decoder.push(chunk).map_err(|_too_long| {
                    McpError::protocol("the MCP server sent a message that is too long")
                })?,
                None => decoder.finish(),
            };
            for message in messages {
                let Ok(message) = serde_json::from_str::<Value>(&message) else {
                    tracing::debug!("skipped an event of an MCP server that is no message");
                    continue;
                };
                is_answered |= request_id.is_some()
                    && message.get("id") == request_id
                    && message.get("method").is_none();
                self.receive(message);
            }
            if chunk.is_none() {
                return Ok(if is_answered {
                    StreamEnd::Answered
                } else {
                    StreamEnd::Closed
                });
            }
        }
    }
}

enum StreamEnd {
    /// The response to the request has arrived.
    Answered,
    Closed,
}

fn reopen_delay(reopens: u32, requested: Option<Duration>) -> Duration {
    let delay = requested.unwrap_or_else(|| FIRST_REOPEN_DELAY.saturating_mul(1 << reopens.min(8)));
    delay.min(MAX_REOPEN_DELAY)
}

fn is_reopenable(error: &McpError) -> bool {
    match error {
        McpError::Http { status, .. } => is_transient_status(*status),
        other => other.is_transient(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn delays_double_up_to_a_limit() {
        assert_eq!(reopen_delay(0, None), Duration::from_secs(1));
        assert_eq!(reopen_delay(3, None), Duration::from_secs(8));
        assert_eq!(reopen_delay(9, None), MAX_REOPEN_DELAY);
        let requested = Some(Duration::from_millis(10));
        assert_eq!(reopen_delay(3, requested), Duration::from_millis(10));
    }
}
