//! Emphasis next to Chinese, Japanese and Korean text.
//!
//! Whether `*` opens or closes emphasis depends on its neighbors, and next to punctuation the rules expect a space on the
//! other side. These scripts have no spaces: in `**「a」**b` the second pair would not close. The parser therefore sees
//! other characters of the same length in place of such neighbors, and its text is restored afterwards.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Placeholder for a character that is treated as punctuation, in three bytes.
const PUNCTUATION: char = '\u{2020}';

/// Placeholder for a character that is treated as a letter, in three bytes.
const LETTER: char = '\u{a015}';

/// Whether a character is Chinese, Japanese or Korean text or punctuation.
pub(crate) fn is_east_asian(character: char) -> bool {
    matches!(character,
        '\u{3001}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}'
        | '\u{20000}'..='\u{3ffff}')
}

fn is_east_asian_punctuation(character: char) -> bool {
    matches!(character,
        '\u{3001}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}'
        | '\u{3014}'..='\u{301f}'
        | '\u{3030}'
        | '\u{30fb}'
        | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}'
        | '\u{ff3b}'..='\u{ff40}'
        | '\u{ff5b}'..='\u{ff65}')
}

fn is_other_punctuation(character: char) -> bool {
    character.is_ascii_punctuation()
        || matches!(character, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}')
        || "«»¡¿§¶·".contains(character)
}

/// A text in which neighbors of `*` are replaced.
#[derive(Default)]
pub(super) struct MaskedText {
    pub(super) text: String,
    /// Offsets of the characters that stand for others, with those, in order.
    replaced: Vec<(usize, char)>,
}

impl MaskedText {
    /// Returns `None` if nothing is replaced.
    pub(super) fn of(source: &str) -> Option<Self> {
        if !source.contains('*') || !source.contains(is_east_asian) {
            return None;
        }
        let masks = masks(source);
        if masks.is_empty() {
            return None;
        }
        let mut text = String::with_capacity(source.len());
        let mut replaced = Vec::new();
        for (offset, character) in source.char_indices() {
            let mask = masks.get(&offset).copied();
            text.push(mask.unwrap_or(character));
            if mask.is_some() || matches!(character, PUNCTUATION | LETTER) {
                replaced.push((offset, character));
            }
        }
        Some(Self { text, replaced })
    }

    /// Restores a part of the text that was parsed from a range.
    pub(super) fn restore<'a>(&self, part: &'a str, range: &Range<usize>) -> Cow<'a, str> {
        let is_mask = |character: char| matches!(character, PUNCTUATION | LETTER);
        let count = part.chars().filter(|character| is_mask(*character)).count();
        if count == 0 {
            return Cow::Borrowed(part);
        }
        let first = self
            .replaced
            .partition_point(|(offset, _)| *offset < range.start);
        let after = self
            .replaced
            .partition_point(|(offset, _)| *offset < range.end);
        // The URL of a link follows its text.
        let first = first.max(after.saturating_sub(count));
        let mut originals = self.replaced.get(first..after).unwrap_or_default().iter();
        let restored = part.chars().map(|character| {
            if is_mask(character) {
                originals
                    .next()
                    .map_or(character, |(_, original)| *original)
            } else {
                character
            }
        });
        Cow::Owned(restored.collect())
    }
}

/// Returns what replaces the neighbors of `*`, by their offsets. Definitions of links stay as they are: their URLs appear
/// elsewhere.
fn masks(source: &str) -> BTreeMap<usize, char> {
    let mut masks = BTreeMap::new();
    let mut offset = 0;
    for line in source.split_inclusive('\n') {
        let is_definition = line.trim_start().starts_with('[') && line.contains("]:");
        if !is_definition {
            mask_line(line, offset, &mut masks);
        }
        offset += line.len();
    }
    masks
}

fn mask_line(line: &str, offset: usize, masks: &mut BTreeMap<usize, char>) {
    let mut searched = 0;
    while let Some(found) = line.get(searched..).and_then(|rest| rest.find('*')) {
        let start = searched + found;
        let rest = line.get(start..).unwrap_or_default();
        let end = start + rest.len() - rest.trim_start_matches('*').len();
        searched = end;
        let before = line.get(..start).and_then(|text| text.chars().next_back());
        let after = line.get(end..).and_then(|text| text.chars().next());
        let mut mask = |neighbor: Option<char>, other: Option<char>, position: usize| {
            let Some(character) = neighbor.filter(|it| is_east_asian(*it) && it.len_utf8() == 3)
            else {
                return;
            };
            if other.is_some_and(is_other_punctuation) {
                masks.insert(offset + position, PUNCTUATION);
            } else if is_east_asian_punctuation(character) {
                masks.entry(offset + position).or_insert(LETTER);
            }
        };
        mask(before, after, start.saturating_sub(3));
        mask(after, before, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_text_has_the_same_offsets_and_is_restored() {
        for source in [
            "**「重要」**です",
            "これは**“強調”**です†",
            "**重要。**然后",
            "text**（x）**text",
            "**“**是**”**",
            "𠀀**“a”**𠀀",
        ] {
            let Some(masked) = MaskedText::of(source) else {
                assert!(source.starts_with('𠀀'), "{source}");
                continue;
            };
            assert_eq!(masked.text.len(), source.len(), "{source}");
            assert_ne!(masked.text, source);
            let whole = 0..source.len();
            assert_eq!(masked.restore(&masked.text, &whole), source);
        }
        for source in ["**“a”**b", "強調 * です", "重要", "**強調**です"] {
            assert!(MaskedText::of(source).is_none(), "{source}");
        }
    }
}
