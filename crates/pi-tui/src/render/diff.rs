//! Computes which part of a changed row must be rewritten.

use crate::text::{AnsiToken, AnsiTokens};

/// Text to write after erasing from `column` to the end of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowChange<'a> {
    pub(super) column: usize,
    pub(super) text: &'a str,
}

/// Returns the change that turns a row showing `old` into one showing `new`, or `None` if they are
/// visually identical.
///
/// Only a common prefix of unstyled ASCII is kept: there, bytes equal columns and no style is open.
/// The last kept character is dropped if non-ASCII text follows, which may combine with it. A word that grows is written
/// from its start, so that terminals with ligatures, and programs that watch the output, see it whole.
pub(super) fn row_change<'a>(old: &str, new: &'a str) -> Option<RowChange<'a>> {
    if old == new {
        return None;
    }
    let mut kept = old
        .bytes()
        .zip(new.bytes())
        .take_while(|(old, new)| old == new && matches!(new, 0x20..=0x7e))
        .count();
    let combines = |text: &str| {
        text.as_bytes()
            .get(kept)
            .is_some_and(|byte| !byte.is_ascii())
    };
    if combines(old) || combines(new) {
        kept = kept.saturating_sub(1);
    }
    if new.as_bytes().get(kept).is_some_and(u8::is_ascii_graphic) {
        let before = new.get(..kept).unwrap_or_default();
        kept = before.rfind(' ').map_or(0, |space| space + 1);
    }
    let text = new.get(kept..).unwrap_or(new);
    // Styles alone change nothing, and after a full row there is no column left to erase from: the
    // terminal would erase the last one.
    if is_only_style(text) && old.get(kept..).is_some_and(is_only_style) {
        return None;
    }
    Some(RowChange { column: kept, text })
}

/// Whether text consists only of styles and links around nothing.
fn is_only_style(text: &str) -> bool {
    AnsiTokens::new(text).all(|token| match token {
        AnsiToken::Text(_) => false,
        AnsiToken::Sequence(sequence) => {
            sequence.starts_with("\x1b[") || sequence.starts_with("\x1b]8;")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_the_part_after_a_plain_common_prefix_is_written() {
        let cases = [
            ("same", "same", None),
            ("", "new", Some((0, "new"))),
            ("hello wor", "hello world", Some((6, "world"))),
            ("end-o", "end-of-answer", Some((0, "end-of-answer"))),
            ("hello", "hello world", Some((5, " world"))),
            ("hello world", "hello", Some((5, ""))),
            ("a\x1b[1mb", "a\x1b[1mc", Some((1, "\x1b[1mc"))),
            ("cafe", "cafe\u{301}", Some((0, "cafe\u{301}"))),
            ("cafe\u{301}", "cafe", Some((0, "cafe"))),
            ("a ", "a \u{301}", Some((1, " \u{301}"))),
            ("a \u{301}", "a ", Some((1, " "))),
            ("漢", "漢字", Some((0, "漢字"))),
            ("full", "full\x1b[0m", None),
            ("full\x1b[1m", "full", None),
            ("\x1b]1337;File=x\x07", "", Some((0, ""))),
        ];
        for (old, new, expected) in cases {
            let expected = expected.map(|(column, text)| RowChange { column, text });
            assert_eq!(row_change(old, new), expected, "{old:?} -> {new:?}");
        }
    }
}
