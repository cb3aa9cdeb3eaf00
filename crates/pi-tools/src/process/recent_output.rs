//! The end of a process's output, addressed by positions in all of it.

use std::path::{Path, PathBuf};

use crate::truncate::{MAX_BYTES, TruncationLimits, truncate_tail};

/// How much output is kept at least; twice as much before old text is dropped.
const KEPT_BYTES: usize = 2 * MAX_BYTES;

/// Maximum length of the output in a report about the end of a process.
const LAST_LINES_BYTES: usize = 2000;

#[derive(Debug, Default)]
pub(super) struct RecentOutput {
    text: String,
    /// Bytes before `text`, which are no longer in memory.
    dropped: u64,
    /// File with all of the output, if that is long.
    file: Option<PathBuf>,
}

/// Output after a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputPart {
    pub(super) text: String,
    /// Whether text between the position and `text` is missing.
    pub(super) is_cut: bool,
    /// The position after `text`.
    pub(super) end: u64,
    pub(super) file: Option<PathBuf>,
}

impl RecentOutput {
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > 2 * KEPT_BYTES {
            let cut = self.text.ceil_char_boundary(self.text.len() - KEPT_BYTES);
            self.text.drain(..cut);
            self.dropped += cut as u64;
        }
    }

    pub(super) fn set_file(&mut self, file: Option<&Path>) {
        if self.file.is_none() {
            self.file = file.map(Path::to_owned);
        }
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns what was written after a position, or the end of it if it is long.
    pub(super) fn since(&self, position: u64) -> OutputPart {
        let skipped = position.saturating_sub(self.dropped);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let start = self.text.ceil_char_boundary(skipped.min(self.text.len()));
        let wanted = self.text.get(start..).unwrap_or_default();
        let kept = truncate_tail(wanted, TruncationLimits::default());
        OutputPart {
            is_cut: kept.truncated || position < self.dropped,
            text: kept.content,
            end: self.dropped + self.text.len() as u64,
            file: self.file.clone(),
        }
    }

    /// Returns the last complete lines for a short report.
    pub(super) fn last_lines(&self) -> &str {
        let start = self.text.len().saturating_sub(LAST_LINES_BYTES);
        let start = self.text.ceil_char_boundary(start);
        let end = self.text.get(start..).unwrap_or_default();
        match end.split_once('\n') {
            Some((_, lines)) if start > 0 => lines,
            _ => end,
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn output_is_read_from_a_position() {
        let mut output = RecentOutput::default();
        output.push("one\n");
        let first = output.since(0);
        assert_eq!((first.text.as_str(), first.end), ("one\n", 4));
        output.push("two\n");
        let second = output.since(first.end);
        assert_eq!((second.text.as_str(), second.end), ("two\n", 8));
        assert!(!second.is_cut);
        assert_eq!(output.since(8).text, "");
        assert_eq!(output.since(u64::MAX).text, "");
    }

    #[test]
    fn memory_is_bounded_and_missing_output_is_stated() {
        let mut output = RecentOutput::default();
        for number in 0..100_000 {
            output.push(&format!("line {number} ä\n"));
        }
        assert!(output.text.len() <= 2 * KEPT_BYTES + 20);
        let part = output.since(0);
        assert!(part.is_cut);
        assert!(part.text.ends_with("line 99999 ä\n") || part.text.ends_with("line 99999 ä"));
        // A position within a character is moved behind it.
        assert!(output.since(part.end - 2).text.len() <= 1);
        assert!(output.last_lines().starts_with("line "));
        assert!(output.last_lines().len() <= LAST_LINES_BYTES);
    }
}
