//! Deleted text that can be yanked: consecutive kills merge, and older ones rotate in.

use std::collections::VecDeque;

const CAPACITY: usize = 60;

/// The direction of a kill, which determines where it is merged into the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditDirection {
    Backward,
    Forward,
}

/// Whether a kill continues the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillMode {
    New,
    Continued,
}

/// The ring; its back is the latest entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct KillRing {
    entries: VecDeque<String>,
}

impl KillRing {
    pub(crate) fn push(&mut self, text: &str, direction: EditDirection, kill: KillMode) {
        if text.is_empty() {
            return;
        }
        match (kill, self.entries.back_mut()) {
            (KillMode::Continued, Some(last)) => match direction {
                EditDirection::Backward => last.insert_str(0, text),
                EditDirection::Forward => last.push_str(text),
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

    /// Makes the second-latest entry the latest.
    pub(crate) fn rotate(&mut self) {
        self.entries.rotate_right(1.min(self.entries.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_kills_merge_in_their_direction() {
        let mut ring = KillRing::default();
        ring.push("b", EditDirection::Backward, KillMode::New);
        ring.push("a", EditDirection::Backward, KillMode::Continued);
        ring.push("c", EditDirection::Forward, KillMode::Continued);
        assert_eq!(ring.latest(), Some("abc"));
        ring.push("x", EditDirection::Forward, KillMode::New);
        ring.rotate();
        assert_eq!(ring.latest(), Some("abc"));
        ring.rotate();
        assert_eq!(ring.latest(), Some("x"));
    }
}
