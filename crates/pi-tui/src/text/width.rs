//! How many columns text takes.
//!
//! Width is counted by grapheme cluster, because that is what the cursor moves over. Escape sequences
//! and control characters take none, a tab takes [`TAB_WIDTH`], ambiguous characters are narrow.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::ansi::{AnsiToken, AnsiTokens};

/// Columns a tab is laid out with. Output replaces tabs by spaces, so tab stops play no part.
pub const TAB_WIDTH: usize = 3;

/// Returns the columns `text` takes on a terminal, escape sequences not counted.
pub fn visible_width(text: &str) -> usize {
    if is_printable_ascii(text.as_bytes()) {
        return text.len();
    }
    AnsiTokens::new(text)
        .map(|token| match token {
            AnsiToken::Text(text) => text_width(text),
            AnsiToken::Sequence(_) => 0,
        })
        .sum()
}

/// Returns whether every byte is an ASCII character that takes one column.
pub(crate) fn is_printable_ascii(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, 0x20..=0x7e))
}

fn text_width(text: &str) -> usize {
    if is_printable_ascii(text.as_bytes()) {
        return text.len();
    }
    graphemes(text).map(grapheme_width).sum()
}

/// Returns the grapheme clusters of `text`, which must not contain escape sequences.
pub fn graphemes(text: &str) -> impl Iterator<Item = &str> {
    text.graphemes(true)
}

/// Returns the columns one grapheme cluster takes.
pub fn grapheme_width(grapheme: &str) -> usize {
    match grapheme.as_bytes() {
        [b'\t'] => TAB_WIDTH,
        [0x20..=0x7e] => 1,
        [_] => 0,
        _ => grapheme.width(),
    }
}
