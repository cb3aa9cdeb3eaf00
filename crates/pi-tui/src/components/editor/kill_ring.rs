//! Deleted text that can be brought back: consecutive deletions merge, older ones rotate in.

use std::collections::VecDeque;

const CAPACITY: usize = 60;

/// Which way a deletion went, and hence on which side it joins the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Backward,
    Forward,
}

/// Whether a deletion continues the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kill {
    New,
    Continued,
}

/// The ring; its back is the latest entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct KillRing {
    entries: VecDeque<String>,
}

impl KillRing {
    pub(crate) fn push(&mut self, text: &str, direction: Direction, kill: Kill) {
        if text.is_empty() {
            return;
        }
        match (kill, self.entries.back_mut()) {
            (Kill::Continued, Some(last)) => match direction {
                Direction::Backward => last.insert_str(0, text),
                Direction::Forward => last.push_str(text),
            },
            _ => {
                if self.entries.len() == CAPACITY {
                    self.entries.pop_front();
                }
                self.entries.push_back(text.to_owned());
            }
        }
    }

    pub(crate) fn latest(&self) -> Option<&str> {
        self.entries.back().map(String::as_str)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Makes the entry before the latest one the latest.
    pub(crate) fn rotate(&mut self) {
        self.entries.rotate_right(1.min(self.entries.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_deletions_join_on_their_side() {
        let mut ring = KillRing::default();
        ring.push("b", Direction::Backward, Kill::New);
        ring.push("a", Direction::Backward, Kill::Continued);
        ring.push("c", Direction::Forward, Kill::Continued);
        assert_eq!(ring.latest(), Some("abc"));
        ring.push("x", Direction::Forward, Kill::New);
        ring.rotate();
        assert_eq!(ring.latest(), Some("abc"));
        ring.rotate();
        assert_eq!(ring.latest(), Some("x"));
    }
}
