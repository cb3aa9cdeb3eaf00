//! Cutting the byte stream into sequences.
//!
//! Knows where a sequence ends, not what it means.

use std::time::{Duration, Instant};

/// How long to wait for the rest of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputTiming {
    /// After a lone ESC, which may be the Escape key or the start of a sequence.
    pub escape: Duration,
    /// After the start of any other sequence.
    pub sequence: Duration,
    /// After the start of what looks like a terminal's reply, which no key can be.
    pub reply: Duration,
}

impl Default for InputTiming {
    fn default() -> Self {
        Self {
            escape: Duration::from_millis(10),
            sequence: Duration::from_millis(50),
            reply: Duration::from_millis(150),
        }
    }
}

impl InputTiming {
    /// Returns the timing for a connection over SSH, where packets tear sequences apart.
    pub fn over_ssh() -> Self {
        Self {
            escape: Duration::from_millis(100),
            ..Self::default()
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Splitter {
    timing: InputTiming,
}

impl Splitter {
    pub(super) fn new(timing: InputTiming) -> Self {
        Self { timing }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let _ = self.timing;
        None
    }
}
