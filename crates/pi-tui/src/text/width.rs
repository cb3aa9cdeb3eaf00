//! Width of text in columns.
//!
//! Width is measured per grapheme cluster, which is what the cursor moves over. Escape sequences
//! and control characters take no columns, a tab takes [`TAB_WIDTH`], and ambiguous characters are
//! narrow.

use unicode_segmentation::GraphemeCursor;
use unicode_width::UnicodeWidthStr;

use super::ansi::{AnsiToken, AnsiTokens};

/// Columns of a tab. Output replaces tabs with spaces, so tab stops do not matter.
pub const TAB_WIDTH: usize = 3;

/// Returns the columns `text` takes on a terminal, ignoring escape sequences.
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

/// Whether every byte is an ASCII character that takes one column.
///
/// Full blocks are folded without branches, so that the compiler can vectorize the loop.
pub(crate) fn is_printable_ascii(bytes: &[u8]) -> bool {
    const BLOCK: usize = 64;
    #[cfg(test)]
    super::linearity::count(bytes.len());
    let printable = |byte: &u8| byte.wrapping_sub(0x20) < 0x5f;
    let mut blocks = bytes.chunks_exact(BLOCK);
    blocks.all(|block| block.iter().fold(true, |all, byte| all & printable(byte)))
        && blocks.remainder().iter().all(printable)
}

fn text_width(text: &str) -> usize {
    let mut width = 0;
    let mut rest = text;
    loop {
        let run = ascii_run_length(rest.as_bytes());
        width += run;
        let mut clusters = graphemes(rest.get(run..).unwrap_or_default());
        let Some(grapheme) = clusters.next() else {
            return width;
        };
        width += grapheme_width(grapheme);
        rest = clusters.rest;
    }
}

/// Returns how many bytes at the start are clusters of one byte and one column.
///
/// The last ASCII character before a non-ASCII one is excluded, since a combining mark may follow
/// it.
pub(super) fn ascii_run_length(bytes: &[u8]) -> usize {
    let length = bytes
        .iter()
        .take_while(|byte| matches!(byte, 0x20..=0x7e))
        .count();
    let before_other = bytes.get(length).is_some_and(|byte| !byte.is_ascii());
    if before_other {
        length.saturating_sub(1)
    } else {
        length
    }
}

/// Returns the grapheme clusters of `text`, which must not contain escape sequences.
pub fn graphemes(text: &str) -> Graphemes<'_> {
    Graphemes { rest: text }
}

/// An iterator over grapheme clusters, with a fast path for ASCII.
#[derive(Clone, Debug)]
pub struct Graphemes<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Graphemes<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let mut characters = self.rest.chars();
        let first = characters.next()?;
        let is_standalone = |character: char| standalone_width(character).is_some();
        let length = if is_standalone(first) && characters.next().is_none_or(is_standalone) {
            first.len_utf8()
        } else {
            // Cluster boundaries do not depend on earlier text, so each search may start fresh.
            GraphemeCursor::new(0, self.rest.len(), true)
                .next_boundary(self.rest, 0)
                .ok()
                .flatten()
                .unwrap_or(self.rest.len())
        };
        #[cfg(test)]
        super::linearity::count(length);
        let (grapheme, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(grapheme)
    }
}

/// Returns the columns of a character that forms its own cluster whenever its neighbors do, too.
///
/// Covers most text. Only a shortcut: other characters take the slow path.
fn standalone_width(character: char) -> Option<usize> {
    match character {
        ' '..='~'
        | '\u{c0}'..='\u{2ff}' // Latin
        | '\u{391}'..='\u{3a1}' | '\u{3a3}'..='\u{482}' | '\u{48a}'..='\u{52f}' // Greek, Cyrillic
        | '\u{2010}'..='\u{2027}' // dashes, quotes, bullets, ellipsis
        | '\u{2190}'..='\u{2193}' | '\u{2500}'..='\u{259f}' // arrows, boxes and blocks
        => Some(1),
        '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' // kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' // ideographs
        | '\u{ff01}'..='\u{ff60}' // fullwidth forms
        => Some(2),
        _ => None,
    }
}

pub fn grapheme_width(grapheme: &str) -> usize {
    match grapheme.as_bytes() {
        [b'\t'] => return TAB_WIDTH,
        [0x20..=0x7e] => return 1,
        // C0, and C1 in UTF-8.
        [_] | [0xc2, 0x80..=0x9f] => return 0,
        _ => {}
    }
    let mut characters = grapheme.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        if is_regional_indicator(only) {
            return 2;
        }
        if let Some(width) = standalone_width(only) {
            return width;
        }
    }
    // Terminals do not narrow a wide character for the text presentation selector.
    let width = match grapheme.strip_suffix('\u{fe0e}') {
        Some(base) => base.width(),
        None => grapheme.width(),
    };
    // Terminals do not stack Khmer consonants, although `unicode-width` assumes so.
    let subscripts = grapheme.matches(is_khmer_coeng).count();
    width
        + subscripts
        + grapheme
            .chars()
            .filter(|character| has_own_cell(*character))
            .count()
}

/// Whether a character is half of a flag. Terminals draw it as wide as a full flag, which is
/// visible while text streams in.
fn is_regional_indicator(character: char) -> bool {
    matches!(character, '\u{1f1e6}'..='\u{1f1ff}')
}

/// The sign that joins a Khmer consonant to the preceding one.
fn is_khmer_coeng(character: char) -> bool {
    character == '\u{17d2}'
}

/// Whether terminals advance for a mark that Unicode merges into the preceding character.
///
/// Terminals follow the tables of `wcwidth`, where a spacing mark is an ordinary character; the
/// `unicode-width` crate follows `Grapheme_Extend`, which includes some of them.
fn has_own_cell(character: char) -> bool {
    let index = SPACING_MARKS.partition_point(|(_, last)| *last < character);
    SPACING_MARKS
        .get(index)
        .is_some_and(|(first, _)| *first <= character)
}

/// The marks matched by [`has_own_cell`]: ranges, sorted.
const SPACING_MARKS: &[(char, char)] = &[
    ('\u{65f}', '\u{65f}'),
    ('\u{9be}', '\u{9be}'),
    ('\u{9d7}', '\u{9d7}'),
    ('\u{b3e}', '\u{b3e}'),
    ('\u{b57}', '\u{b57}'),
    ('\u{bbe}', '\u{bbe}'),
    ('\u{bd7}', '\u{bd7}'),
    ('\u{cc0}', '\u{cc0}'),
    ('\u{cc2}', '\u{cc2}'),
    ('\u{cc7}', '\u{cc8}'),
    ('\u{cca}', '\u{ccb}'),
    ('\u{cd5}', '\u{cd6}'),
    ('\u{d3e}', '\u{d3e}'),
    ('\u{d4e}', '\u{d4e}'),
    ('\u{d57}', '\u{d57}'),
    ('\u{dcf}', '\u{dcf}'),
    ('\u{ddf}', '\u{ddf}'),
    ('\u{1033}', '\u{1035}'),
    ('\u{103a}', '\u{103a}'),
    ('\u{103d}', '\u{103e}'),
    ('\u{1715}', '\u{1715}'),
    ('\u{1b35}', '\u{1b35}'),
    ('\u{1b3b}', '\u{1b3b}'),
    ('\u{1b3d}', '\u{1b3d}'),
    ('\u{1b43}', '\u{1b44}'),
    ('\u{1baa}', '\u{1baa}'),
    ('\u{1bf2}', '\u{1bf3}'),
    ('\u{a8fa}', '\u{a8fa}'),
    ('\u{a953}', '\u{a953}'),
    ('\u{a9c0}', '\u{a9c0}'),
    ('\u{111c0}', '\u{111c0}'),
    ('\u{111c2}', '\u{111c3}'),
    ('\u{11235}', '\u{11235}'),
    ('\u{1133e}', '\u{1133e}'),
    ('\u{1134d}', '\u{1134d}'),
    ('\u{11357}', '\u{11357}'),
    ('\u{113b8}', '\u{113b8}'),
    ('\u{113c2}', '\u{113c2}'),
    ('\u{113c5}', '\u{113c5}'),
    ('\u{113c7}', '\u{113c9}'),
    ('\u{113cf}', '\u{113cf}'),
    ('\u{113d1}', '\u{113d1}'),
    ('\u{114b0}', '\u{114b0}'),
    ('\u{114bd}', '\u{114bd}'),
    ('\u{115af}', '\u{115af}'),
    ('\u{116b6}', '\u{116b6}'),
    ('\u{11930}', '\u{11930}'),
    ('\u{1193d}', '\u{1193d}'),
    ('\u{1193f}', '\u{1193f}'),
    ('\u{11941}', '\u{11941}'),
    ('\u{11a84}', '\u{11a89}'),
    ('\u{11d46}', '\u{11d46}'),
    ('\u{11f02}', '\u{11f02}'),
    ('\u{11f41}', '\u{11f41}'),
    ('\u{16ff0}', '\u{16ff1}'),
    ('\u{1d165}', '\u{1d166}'),
    ('\u{1d16d}', '\u{1d172}'),
];

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn widths_match_terminals() {
        let cases: &[(&str, usize)] = &[
            ("", 0),
            ("plain ascii", 11),
            ("a\tb", 5),
            ("a\nb\x07\x7f", 2),
            ("\u{80}\u{9b}", 0),
            ("漢字", 4),
            ("ｶﾞ", 2),
            ("한글", 4),
            ("각", 2),
            ("é", 1),
            ("e\u{301}\u{302}", 1),
            ("\u{301}", 0),
            ("\u{200b}\u{feff}\u{ad}\u{2060}", 0),
            ("👍", 2),
            ("👍🏽", 2),
            ("👨‍👩‍👧‍👦", 2),
            ("🏳️‍🌈", 2),
            (
                "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
                2,
            ),
            ("🇩🇪", 2),
            ("🇩🇪🇫🇷", 4),
            ("🇩", 2),
            ("1️⃣#️⃣", 4),
            ("☺", 1),
            ("☺️", 2),
            ("⌚", 2),
            ("⌚\u{fe0e}", 2),
            ("กำ", 2),
            ("ນຳ", 2),
            ("बांग्ला", 5),
            ("বাংলা", 5),
            ("ខ្មែរ", 4),
            ("─│█•…“”→±§", 10),
            ("　。", 4),
            ("\x1b[1;31mred\x1b[0m", 3),
            ("\x1b]8;;https://example.com\x07link\x1b]8;;\x07", 4),
            ("a\x1b_pi:c\x07b", 2),
            ("cut \x1b]0;off", 4),
        ];
        for (text, width) in cases {
            assert_eq!(visible_width(text), *width, "{text:?}");
        }
    }

    #[test]
    fn shortcut_agrees_with_the_slow_path() {
        for character in (char::MIN..=char::MAX).filter(|one| standalone_width(*one).is_some()) {
            let text = character.to_string();
            assert_eq!(
                standalone_width(character),
                Some(text.width()),
                "{character:?}"
            );
            for (before, after) in [("a", "漢"), ("漢", "a"), ("я", "─")] {
                let text = format!("{before}{character}{after}");
                let clusters = unicode_segmentation::UnicodeSegmentation::graphemes(&*text, true);
                assert_eq!(clusters.count(), 3, "{text:?}");
            }
        }
    }

    #[test]
    fn graphemes_join_back_to_the_text() {
        for text in ["a\r\nb", "e\u{301}x", "\u{301}", "👨‍👩‍👧‍👦🇩🇪🇫🇷", "aé", "क्षa"]
        {
            assert_eq!(graphemes(text).collect::<String>(), text);
            let expected: Vec<_> =
                unicode_segmentation::UnicodeSegmentation::graphemes(text, true).collect();
            assert_eq!(graphemes(text).collect::<Vec<_>>(), expected);
        }
    }
}
