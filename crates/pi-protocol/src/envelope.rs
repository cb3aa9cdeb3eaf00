//! Events with their position in the log of a session.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::session_event::SessionEvent;

/// An event and its position in the session's log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    pub session: SessionId,
    /// 1 for the first event after the session was opened.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub at: i64,
    pub event: SessionEvent,
}

/// A position in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cursor {
    /// Identifies the log: a session that was closed and opened again starts a new one.
    pub epoch: u64,
    /// The last event that was seen; 0 before the first.
    pub seq: u64,
}

/// The text form of clients: `epoch-seq`.
impl std::fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}-{}", self.epoch, self.seq)
    }
}

/// A text that is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidCursor;

impl std::fmt::Display for InvalidCursor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("not a cursor; expected the ID of an event or the cursor of a snapshot")
    }
}

impl std::error::Error for InvalidCursor {}

impl std::str::FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (epoch, seq) = text.split_once('-').ok_or(InvalidCursor)?;
        Ok(Self {
            epoch: epoch.parse().map_err(|_invalid| InvalidCursor)?,
            seq: seq.parse().map_err(|_invalid| InvalidCursor)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_have_a_text_form() {
        let cursor = Cursor { epoch: 7, seq: 42 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "7", "-", "7-", "7-x", "7-4-2", "-7-4"] {
            assert_eq!(text.parse::<Cursor>(), Err(InvalidCursor), "{text}");
        }
    }
}
