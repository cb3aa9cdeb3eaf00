//! Truncates output for the model by lines and bytes, whichever limit is reached first. The
//! truncation record is sent to applications as `details.truncation` of a tool result, so its field
//! names are a contract. The text of notices is up to the tools.

use serde::Serialize;

/// Maximum number of lines in tool output.
pub const MAX_LINES: usize = 2000;

/// Maximum number of bytes in tool output.
pub const MAX_BYTES: usize = 50 * 1024;

/// Means "no line limit" in a record: `Number.MAX_SAFE_INTEGER` in JavaScript.
pub const UNLIMITED_LINES: usize = 9_007_199_254_740_991;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruncationLimits {
    pub lines: usize,
    /// Bytes of UTF-8.
    pub bytes: usize,
}

impl Default for TruncationLimits {
    fn default() -> Self {
        Self {
            lines: MAX_LINES,
            bytes: MAX_BYTES,
        }
    }
}

impl TruncationLimits {
    pub fn bytes_only() -> Self {
        Self {
            lines: UNLIMITED_LINES,
            ..Self::default()
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TruncatedBy {
    Lines,
    Bytes,
}

/// The kept part of a text, and the size of the full text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    pub content: String,
    pub truncated: bool,
    pub truncated_by: Option<TruncatedBy>,
    /// A trailing newline does not start another line.
    pub total_lines: usize,
    pub total_bytes: usize,
    pub output_lines: usize,
    pub output_bytes: usize,
    /// The kept text starts within its only line (tail truncation only).
    pub last_line_partial: bool,
    /// Nothing was kept because the first line exceeds the byte limit (head truncation only).
    pub first_line_exceeds_limit: bool,
    pub max_lines: usize,
    pub max_bytes: usize,
}

impl Truncation {
    fn whole(content: String, total_lines: usize, limits: TruncationLimits) -> Self {
        let total_bytes = content.len();
        Self {
            content,
            truncated: false,
            truncated_by: None,
            total_lines,
            total_bytes,
            output_lines: total_lines,
            output_bytes: total_bytes,
            last_line_partial: false,
            first_line_exceeds_limit: false,
            max_lines: limits.lines,
            max_bytes: limits.bytes,
        }
    }

    fn cut(
        content: String,
        output_lines: usize,
        by: TruncatedBy,
        total: TextSize,
        limits: TruncationLimits,
    ) -> Self {
        Self {
            output_bytes: content.len(),
            content,
            truncated: true,
            truncated_by: Some(by),
            total_lines: total.lines,
            total_bytes: total.bytes,
            output_lines,
            last_line_partial: false,
            first_line_exceeds_limit: false,
            max_lines: limits.lines,
            max_bytes: limits.bytes,
        }
    }
}

/// The size of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextSize {
    /// A trailing newline does not start another line.
    pub lines: usize,
    pub bytes: usize,
}

impl TextSize {
    pub fn of(text: &str) -> Self {
        let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let unfinished = !text.is_empty() && !text.ends_with('\n');
        Self {
            lines: newlines + usize::from(unfinished),
            bytes: text.len(),
        }
    }

    fn fits(self, limits: TruncationLimits) -> bool {
        self.lines <= limits.lines && self.bytes <= limits.bytes
    }
}

/// Keeps the first lines that fit. Lines are never split.
pub fn truncate_head(text: &str, limits: TruncationLimits) -> Truncation {
    truncate_head_prefix(text, TextSize::of(text), limits)
}

/// Like [`truncate_head`], for a text of which only a prefix is available.
///
/// `beginning` must be the full text, or contain more lines than the limit or at least two more
/// bytes.
pub fn truncate_head_prefix(
    beginning: &str,
    total: TextSize,
    limits: TruncationLimits,
) -> Truncation {
    if total.fits(limits) {
        return Truncation::whole(beginning.to_owned(), total.lines, limits);
    }
    let mut kept = String::new();
    let mut lines = 0;
    let mut by = TruncatedBy::Lines;
    for line in split_lines(beginning).take(limits.lines) {
        let separator = usize::from(lines > 0);
        if kept.len() + separator + line.len() > limits.bytes {
            by = TruncatedBy::Bytes;
            break;
        }
        if lines > 0 {
            kept.push('\n');
        }
        kept.push_str(line);
        lines += 1;
    }
    let nothing_fits = lines == 0 && by == TruncatedBy::Bytes;
    Truncation {
        first_line_exceeds_limit: nothing_fits,
        ..Truncation::cut(kept, lines, by, total, limits)
    }
}

/// Keeps the last lines that fit. If the last line alone is too long, its end is kept.
pub fn truncate_tail(text: &str, limits: TruncationLimits) -> Truncation {
    truncate_tail_suffix(text, TextSize::of(text), limits)
}

/// Like [`truncate_tail`], for a text of which only a suffix is available.
///
/// `end` must be the full text, or contain more lines than the limit or at least two more bytes.
pub fn truncate_tail_suffix(end: &str, total: TextSize, limits: TruncationLimits) -> Truncation {
    if total.fits(limits) {
        return Truncation::whole(end.to_owned(), total.lines, limits);
    }
    let body = end.strip_suffix('\n').unwrap_or(end);
    let mut start = body.len();
    let mut lines = 0;
    let mut by = TruncatedBy::Lines;
    let mut partial = false;
    for line in body.rsplit('\n').take(limits.lines) {
        let line_start = start.saturating_sub(line.len() + usize::from(lines > 0));
        if body.len() - line_start > limits.bytes {
            by = TruncatedBy::Bytes;
            if lines == 0 {
                start = body.ceil_char_boundary(body.len() - limits.bytes);
                lines = 1;
                partial = true;
            }
            break;
        }
        start = line_start;
        lines += 1;
    }
    let kept = body.get(start..).unwrap_or_default().to_owned();
    Truncation {
        last_line_partial: partial,
        ..Truncation::cut(kept, lines, by, total, limits)
    }
}

/// Returns the lines without their newlines; a trailing newline does not start another line.
fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let mut lines = body.split('\n');
    if text.is_empty() {
        lines.next();
    }
    lines
}

/// Formats a number of bytes: `512B`, `50.0KB`, `1.2MB`.
pub fn format_size(bytes: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let scaled = |unit: usize| bytes as f64 / unit as f64;
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..0x10_0000 => format!("{:.1}KB", scaled(1024)),
        _ => format!("{:.1}MB", scaled(1024 * 1024)),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn limits(lines: usize, bytes: usize) -> TruncationLimits {
        TruncationLimits { lines, bytes }
    }

    #[test]
    fn head_truncation_keeps_complete_lines() {
        use TruncatedBy::{Bytes, Lines};
        for (text, lines, bytes, kept, by, total) in [
            ("", 1, 1, "", None, (0, 0)),
            ("a\n", 1, 2, "a\n", None, (1, 2)),
            ("a\nb", 1, 9, "a", Some(Lines), (2, 3)),
            ("a\nb\n", 1, 9, "a", Some(Lines), (2, 4)),
            ("a\nbb\nc", 9, 4, "a\nbb", Some(Bytes), (3, 6)),
            ("a\nbb\nc", 9, 3, "a", Some(Bytes), (3, 6)),
            ("aaa\nb", 9, 2, "", Some(Bytes), (2, 5)),
            ("\n\n", 1, 9, "", Some(Lines), (2, 2)),
        ] {
            let cut = truncate_head(text, limits(lines, bytes));
            assert_eq!(
                (
                    cut.content.as_str(),
                    cut.truncated_by,
                    cut.total_lines,
                    cut.total_bytes
                ),
                (kept, by, total.0, total.1),
                "{text:?} {lines} {bytes}"
            );
        }
        assert!(truncate_head("aaa\nb", limits(9, 2)).first_line_exceeds_limit);
        assert!(!truncate_head("\n\n", limits(1, 9)).first_line_exceeds_limit);
    }

    #[test]
    fn tail_truncation_may_start_within_a_line() {
        use TruncatedBy::{Bytes, Lines};
        for (text, lines, bytes, kept, by, partial) in [
            ("a\nb\n", 1, 9, "b", Some(Lines), false),
            ("a\nbb\nc", 9, 4, "bb\nc", Some(Bytes), false),
            ("a\nbb\nc", 9, 3, "c", Some(Bytes), false),
            ("abcdef", 9, 3, "def", Some(Bytes), true),
            ("xx\nab日", 9, 4, "b日", Some(Bytes), true),
            ("xx\nab日", 9, 2, "", Some(Bytes), true),
        ] {
            let cut = truncate_tail(text, limits(lines, bytes));
            assert_eq!(
                (
                    cut.content.as_str(),
                    cut.truncated_by,
                    cut.last_line_partial
                ),
                (kept, by, partial),
                "{text:?} {lines} {bytes}"
            );
        }
    }

    #[test]
    fn the_record_has_the_documented_fields() {
        let record = serde_json::to_value(truncate_head("a\nb", limits(1, 9))).unwrap();
        assert_eq!(
            record,
            json!({
                "content": "a", "truncated": true, "truncatedBy": "lines", "totalLines": 2,
                "totalBytes": 3, "outputLines": 1, "outputBytes": 1, "lastLinePartial": false,
                "firstLineExceedsLimit": false, "maxLines": 1, "maxBytes": 9,
            })
        );
    }

    #[test]
    fn sizes_are_formatted() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.0KB"),
            (51_200, "50.0KB"),
            (1_048_576, "1.0MB"),
            (104_857_600, "100.0MB"),
        ] {
            assert_eq!(format_size(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn kept_text_is_a_part_that_fits(text in "[a日\n]{0,40}", lines in 1..6usize, bytes in 0..20usize) {
            let head = truncate_head(&text, limits(lines, bytes));
            prop_assert!(text.starts_with(&head.content));
            let tail = truncate_tail(&text, limits(lines, bytes));
            prop_assert!(text.trim_end_matches('\n').ends_with(tail.content.trim_end_matches('\n')));
            for cut in [head, tail] {
                prop_assert!(cut.output_lines <= lines);
                prop_assert!(cut.content.len() <= bytes);
                prop_assert_eq!(cut.output_bytes, cut.content.len());
                prop_assert_eq!(cut.truncated, cut.truncated_by.is_some());
            }
        }
    }
}
