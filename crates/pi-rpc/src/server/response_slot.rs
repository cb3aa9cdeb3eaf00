//! The one response of a command.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::command::RejectedLine;
use crate::line_sink::LineSink;
use crate::response::{failure_line, success_line};

/// Sends the first response of a command and drops any other. A prompt is answered when it is
/// accepted, and may still fail after that; the events of the run report it then.
pub(super) struct ResponseSlot {
    id: Option<Value>,
    /// The `type` of the command.
    kind: String,
    sink: LineSink,
    is_sent: AtomicBool,
}

impl ResponseSlot {
    pub(super) fn new(id: Option<Value>, kind: String, sink: LineSink) -> Self {
        Self {
            id,
            kind,
            sink,
            is_sent: AtomicBool::new(false),
        }
    }

    /// Returns the ID that the client gave the command.
    pub(super) fn id(&self) -> Option<&Value> {
        self.id.as_ref()
    }

    /// Reports success, with JSON data.
    pub(super) async fn succeed(&self, data: Option<&str>) {
        if self.claim() {
            self.send(success_line(self.id.as_ref(), &self.kind, data))
                .await;
        }
    }

    pub(super) async fn fail(&self, error: String) {
        if !self.claim() {
            tracing::warn!(error, kind = self.kind, "command failed after its response");
            return;
        }
        let rejected = RejectedLine {
            id: self.id.clone(),
            command: Some(self.kind.clone()),
            error,
        };
        self.send(failure_line(&rejected)).await;
    }

    /// Returns whether no response was sent yet.
    fn claim(&self) -> bool {
        !self.is_sent.swap(true, Ordering::Relaxed)
    }

    async fn send(&self, line: String) {
        if let Err(error) = self.sink.send(line).await {
            tracing::debug!(%error, "response dropped: output is closed");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::line_sink::LineWriter;

    #[tokio::test]
    async fn a_command_is_answered_once() {
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        let writer = LineWriter::start(ours);
        for first_succeeds in [true, false] {
            let slot = ResponseSlot::new(None, "prompt".to_owned(), writer.sink());
            if first_succeeds {
                slot.succeed(None).await;
            } else {
                slot.fail("busy".to_owned()).await;
            }
            slot.succeed(Some("1")).await;
            slot.fail("late".to_owned()).await;
        }
        writer.sink().flush().await.unwrap();
        let mut sent = vec![0; 1 << 16];
        let length = theirs.read(&mut sent).await.unwrap();
        let sent = String::from_utf8_lossy(&sent[..length]);
        let outcomes: Vec<bool> = sent
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["success"] == true)
            .collect();
        assert_eq!(outcomes, [true, false]);
    }
}
