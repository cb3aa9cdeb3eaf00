//! Words as the cursor moves over them: runs of letters, runs of punctuation, spaces between.
//!
//! Boundaries are Unicode's, with one addition: ASCII punctuation always separates, so that a path or
//! an identifier with dots is taken piece by piece.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

const PUNCTUATION: &str = "(){}[]<>.,;:'\"!?+-=*/\\|&%^$#@~`";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    Word,
    Punctuation,
    Atom,
}

/// Returns the pieces of `text` in order; `atoms` are ranges that count as one piece each.
fn pieces<'a>(
    text: &'a str,
    atoms: &'a [Range<usize>],
) -> impl Iterator<Item = (Range<usize>, Kind)> + 'a {
    let mut atoms = atoms.iter().peekable();
    text.split_word_bound_indices()
        .flat_map(|(start, segment)| split_at_punctuation(start, segment))
        .filter_map(move |(range, kind)| {
            while atoms.next_if(|atom| atom.end <= range.start).is_some() {}
            match atoms.peek() {
                Some(atom) if atom.start == range.start => Some(((*atom).clone(), Kind::Atom)),
                Some(atom) if atom.contains(&range.start) => None,
                _ => Some((range, kind)),
            }
        })
}

fn split_at_punctuation(start: usize, segment: &str) -> Vec<(Range<usize>, Kind)> {
    let mut found: Vec<(Range<usize>, Kind)> = Vec::new();
    for (offset, character) in segment.char_indices() {
        let at = start + offset;
        let kind = if character.is_whitespace() {
            Kind::Space
        } else if PUNCTUATION.contains(character)
            || !(character.is_alphanumeric() || character == '_' || !character.is_ascii())
        {
            Kind::Punctuation
        } else {
            Kind::Word
        };
        let end = at + character.len_utf8();
        match found.last_mut() {
            Some((range, last)) if *last == kind => range.end = end,
            _ => found.push((at..end, kind)),
        }
    }
    found
}

/// Returns where the cursor lands one word before `cursor`.
pub(crate) fn word_start_before(text: &str, cursor: usize, atoms: &[Range<usize>]) -> usize {
    let before = text.get(..cursor).unwrap_or(text);
    let mut landed = 0;
    let mut previous_kind = Kind::Space;
    for (range, kind) in pieces(before, atoms) {
        let continues = kind == Kind::Punctuation && previous_kind == Kind::Punctuation;
        if kind != Kind::Space && !continues {
            landed = range.start;
        }
        previous_kind = kind;
    }
    landed
}

/// Returns where the cursor lands one word after `cursor`.
pub(crate) fn word_end_after(text: &str, cursor: usize, atoms: &[Range<usize>]) -> usize {
    let shifted: Vec<Range<usize>> = atoms
        .iter()
        .filter(|atom| atom.start >= cursor)
        .map(|atom| atom.start - cursor..atom.end - cursor)
        .collect();
    let after = text.get(cursor..).unwrap_or_default();
    let mut end: Option<(usize, Kind)> = None;
    for (range, kind) in pieces(after, &shifted) {
        match end {
            None if kind == Kind::Space => {}
            None => end = Some((range.end, kind)),
            Some((_, Kind::Punctuation)) if kind == Kind::Punctuation => {
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
    fn words_stop_at_spaces_and_punctuation() {
        // The text, and where repeated moves from the end and from the start land.
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
    fn an_atom_is_one_word() {
        let text = "a [paste #1 +12 lines]b";
        let atoms = std::slice::from_ref(&(2..22));
        assert_eq!(word_start_before(text, 22, atoms), 2);
        assert_eq!(word_end_after(text, 1, atoms), 22);
        assert_eq!(word_end_after(text, 2, atoms), 22);
    }
}
