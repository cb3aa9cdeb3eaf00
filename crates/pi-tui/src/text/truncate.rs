//! Truncates a line to a width, with an ellipsis.

use std::borrow::Cow;

use super::ansi::{AnsiToken, AnsiTokens, StyleState};
use super::width::{
    ascii_run_length, grapheme_width, graphemes, is_printable_ascii, visible_width,
};

/// How [`truncate_to_width`] marks truncated text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TruncateOptions<'a> {
    /// Appended to truncated text; may be empty.
    pub ellipsis: &'a str,
}

impl Default for TruncateOptions<'_> {
    fn default() -> Self {
        Self { ellipsis: "..." }
    }
}

/// Returns `text` if it fits, otherwise its start followed by the ellipsis. Styles end before the
/// ellipsis.
pub fn truncate_to_width<'a>(
    text: &'a str,
    width: usize,
    truncation: TruncateOptions<'_>,
) -> Cow<'a, str> {
    if text.len() <= width && is_printable_ascii(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let ellipsis_width = visible_width(truncation.ellipsis);
    let Some(kept) = fitting_prefix(text, width, width.saturating_sub(ellipsis_width)) else {
        return Cow::Borrowed(text);
    };
    if ellipsis_width > width {
        let ellipsis = fitting_prefix(truncation.ellipsis, width, width);
        return Cow::Owned(ellipsis.unwrap_or(truncation.ellipsis).to_owned());
    }
    let mut style = StyleState::default();
    for token in AnsiTokens::new(kept) {
        if let AnsiToken::Sequence(sequence) = token {
            style.apply(sequence);
        }
    }
    let mut cut = kept.to_owned();
    style.write_link_close(&mut cut);
    if style.has_attributes() {
        cut.push_str("\x1b[0m");
    }
    cut.push_str(truncation.ellipsis);
    Cow::Owned(cut)
}

/// Returns the prefix of `text` that takes at most `room` columns, or `None` if all of it fits in
/// `width`.
fn fitting_prefix(text: &str, width: usize, room: usize) -> Option<&str> {
    let (mut offset, mut column) = (0, 0);
    let mut kept = 0;
    for token in AnsiTokens::new(text) {
        let part = match token {
            AnsiToken::Sequence(sequence) => {
                offset += sequence.len();
                continue;
            }
            AnsiToken::Text(part) => part,
        };
        // Characters of one column; the grapheme after them decides where the text is cut.
        let plain = ascii_run_length(part.as_bytes()).min(room.saturating_sub(column));
        offset += plain;
        column += plain;
        if plain > 0 {
            kept = offset;
        }
        for grapheme in graphemes(part.get(plain..).unwrap_or_default()) {
            offset += grapheme.len();
            column += grapheme_width(grapheme);
            if column <= room {
                kept = offset;
            } else if column > width {
                return text.get(..kept);
            }
        }
    }
    None
}

/// Pads `text` with spaces to `width` columns.
pub fn pad_to_width(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(visible_width(text));
    let mut padded = String::with_capacity(text.len() + missing);
    padded.push_str(text);
    padded.extend(std::iter::repeat_n(' ', missing));
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn truncated_text_ends_in_the_ellipsis() {
        let cases: &[(&str, usize, &str, &str)] = &[
            ("short", 5, "...", "short"),
            ("longer", 5, "...", "lo..."),
            ("longer", 5, "…", "long…"),
            ("longer", 5, "", "longe"),
            ("longer", 3, "...", "..."),
            ("longer", 2, "...", ".."),
            ("longer", 0, "...", ""),
            ("", 3, "...", ""),
            ("漢字漢字", 8, "...", "漢字漢字"),
            ("漢字漢字", 7, "...", "漢字..."),
            ("漢字漢字", 6, "...", "漢..."),
            ("e\u{301}e\u{301}e\u{301}", 2, "…", "e\u{301}…"),
            ("a\tbcd", 5, "…", "a\t…"),
            ("\x1b[31mlonger\x1b[0m", 5, "...", "\x1b[31mlo\x1b[0m..."),
            ("\x1b[31mred\x1b[0m", 3, "...", "\x1b[31mred\x1b[0m"),
            ("ab\x1b[31mcdef", 5, "...", "ab..."),
            (
                "\x1b]8;;u\x07longer",
                5,
                "...",
                "\x1b]8;;u\x07lo\x1b]8;;\x07...",
            ),
        ];
        for (text, width, ellipsis, expected) in cases {
            let truncation = TruncateOptions { ellipsis };
            assert_eq!(
                truncate_to_width(text, *width, truncation),
                *expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn padding_fills_up_to_the_width() {
        assert_eq!(pad_to_width("漢", 4), "漢  ");
        assert_eq!(pad_to_width("\x1b[1mlong\x1b[0m", 3), "\x1b[1mlong\x1b[0m");
    }

    proptest! {
        #[test]
        fn the_result_fits(text in "\\PC{0,40}", width in 0_usize..40, ellipsis in "(\\.\\.\\.|…|)") {
            let cut = truncate_to_width(&text, width, TruncateOptions { ellipsis: &ellipsis });
            prop_assert!(visible_width(&cut) <= width);
        }
    }
}
