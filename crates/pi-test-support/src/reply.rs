//! The script of one answer.

use bytes::Bytes;

/// What the server does, step by step, when a request has arrived.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Head(Head),
    Chunk(Bytes),
    Gate(String),
    Stall,
    Reset,
    Cut,
}

#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// Sent at once with its length; otherwise chunks follow.
    pub(crate) body: Option<Bytes>,
}

impl Reply {
    /// Begins an answer that has not said anything yet.
    pub fn silent() -> Self {
        Self::default()
    }

    /// Begins a stream of server-sent events.
    pub fn events() -> Self {
        Self::silent().head(200, &[("content-type", "text/event-stream")])
    }

    /// Answers at once with a status, headers and a whole body.
    pub fn whole(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Self {
        Self::silent().step(Step::Head(Head {
            status,
            headers: owned(headers),
            body: Some(body.into()),
        }))
    }

    /// Sends status and headers; the body follows in chunks.
    #[must_use]
    pub fn head(self, status: u16, headers: &[(&str, &str)]) -> Self {
        self.step(Step::Head(Head {
            status,
            headers: owned(headers),
            body: None,
        }))
    }

    /// Sends a piece of the body.
    #[must_use]
    pub fn chunk(self, bytes: impl Into<Bytes>) -> Self {
        self.step(Step::Chunk(bytes.into()))
    }

    /// Stops until the test releases the gate.
    #[must_use]
    pub fn gate(self, name: &str) -> Self {
        self.step(Step::Gate(name.to_owned()))
    }

    /// Falls silent until the client goes away.
    #[must_use]
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    /// Resets the connection.
    #[must_use]
    pub fn reset(self) -> Self {
        self.step(Step::Reset)
    }

    /// Closes the connection where it is, without the chunk that ends a body.
    #[must_use]
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    fn step(mut self, step: Step) -> Self {
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
