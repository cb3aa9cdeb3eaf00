//! Scripted replies: the steps a [`ScriptedServer`](crate::ScriptedServer) performs for one request.

use bytes::Bytes;

/// A reply, built step by step; the server performs the steps in order once a request has arrived.
#[derive(Debug, Clone, Default)]
pub struct ScriptedReply {
    pub(crate) steps: Vec<ReplyStep>,
}

#[derive(Debug, Clone)]
pub(crate) enum ReplyStep {
    Head(ReplyHead),
    Chunk(Bytes),
    Gate(String),
    Stall,
    Reset,
    Disconnect,
}

#[derive(Debug, Clone)]
pub(crate) struct ReplyHead {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// Sent immediately with a `content-length`; `None` if chunks follow.
    pub(crate) body: Option<Bytes>,
}

impl ScriptedReply {
    /// Creates a reply without steps: nothing is sent, not even a status line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a stream of server-sent events.
    pub fn event_stream() -> Self {
        Self::new().head(200, &[("content-type", "text/event-stream")])
    }

    /// Sends status, headers and the full body at once.
    pub fn full(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Self {
        Self::new().step(ReplyStep::Head(ReplyHead {
            status,
            headers: owned(headers),
            body: Some(body.into()),
        }))
    }

    /// Sends status and headers; the body follows in chunks.
    #[must_use]
    pub fn head(self, status: u16, headers: &[(&str, &str)]) -> Self {
        self.step(ReplyStep::Head(ReplyHead {
            status,
            headers: owned(headers),
            body: None,
        }))
    }

    /// Sends a chunk of the body.
    #[must_use]
    pub fn chunk(self, bytes: impl Into<Bytes>) -> Self {
        self.step(ReplyStep::Chunk(bytes.into()))
    }

    /// Pauses until the test opens the gate.
    #[must_use]
    pub fn gate(self, name: &str) -> Self {
        self.step(ReplyStep::Gate(name.to_owned()))
    }

    /// Sends nothing more and waits until the client closes the connection.
    #[must_use]
    pub fn stall(self) -> Self {
        self.step(ReplyStep::Stall)
    }

    /// Resets the connection.
    #[must_use]
    pub fn reset(self) -> Self {
        self.step(ReplyStep::Reset)
    }

    /// Closes the connection without sending the final chunk of the body.
    #[must_use]
    pub fn disconnect(self) -> Self {
        self.step(ReplyStep::Disconnect)
    }

    fn step(mut self, step: ReplyStep) -> Self {
        self.steps.push(step);
        self
    }
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}
