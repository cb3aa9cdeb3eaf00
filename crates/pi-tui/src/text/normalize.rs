//! Final normalization of a line before output, so that it takes the columns layout assumed.

use std::borrow::Cow;

use super::ansi::{AnsiToken, AnsiTokens};

/// The [`TAB_WIDTH`](super::TAB_WIDTH) spaces a tab is laid out with.
const TAB: &str = "   ";

/// Returns `line` with tabs expanded and Thai and Lao AM vowels decomposed.
///
/// Tabs become the [`TAB_WIDTH`](super::TAB_WIDTH) spaces they were laid out with; tabs inside
/// escape sequences are kept. Some terminals leave stale cells behind when they repaint a
/// precomposed AM vowel; the decomposed form takes the same columns without that problem.
pub fn expand_for_terminal(line: &str) -> Cow<'_, str> {
    // Thai and Lao letters start with the same byte, which is rare in other text.
    if memchr::memchr2(b'\t', 0xe0, line.as_bytes()).is_none() {
        return Cow::Borrowed(line);
    }
    let mut expanded = String::with_capacity(line.len() + 8);
    for token in AnsiTokens::new(line) {
        match token {
            AnsiToken::Sequence(sequence) => expanded.push_str(sequence),
            AnsiToken::Text(text) => {
                for character in text.chars() {
                    match character {
                        '\t' => expanded.push_str(TAB),
                        '\u{e33}' => expanded.push_str("\u{e4d}\u{e32}"),
                        '\u{eb3}' => expanded.push_str("\u{ecd}\u{eb2}"),
                        other => expanded.push(other),
                    }
                }
            }
        }
    }
    Cow::Owned(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::visible_width;

    #[test]
    fn output_matches_the_layout_width() {
        let cases = [
            ("a\tb", "a   b"),
            ("\x1b]0;a\tb\x07\t", "\x1b]0;a\tb\x07   "),
            ("น้ำ", "น้\u{e4d}\u{e32}"),
            ("ນ້ຳ", "ນ້\u{ecd}\u{eb2}"),
            ("ไทย", "ไทย"),
            ("plain", "plain"),
        ];
        for (line, expected) in cases {
            assert_eq!(expand_for_terminal(line), expected);
            assert_eq!(visible_width(expected), visible_width(line), "{line:?}");
        }
        assert_eq!(visible_width(TAB), crate::text::TAB_WIDTH);
    }
}
