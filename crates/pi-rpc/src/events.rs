//! Writes session events as JSON lines, for RPC and JSON mode.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_host::{EventLines, LineSink, OutputClosed, SessionListener};
use pi_protocol::{AgentEvent, SessionEvent, UpdateFormat};
use tokio_util::sync::CancellationToken;

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
    lines: EventLines,
    muted: CancellationToken,
    /// Whether the client follows the MCP servers. Clients of the TypeScript pi do not know their event.
    follows_servers: AtomicBool,
    /// How long a client may read a file after it was notified that the file will change.
    read_time: Duration,
}

impl JsonEventWriter {
    pub fn new(sink: LineSink, format: UpdateFormat) -> Self {
        Self {
            sink,
            lines: EventLines::new(format),
            muted: CancellationToken::new(),
            follows_servers: AtomicBool::new(false),
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
        match event {
            SessionEvent::McpStatus { .. } if self.follows_servers.load(Ordering::Relaxed) => {
                pi_protocol::json::to_string(event).map(Some)
            }
            _ => self.lines.compatible(event),
        }
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

    use pi_host::LineWriter;
    use pretty_assertions::assert_eq;

    use super::*;

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
