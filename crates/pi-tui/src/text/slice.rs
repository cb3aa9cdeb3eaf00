//! Slices of a styled line by column, for horizontal scrolling, selection and overlays.

use std::ops::Range;

use super::ansi::{AnsiToken, AnsiTokens, StyleState, hyperlink_target};
use super::width::{grapheme_width, graphemes, visible_width};

/// How to treat a wide character that crosses the right edge of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WideCharPolicy {
    /// Keep it; the slice is one column wider than requested.
    Keep,
    /// Drop it; the slice is one column narrower than requested.
    Drop,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSlice {
    /// The text, starting with the style active at that column. The style at its end stays open.
    pub text: String,
    /// Width in columns.
    pub width: usize,
}

/// Returns the columns `columns` of `line`, styled as they are in the line.
///
/// A wide character that the left edge cuts in half is replaced by spaces, so that the following
/// text keeps its column.
pub fn slice_columns(line: &str, columns: Range<usize>, edge: WideCharPolicy) -> LineSlice {
    let mut slice = LineSlice::default();
    if columns.is_empty() {
        return slice;
    }
    let mut style = StyleState::default();
    let mut started = false;
    let mut column = 0;
    for token in AnsiTokens::new(line) {
        match token {
            AnsiToken::Sequence(sequence) if columns.contains(&column) => {
                if !std::mem::replace(&mut started, true) {
                    style.write_open(&mut slice.text);
                }
                slice.text.push_str(sequence);
            }
            AnsiToken::Sequence(sequence) => style.apply(sequence),
            AnsiToken::Text(text) => {
                for grapheme in graphemes(text) {
                    let next = column + grapheme_width(grapheme);
                    if next > columns.start && !std::mem::replace(&mut started, true) {
                        style.write_open(&mut slice.text);
                    }
                    if column < columns.start {
                        let visible = next.min(columns.end).saturating_sub(columns.start);
                        slice.text.extend(std::iter::repeat_n(' ', visible));
                        slice.width += visible;
                    } else if next <= columns.end || edge == WideCharPolicy::Keep {
                        slice.text.push_str(grapheme);
                        slice.width += next - column;
                    }
                    column = next;
                    if column >= columns.end {
                        break;
                    }
                }
            }
        }
        if column >= columns.end {
            break;
        }
    }
    slice
}

/// Returns the parts left and right of the `covered` columns, up to column `end`.
pub fn split_around(line: &str, covered: Range<usize>, end: usize) -> (LineSlice, LineSlice) {
    let before = slice_columns(line, 0..covered.start, WideCharPolicy::Drop);
    let after = slice_columns(line, covered.end..end, WideCharPolicy::Drop);
    (before, after)
}

/// Returns the columns of the character that covers `column`.
pub fn cell_range_at(line: &str, column: usize) -> Option<Range<usize>> {
    let mut start = 0;
    for token in AnsiTokens::new(line) {
        let AnsiToken::Text(text) = token else {
            continue;
        };
        for grapheme in graphemes(text) {
            let end = start + grapheme_width(grapheme);
            if (start..end).contains(&column) {
                return Some(start..end);
            }
            start = end;
        }
    }
    None
}

/// Returns the URL of the hyperlink at `column`.
pub fn link_at(line: &str, column: usize) -> Option<&str> {
    let mut address = None;
    let mut end = 0;
    for token in AnsiTokens::new(line) {
        match token {
            AnsiToken::Sequence(sequence) => {
                if let Some(target) = hyperlink_target(sequence) {
                    address = Some(target).filter(|target| !target.is_empty());
                }
            }
            AnsiToken::Text(text) => {
                end += visible_width(text);
                if column < end {
                    return address;
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::strip_ansi;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn a_slice_keeps_columns_and_styles() {
        let cases: &[(&str, Range<usize>, WideCharPolicy, &str, usize)] = &[
            ("hello", 1..3, WideCharPolicy::Drop, "el", 2),
            ("hello", 3..99, WideCharPolicy::Drop, "lo", 2),
            ("hello", 9..12, WideCharPolicy::Drop, "", 0),
            ("hello", 2..2, WideCharPolicy::Drop, "", 0),
            ("漢字x", 0..3, WideCharPolicy::Drop, "漢", 2),
            ("漢字x", 0..3, WideCharPolicy::Keep, "漢字", 4),
            ("漢字x", 1..5, WideCharPolicy::Drop, " 字x", 4),
            ("漢字x", 1..2, WideCharPolicy::Drop, " ", 1),
            (
                "\x1b[31mred\x1b[0m plain",
                1..6,
                WideCharPolicy::Drop,
                "\x1b[31med\x1b[0m pl",
                5,
            ),
            (
                "\x1b[31mred\x1b[0m plain",
                4..6,
                WideCharPolicy::Drop,
                "pl",
                2,
            ),
            (
                "\x1b[31m\x1b[1mred",
                1..2,
                WideCharPolicy::Drop,
                "\x1b[1;31me",
                1,
            ),
            (
                "ab\x1b_pi:c\x07cd",
                2..4,
                WideCharPolicy::Drop,
                "\x1b_pi:c\x07cd",
                2,
            ),
            (
                "e\u{301}e\u{301}",
                1..2,
                WideCharPolicy::Drop,
                "e\u{301}",
                1,
            ),
        ];
        for (line, columns, edge, text, width) in cases {
            let expected = LineSlice {
                text: (*text).to_owned(),
                width: *width,
            };
            assert_eq!(
                slice_columns(line, columns.clone(), *edge),
                expected,
                "{line:?} {columns:?}"
            );
        }
    }

    #[test]
    fn an_overlay_leaves_both_sides_styled() {
        let (before, after) = split_around("\x1b[31mabcdef", 2..4, 6);
        assert_eq!(before.text, "\x1b[31mab");
        assert_eq!(after.text, "\x1b[31mef");
    }

    #[test]
    fn a_column_finds_its_character_and_link() {
        let line = "a漢\x1b]8;;http://x\x07link\x1b]8;;\x07b";
        assert_eq!(cell_range_at(line, 0), Some(0..1));
        assert_eq!(cell_range_at(line, 2), Some(1..3));
        assert_eq!(cell_range_at(line, 99), None);
        assert_eq!(link_at(line, 1), None);
        assert_eq!(link_at(line, 3), Some("http://x"));
        assert_eq!(link_at(line, 6), Some("http://x"));
        assert_eq!(link_at(line, 7), None);
        assert_eq!(link_at(line, 99), None);
    }

    proptest! {
        #[test]
        fn neighboring_slices_make_the_line(text in "[a-z漢字é👍]{0,30}", at in 0_usize..40) {
            let left = slice_columns(&text, 0..at, WideCharPolicy::Drop);
            let right = slice_columns(&text, at..200, WideCharPolicy::Drop);
            prop_assert_eq!(left.width, visible_width(&left.text));
            prop_assert_eq!(right.width, visible_width(&right.text));
            let cut = usize::from(cell_range_at(&text, at).is_some_and(|cells| cells.start < at));
            prop_assert_eq!(left.width + right.width + cut, visible_width(&text));
            if cut == 0 {
                prop_assert_eq!(strip_ansi(&(left.text + &right.text)).into_owned(), text);
            }
        }
    }
}
