//! Writes session events as JSON lines, for RPC and JSON mode.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_host::SessionListener;
use pi_protocol::{AgentEvent, AssistantMessageEvent, SessionEvent, UpdateFormat, Usage};
use tokio_util::sync::CancellationToken;

use crate::line_sink::LineSink;

/// Writes every event as a line. The session waits until the line is accepted, so a slow reader
/// slows it down.
#[derive(Debug)]
pub struct JsonEventWriter {
    sink: LineSink,
    format: UpdateFormat,
    muted: CancellationToken,
    /// Whether the client follows the MCP servers. Clients of the TypeScript pi do not know their event.
    follows_servers: AtomicBool,
    usage: Mutex<UsageCache>,
}

/// The usage serialized last. Every delta of a response carries it, but it changes only a few times
/// per response.
#[derive(Debug, Default)]
struct UsageCache {
    usage: Arc<Usage>,
    json: String,
}

impl UsageCache {
    /// Returns the usage as JSON.
    fn of(&mut self, usage: &Arc<Usage>) -> serde_json::Result<&str> {
        let is_same = Arc::ptr_eq(&self.usage, usage) || self.usage == *usage;
        if self.json.is_empty() || !is_same {
            self.json = pi_protocol::json::to_string(usage)?;
        }
        self.usage = Arc::clone(usage);
        Ok(&self.json)
    }
}

impl JsonEventWriter {
    pub fn new(sink: LineSink, format: UpdateFormat) -> Self {
        Self {
            sink,
            format,
            muted: CancellationToken::new(),
            follows_servers: AtomicBool::new(false),
            usage: Mutex::default(),
        }
    }

    /// Returns the line of an event; `None` if it is not part of the wire format.
    fn line(&self, event: &SessionEvent) -> serde_json::Result<Option<String>> {
        match (event, self.format) {
            (
                SessionEvent::Agent(AgentEvent::MessageUpdate {
                    usage,
                    assistant_message_event,
                    ..
                }),
                UpdateFormat::Delta,
            ) => self.update_line(usage, assistant_message_event).map(Some),
            (SessionEvent::McpStatus { .. }, _) if self.follows_servers.load(Ordering::Relaxed) => {
                pi_protocol::json::to_string(event).map(Some)
            }
            _ => event.to_compatible_json(self.format),
        }
    }

    /// Serializes a message update exactly as [`SessionEvent::to_compatible_json`] does, but faster: it is by
    /// far the most frequent event.
    fn update_line(
        &self,
        usage: &Arc<Usage>,
        event: &AssistantMessageEvent,
    ) -> serde_json::Result<String> {
        const AROUND: [&str; 3] = [
            r#"{"type":"message_update","usage":"#,
            r#","assistantMessageEvent":"#,
            "}",
        ];
        /// Enough for a usual delta.
        const EVENT_LENGTH: usize = 128;
        let [start, between, end] = AROUND;
        let mut cached = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = cached.of(usage)?;
        let around = start.len() + between.len() + end.len();
        let mut line = Vec::with_capacity(around + usage.len() + EVENT_LENGTH);
        for part in [start, usage, between] {
            line.extend_from_slice(part.as_bytes());
        }
        pi_protocol::json::write(&mut line, event)?;
        line.extend_from_slice(end.as_bytes());
        String::from_utf8(line).map_err(serde::ser::Error::custom)
    }

    /// Writes the state of MCP servers from now on.
    pub(crate) fn follow_servers(&self) {
        self.follows_servers.store(true, Ordering::Relaxed);
    }

    /// Stops writing and releases a session that is waiting for the reader.
    pub fn mute(&self) {
        self.muted.cancel();
    }
}

impl SessionListener for JsonEventWriter {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if self.muted.is_cancelled() {
            return std::future::ready(()).boxed();
        }
        let line = match self.line(event) {
            Ok(Some(line)) => line,
            Ok(None) => return std::future::ready(()).boxed(),
            Err(error) => {
                tracing::error!(%error, "cannot serialize event");
                return std::future::ready(()).boxed();
            }
        };
        if self.sink.try_send(&line) == Ok(true) {
            return std::future::ready(()).boxed();
        }
        async move {
            let sent = self.muted.run_until_cancelled(self.sink.send(line)).await;
            if let Some(Err(error)) = sent {
                tracing::debug!(%error, "event dropped: output is closed");
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::task::unconstrained;

    use pi_protocol::MessageBuilder;
    use pi_providers::FauxProvider;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::line_sink::LineWriter;

    #[tokio::test]
    async fn a_message_update_serializes_like_other_events_with_the_current_usage() {
        let writer = LineWriter::start(tokio::io::sink());
        let events = JsonEventWriter::new(writer.sink(), UpdateFormat::Delta);
        let mut builder = MessageBuilder::new(&FauxProvider::new().model(), 7);
        for output in [0, 0, 5, 5, 9] {
            builder.set_usage(Usage {
                output,
                ..Usage::default()
            });
            let event = SessionEvent::Agent(AgentEvent::message_update(
                builder.live(),
                AssistantMessageEvent::TextDelta {
                    content_index: 0,
                    delta: "a \"word\"".to_owned(),
                },
            ));
            let line = events.line(&event).unwrap();
            assert_eq!(line, event.to_compatible_json(UpdateFormat::Delta).unwrap());
        }
    }

    #[tokio::test]
    async fn a_session_waits_for_the_reader_until_muted() {
        let (near, _far) = tokio::io::duplex(1);
        let writer = LineWriter::start(near);
        let events = JsonEventWriter::new(writer.sink(), UpdateFormat::Delta);
        let event = SessionEvent::AgentSettled { aborted: false };
        let mut accepted = 0;
        let mut waiting = loop {
            let mut pending = events.on_event(&event);
            if unconstrained(&mut pending).now_or_never().is_none() {
                break pending;
            }
            accepted += 1;
            tokio::task::yield_now().await;
            assert!(accepted < 10_000, "the session is not slowed down");
        };
        events.mute();
        assert!((&mut waiting).now_or_never().is_some());
        assert!(events.on_event(&event).now_or_never().is_some());
    }
}
