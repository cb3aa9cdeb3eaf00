//! Extracts a range of lines from a file that is read in chunks. Only text that can be shown is
//! kept; the rest is counted for the notice. Invalid UTF-8 becomes replacement characters and is
//! counted as such.

use std::str;

use crate::truncate::{TextSize, Truncation, TruncationLimits, truncate_head_prefix};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineRange {
    /// Index of the first line, starting at 0.
    pub(super) start: usize,
    /// Maximum number of lines.
    pub(super) limit: Option<usize>,
}

/// Collects the requested lines from the chunks of a file.
#[derive(Debug)]
pub(super) struct LineWindowBuilder {
    range: LineRange,
    limits: TruncationLimits,
    /// Number of newlines seen, which is the index of the current line.
    newlines: usize,
    kept: String,
    kept_lines: usize,
    selected_newlines: usize,
    selected_bytes: usize,
    selected_ends_line: bool,
    first_line_bytes: usize,
    /// The start of a character that continues in the next chunk.
    incomplete: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineWindow {
    /// The lines, truncated to what may be shown.
    pub(super) truncation: Truncation,
    /// Number of lines in the file; text after the last newline counts as a line, even if empty.
    pub(super) file_lines: usize,
    /// Size of the first requested line in bytes.
    pub(super) first_line_bytes: usize,
}

impl LineWindowBuilder {
    pub(super) fn new(range: LineRange, limits: TruncationLimits) -> Self {
        Self {
            range,
            limits,
            newlines: 0,
            kept: String::new(),
            kept_lines: 0,
            selected_newlines: 0,
            selected_bytes: 0,
            selected_ends_line: false,
            first_line_bytes: 0,
            incomplete: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        let before = self.range.start.saturating_sub(self.newlines);
        let (skipped, rest) = split_after_newlines(chunk, before);
        self.newlines += count_newlines(skipped);
        if rest.is_empty() || self.newlines < self.range.start {
            return;
        }
        let Some(limit) = self.range.limit else {
            self.newlines += count_newlines(rest);
            self.select(rest);
            return;
        };
        let end = self.range.start.saturating_add(limit);
        let (selected, after) = split_after_newlines(rest, end.saturating_sub(self.newlines));
        self.newlines += count_newlines(selected);
        // The newline after the last requested line is a separator, not part of the text.
        let ends_here = self.newlines == end;
        self.select(match selected {
            [text @ .., b'\n'] if ends_here => text,
            text => text,
        });
        self.newlines += count_newlines(after);
    }

    pub(super) fn finish(mut self) -> LineWindow {
        if !self.incomplete.is_empty() {
            let incomplete = std::mem::take(&mut self.incomplete);
            self.keep(&incomplete);
        }
        let open_line = self.selected_bytes > 0 && !self.selected_ends_line;
        let selected = TextSize {
            lines: self.selected_newlines + usize::from(open_line),
            bytes: self.selected_bytes,
        };
        LineWindow {
            truncation: truncate_head_prefix(&self.kept, selected, self.limits),
            file_lines: self.newlines + 1,
            first_line_bytes: self.first_line_bytes,
        }
    }

    fn select(&mut self, bytes: &[u8]) {
        if self.incomplete.is_empty() {
            self.select_from_start(bytes);
        } else {
            let mut joined = std::mem::take(&mut self.incomplete);
            joined.extend_from_slice(bytes);
            self.select_from_start(&joined);
        }
    }

    fn select_from_start(&mut self, bytes: &[u8]) {
        let (complete, incomplete) = bytes.split_at(bytes.len() - incomplete_length(bytes));
        self.keep(complete);
        self.incomplete = incomplete.to_vec();
    }

    /// Counts complete characters and keeps them while there is room.
    fn keep(&mut self, bytes: &[u8]) {
        if self.selected_newlines == 0 {
            let line = memchr::memchr(b'\n', bytes).and_then(|end| bytes.get(..end));
            self.first_line_bytes += lossy_length(line.unwrap_or(bytes));
        }
        self.selected_newlines += count_newlines(bytes);
        self.selected_bytes += lossy_length(bytes);
        if let Some(last) = bytes.last() {
            self.selected_ends_line = *last == b'\n';
        }
        // One byte beyond the limit may be the newline after the last shown line.
        let has_room =
            self.kept.len() <= self.limits.bytes + 1 && self.kept_lines <= self.limits.lines;
        if has_room {
            self.kept.push_str(&String::from_utf8_lossy(bytes));
            self.kept_lines = self.selected_newlines;
        }
    }
}

/// Splits after the given number of newlines, or at the end.
fn split_after_newlines(bytes: &[u8], count: usize) -> (&[u8], &[u8]) {
    let Some(last) = count.checked_sub(1) else {
        return (&[], bytes);
    };
    let end = memchr::memchr_iter(b'\n', bytes)
        .nth(last)
        .map_or(bytes.len(), |at| at + 1);
    bytes.split_at(end)
}

fn count_newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

fn lossy_length(bytes: &[u8]) -> usize {
    if str::from_utf8(bytes).is_ok() {
        return bytes.len();
    }
    let replacement = |invalid: &[u8]| match invalid {
        [] => 0,
        _ => char::REPLACEMENT_CHARACTER.len_utf8(),
    };
    bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().len() + replacement(chunk.invalid()))
        .sum()
}

/// Returns the number of trailing bytes that may be the start of a character.
fn incomplete_length(bytes: &[u8]) -> usize {
    for (index, byte) in bytes.iter().rev().take(3).enumerate() {
        let length = match byte {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        return if length > index + 1 { index + 1 } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;
    use crate::truncate::truncate_head;

    /// Computes the same window from a file in memory.
    fn expected_window(bytes: &[u8], range: LineRange, limits: TruncationLimits) -> LineWindow {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.split('\n').collect();
        let limit = range.limit.unwrap_or(usize::MAX);
        let selected: Vec<&str> = lines
            .iter()
            .copied()
            .skip(range.start)
            .take(limit)
            .collect();
        LineWindow {
            truncation: truncate_head(&selected.join("\n"), limits),
            file_lines: lines.len(),
            first_line_bytes: selected.first().map_or(0, |line| line.len()),
        }
    }

    proptest! {
        #[test]
        fn result_does_not_depend_on_chunking(
            parts in proptest::collection::vec(
                prop_oneof!["[a日é🎉\r\n]{0,5}".prop_map(String::into_bytes), proptest::collection::vec(any::<u8>(), 0..4)],
                0..12,
            ),
            start in 0..6usize,
            limit in proptest::option::of(0..6usize),
            lines in 1..5usize,
            bytes in 1..24usize,
            chunk in 1..7usize,
        ) {
            let file = parts.concat();
            let range = LineRange { start, limit };
            let limits = TruncationLimits { lines, bytes };
            let mut window = LineWindowBuilder::new(range, limits);
            for chunk in file.chunks(chunk) {
                window.push(chunk);
            }
            prop_assert_eq!(window.finish(), expected_window(&file, range, limits));
        }
    }

    #[test]
    fn a_line_that_fits_exactly_is_not_treated_as_the_last() {
        let limits = TruncationLimits { lines: 2, bytes: 5 };
        let range = LineRange {
            start: 0,
            limit: None,
        };
        let mut window = LineWindowBuilder::new(range, limits);
        for byte in b"12345\n6" {
            window.push(&[*byte]);
        }
        assert_eq!(window.finish(), expected_window(b"12345\n6", range, limits));
    }

    #[test]
    fn memory_is_bounded_by_the_limits() {
        let limits = TruncationLimits {
            lines: 10,
            bytes: 100,
        };
        let mut window = LineWindowBuilder::new(
            LineRange {
                start: 0,
                limit: None,
            },
            limits,
        );
        for _ in 0..1000 {
            window.push(&[b'x'; 64]);
        }
        assert!(window.kept.len() < 300);
        let window = window.finish();
        assert_eq!(window.first_line_bytes, 64_000);
        assert!(window.truncation.first_line_exceeds_limit);
    }
}
