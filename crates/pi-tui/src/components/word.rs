//! Word boundaries for cursor movement: runs of letters, runs of punctuation, and the spaces
//! between.
//!
//! Boundaries follow Unicode, with one addition: ASCII punctuation always separates, so the cursor
//! stops within paths and dotted identifiers.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

const PUNCTUATION: &str = "(){}[]<>.,;:'\"!?+-=*/\\|&%^$#@~`";

#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentKind {
    Space,
    Word,
    Punctuation,
    Atom,
}

/// Returns the segments of `text` in order. Each range in `atoms` is one segment.
fn segments<'a>(
    text: &'a str,
    atoms: &'a [Range<usize>],
) -> impl Iterator<Item = (Range<usize>, SegmentKind)> + 'a {
    let mut atoms = atoms.iter().peekable();
    text.split_word_bound_indices()
        .flat_map(|(start, segment)| split_at_punctuation(start, segment))
        .filter_map(move |(range, kind)| {
            while atoms.next_if(|atom| atom.end <= range.start).is_some() {}
            match atoms.peek() {
                Some(atom) if atom.start == range.start => {
                    Some(((*atom).clone(), SegmentKind::Atom))
                }
                Some(atom) if atom.contains(&range.start) => None,
                _ => Some((range, kind)),
            }
        })
}

fn split_at_punctuation(start: usize, segment: &str) -> Vec<(Range<usize>, SegmentKind)> {
    let mut found: Vec<(Range<usize>, SegmentKind)> = Vec::new();
    for (offset, character) in segment.char_indices() {
        let at = start + offset;
        let kind = if character.is_whitespace() {
            SegmentKind::Space
        } else if PUNCTUATION.contains(character)
            || !(character.is_alphanumeric() || character == '_' || !character.is_ascii())
        {
            SegmentKind::Punctuation
        } else {
            SegmentKind::Word
        };
        let end = at + character.len_utf8();
        match found.last_mut() {
            Some((range, last)) if *last == kind => range.end = end,
            _ => found.push((at..end, kind)),
        }
    }
    found
}

/// Returns the cursor position one word before `cursor`.
pub(crate) fn word_start_before(text: &str, cursor: usize, atoms: &[Range<usize>]) -> usize {
    let before = text.get(..cursor).unwrap_or(text);
    let mut landed = 0;
    let mut previous_kind = SegmentKind::Space;
    for (range, kind) in segments(before, atoms) {
        let continues =
            kind == SegmentKind::Punctuation && previous_kind == SegmentKind::Punctuation;
        if kind != SegmentKind::Space && !continues {
            landed = range.start;
        }
        previous_kind = kind;
    }
    landed
}

/// Returns the cursor position one word after `cursor`.
pub(crate) fn word_end_after(text: &str, cursor: usize, atoms: &[Range<usize>]) -> usize {
    let shifted: Vec<Range<usize>> = atoms
        .iter()
        .filter(|atom| atom.start >= cursor)
        .map(|atom| atom.start - cursor..atom.end - cursor)
        .collect();
    let after = text.get(cursor..).unwrap_or_default();
    let mut end: Option<(usize, SegmentKind)> = None;
    for (range, kind) in segments(after, &shifted) {
        match end {
            None if kind == SegmentKind::Space => {}
            None => end = Some((range.end, kind)),
            Some((_, SegmentKind::Punctuation)) if kind == SegmentKind::Punctuation => {
                end = Some((range.end, kind));
            }
            Some(_) => break,
        }
    }
    end.map_or(text.len(), |(end, _)| cursor + end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn word_movement_stops_at_spaces_and_punctuation() {
        // The text, and the positions of repeated moves from the end and from the start.
        let cases: &[(&str, &[usize], &[usize])] = &[
            ("foo bar", &[4, 0], &[3, 7]),
            ("foo.bar  ", &[4, 3, 0], &[3, 4, 7, 9]),
            ("a... b", &[5, 1, 0], &[1, 4, 6]),
            ("don't", &[4, 3, 0], &[3, 4, 5]),
            ("a_b-c", &[4, 3, 0], &[3, 4, 5]),
            ("  ", &[0], &[2]),
            ("héllo wörld", &[7, 0], &[6, 13]),
        ];
        for (text, backward, forward) in cases {
            let mut at = text.len();
            for expected in *backward {
                at = word_start_before(text, at, &[]);
                assert_eq!(at, *expected, "backward in {text:?}");
            }
            at = 0;
            for expected in *forward {
                at = word_end_after(text, at, &[]);
                assert_eq!(at, *expected, "forward in {text:?}");
            }
        }
    }

    #[test]
    fn atoms_are_one_word() {
        let text = "a [paste #1 +12 lines]b";
        let atoms = std::slice::from_ref(&(2..22));
        assert_eq!(word_start_before(text, 22, atoms), 2);
        assert_eq!(word_end_after(text, 1, atoms), 22);
        assert_eq!(word_end_after(text, 2, atoms), 22);
    }
}
