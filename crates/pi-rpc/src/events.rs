//! Writes session events as JSON lines, for RPC and JSON mode.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_host::SessionListener;
use pi_protocol::{AgentEvent, AssistantMessageEvent, SessionEvent, UpdateFormat, Usage};
use tokio_util::sync::CancellationToken;

use crate::line_sink::{LineSink, OutputClosed};

/// Tools that change files. Their start is on its way to the client before they run.
const CHANGING_TOOLS: [&str; 3] = ["edit", "write", "bash"];

/// Tools whose arguments name the file they change, so that a client may read it first.
const TOOLS_WITH_PATH: [&str; 2] = ["edit", "write"];

/// How long an edit waits after its start was written: editors read the file then, to show a diff later.
pub(crate) const CLIENT_READ_TIME: Duration = Duration::from_millis(8);

/// Writes every event as a line. The session waits until the line is accepted, so a slow reader
/// slows it down; a tool that changes files waits until its start is written.
#[derive(Debug)]
pub struct JsonEventWriter {
    sink: LineSink,
    format: UpdateFormat,
    muted: CancellationToken,
    /// Whether the client follows the MCP servers. Clients of the TypeScript pi do not know their event.
    follows_servers: AtomicBool,
    usage: Mutex<UsageCache>,
    /// How long a client may read a file after it was notified that the file will change.
    read_time: Duration,
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
            read_time: Duration::ZERO,
        }
    }

    /// Lets edits wait after their start was written, so that the client can read the old content.
    #[must_use]
    pub fn with_read_time(self, read_time: Duration) -> Self {
        Self { read_time, ..self }
    }

    /// Writes an event before anything that follows it; after the start of an edit, waits until a client can have read it.
    async fn announce(&self, line: String, tool: &str) {
        let written = async {
            self.sink.send(line).await?;
            self.sink.flush().await?;
            if TOOLS_WITH_PATH.contains(&tool) && !self.read_time.is_zero() {
                tokio::time::sleep(self.read_time).await;
            }
            Ok::<_, OutputClosed>(())
        };
        if let Some(Err(error)) = self.muted.run_until_cancelled(written).await {
            tracing::debug!(%error, "event dropped: output is closed");
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
        if let SessionEvent::Agent(AgentEvent::ToolExecutionStart { tool_name, .. }) = event
            && CHANGING_TOOLS.contains(&tool_name.as_str())
        {
            return self.announce(line, tool_name).boxed();
        }
        // Some clients read chunks instead of lines: the end of a run is not in one chunk with what follows.
        if matches!(event, SessionEvent::Agent(AgentEvent::AgentEnd { .. })) {
            return self.announce(line, "").boxed();
        }
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

    fn tool_start(name: &str) -> SessionEvent {
        SessionEvent::Agent(AgentEvent::ToolExecutionStart {
            tool_call_id: "1".into(),
            tool_name: name.into(),
            args: serde_json::json!({"path": "a"}),
            parent_tool_call_id: None,
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_tool_that_changes_files_waits_until_its_start_is_written() {
        for (tool, read_time, waits) in [
            ("edit", CLIENT_READ_TIME, true),
            ("write", CLIENT_READ_TIME, true),
            ("edit", Duration::ZERO, false),
            ("bash", CLIENT_READ_TIME, false),
            ("read", CLIENT_READ_TIME, false),
        ] {
            let (near, mut far) = tokio::io::duplex(4096);
            let writer = LineWriter::start(near);
            let events = JsonEventWriter::new(writer.sink(), UpdateFormat::Delta);
            let events = events.with_read_time(read_time);
            let before = tokio::time::Instant::now();
            events.on_event(&tool_start(tool)).await;
            assert_eq!(before.elapsed() >= CLIENT_READ_TIME, waits, "{tool}");
            if tool == "read" {
                continue;
            }
            let mut line = vec![0; 4096];
            let length = tokio::io::AsyncReadExt::read(&mut far, &mut line).now_or_never();
            let text = String::from_utf8(line).unwrap();
            assert!(length.unwrap().unwrap() > 0 && text.contains("tool_execution_start"));
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
