//! Finds what the edits mean in a file.
//!
//! All edits are matched against the same original text, letter by letter first. If one of them
//! matches only in the form of `fuzzy`, all are matched in that form, and the lines they touch are
//! written from it; other lines keep their bytes. Every text must occur once and no two may overlap.
//! Nothing is applied here: the outcome is a list of replacements, or the reason there is none.

use std::ops::Range;

use thiserror::Error;

use super::fuzzy::comparable;
use super::nearest::{Nearest, nearest};
use crate::line_endings::{PlainText, Replacement, replace_ranges, with_plain_newlines};

/// One replacement a model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) old_text: String,
    pub(super) new_text: String,
}

/// Why edits cannot be made. The message follows "x was not changed: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum EditError {
    #[error("{which} is empty; give the text to be replaced")]
    Empty { which: Which },
    #[error(
        "{which} does not occur in the file; it must match it letter by letter, blanks and line breaks included{}",
        nearest_hint(.nearest.as_ref())
    )]
    NotFound {
        which: Which,
        nearest: Option<Nearest>,
    },
    #[error("{which} occurs {count} times; add surrounding lines until it is unique")]
    Ambiguous { which: Which, count: usize },
    #[error(
        "edits[{first}] and edits[{second}] overlap; merge them into one edit or choose separate parts"
    )]
    Overlap { first: usize, second: usize },
    #[error("the new text is the same as the old one")]
    NoChange,
    #[error(
        "{which} matches only loosely, on a line that holds bytes that are not UTF-8; copy the text exactly"
    )]
    Undecodable { which: Which },
}

/// The text an error is about; its index is named when there are several edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Which(Option<usize>);

impl std::fmt::Display for Which {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(index) => write!(formatter, "edits[{index}].oldText"),
            None => formatter.write_str("oldText"),
        }
    }
}

fn nearest_hint(nearest: Option<&Nearest>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!(". The closest text is {nearest}")
    })
}

/// Returns the replacements the edits stand for, ascending and apart.
pub(super) fn find_replacements(
    plain: &PlainText<'_>,
    edits: &[Edit],
) -> Result<Vec<Replacement>, EditError> {
    let which = |index| Which((edits.len() > 1).then_some(index));
    let edits: Vec<Edit> = edits
        .iter()
        .map(|edit| Edit {
            old_text: with_plain_newlines(&edit.old_text),
            new_text: with_plain_newlines(&edit.new_text),
        })
        .collect();
    if let Some(index) = edits.iter().position(|edit| edit.old_text.is_empty()) {
        return Err(EditError::Empty {
            which: which(index),
        });
    }
    let text = plain.text();
    let loose_text = comparable(text);
    let is_exact = |edit: &Edit| text.contains(&edit.old_text);
    let is_loose = |edit: &Edit| find_loose(&loose_text, &edit.old_text).is_some();
    let loose = edits.iter().any(|edit| !is_exact(edit) && is_loose(edit));
    let base = if loose { &loose_text } else { text };

    let mut matches = Vec::with_capacity(edits.len());
    for (index, edit) in edits.into_iter().enumerate() {
        let found = find(base, &edit.old_text).or_else(|| {
            // Reached only in the loose form: in the exact one, no edit matched loosely.
            find_loose(base, &edit.old_text).filter(|_| loose)
        });
        let Some(range) = found else {
            return Err(EditError::NotFound {
                which: which(index),
                nearest: nearest(text, &edit.old_text),
            });
        };
        let count = occurrences(base, &loose_text, &edit.old_text);
        if count > 1 {
            return Err(EditError::Ambiguous {
                which: which(index),
                count,
            });
        }
        matches.push(Match {
            index,
            replacement: Replacement {
                range,
                text: edit.new_text,
            },
        });
    }
    matches.sort_by_key(|found| found.replacement.range.start);
    check_apart(&matches)?;

    let replacements = if loose {
        widen_to_lines(plain, &loose_text, &matches).map_err(|index| EditError::Undecodable {
            which: which(index),
        })?
    } else {
        matches.into_iter().map(|found| found.replacement).collect()
    };
    if replace_ranges(text, &replacements) == text {
        return Err(EditError::NoChange);
    }
    Ok(replacements)
}

struct Match {
    index: usize,
    replacement: Replacement,
}

fn find(text: &str, part: &str) -> Option<Range<usize>> {
    let start = text.find(part)?;
    Some(start..start + part.len())
}

/// Finds a text in one that has the form for comparison.
fn find_loose(loose_text: &str, part: &str) -> Option<Range<usize>> {
    let part = comparable(part);
    // Blanks alone have nothing left to compare.
    if part.is_empty() {
        return None;
    }
    find(loose_text, &part)
}

/// Counts in the form for comparison even what matches exactly: what looks the same is ambiguous.
fn occurrences(base: &str, loose_text: &str, part: &str) -> usize {
    let loose_part = comparable(part);
    if loose_part.is_empty() {
        return base.matches(part).count();
    }
    loose_text.matches(&loose_part).count()
}

fn check_apart(matches: &[Match]) -> Result<(), EditError> {
    for pair in matches.windows(2) {
        if let [before, after] = pair
            && before.replacement.range.end > after.replacement.range.start
        {
            return Err(EditError::Overlap {
                first: before.index,
                second: after.index,
            });
        }
    }
    Ok(())
}

/// Turns matches in the loose text into replacements of whole lines of the text itself.
///
/// Both texts have the same lines. Fails with the index of an edit that touches a line which cannot be
/// written anew without losing bytes.
fn widen_to_lines(
    plain: &PlainText<'_>,
    loose_text: &str,
    matches: &[Match],
) -> Result<Vec<Replacement>, usize> {
    let lines = line_starts(plain.text());
    let loose_lines = line_starts(loose_text);
    let mut groups: Vec<(Range<usize>, Vec<&Match>)> = Vec::new();
    for found in matches {
        let touched = touched_lines(&loose_lines, &found.replacement.range);
        match groups.last_mut() {
            Some((group, members)) if touched.start < group.end => {
                group.end = group.end.max(touched.end);
                members.push(found);
            }
            _ => groups.push((touched, vec![found])),
        }
    }
    groups
        .into_iter()
        .map(|(group, members)| {
            let range = span(&lines, &group, plain.text().len());
            if plain.is_undecodable(&range) {
                return Err(members.first().map_or(0, |found| found.index));
            }
            let loose_range = span(&loose_lines, &group, loose_text.len());
            let within: Vec<Replacement> = members
                .iter()
                .map(|found| Replacement {
                    range: found.replacement.range.start - loose_range.start
                        ..found.replacement.range.end - loose_range.start,
                    text: found.replacement.text.clone(),
                })
                .collect();
            let group_text = loose_text.get(loose_range).unwrap_or_default();
            Ok(Replacement {
                range,
                text: replace_ranges(group_text, &within),
            })
        })
        .collect()
}

fn line_starts(text: &str) -> Vec<usize> {
    let after_breaks = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    std::iter::once(0).chain(after_breaks).collect()
}

/// The lines a range touches; a range that ends with a line's newline does not touch the next.
fn touched_lines(starts: &[usize], range: &Range<usize>) -> Range<usize> {
    let first = starts.partition_point(|start| *start <= range.start) - 1;
    let end = starts.partition_point(|start| *start < range.end);
    first..end.max(first + 1)
}

fn span(starts: &[usize], lines: &Range<usize>, length: usize) -> Range<usize> {
    let offset = |line: usize| starts.get(line).copied().unwrap_or(length);
    offset(lines.start)..offset(lines.end)
}

#[cfg(test)]
mod tests;
