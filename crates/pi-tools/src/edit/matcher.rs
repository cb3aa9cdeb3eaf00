//! Finds the text that edits refer to. All edits are matched against the same original text,
//! exactly first. If an edit matches only after normalization (see `fuzzy`), all edits are matched
//! in normalized text and the touched lines are rewritten from it; other lines keep their bytes.
//! Every text must occur exactly once and matches must not overlap. The result is a list of
//! replacements or an error; nothing is applied here.

use std::ops::Range;

use thiserror::Error;

use super::fuzzy::normalize;
use super::nearest::{NearestText, nearest};
use crate::line_endings::{PlainText, Replacement, replace_ranges, with_plain_newlines};

/// A replacement requested by the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) old_text: String,
    pub(super) new_text: String,
}

/// Why edits cannot be applied. The message follows "File not changed: PATH: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum EditError {
    #[error("{field} is empty; provide the text to replace")]
    Empty { field: OldTextField },
    #[error(
        "{field} not found in the file; it must match exactly, including whitespace and line breaks{}",
        nearest_hint(.nearest.as_ref())
    )]
    NotFound {
        field: OldTextField,
        nearest: Option<NearestText>,
    },
    #[error("{field} occurs {count} times; add surrounding lines to make it unique")]
    Ambiguous { field: OldTextField, count: usize },
    #[error(
        "edits[{first}] and edits[{second}] overlap; merge them into one edit or target separate regions"
    )]
    Overlap { first: usize, second: usize },
    #[error("the new text is identical to the old text")]
    NoChange,
    #[error(
        "{field} only matches approximately, on a line with invalid UTF-8; copy the text exactly"
    )]
    Undecodable { field: OldTextField },
}

/// The field an error refers to; it includes the index if there are several edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OldTextField(Option<usize>);

impl std::fmt::Display for OldTextField {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(index) => write!(formatter, "edits[{index}].oldText"),
            None => formatter.write_str("oldText"),
        }
    }
}

fn nearest_hint(nearest: Option<&NearestText>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(". Closest match {nearest}"))
}

/// Returns the replacements for the edits, sorted and without overlaps.
pub(super) fn find_replacements(
    plain: &PlainText<'_>,
    edits: &[Edit],
) -> Result<Vec<Replacement>, EditError> {
    let field = |index| OldTextField((edits.len() > 1).then_some(index));
    let edits: Vec<Edit> = edits
        .iter()
        .map(|edit| Edit {
            old_text: with_plain_newlines(&edit.old_text),
            new_text: with_plain_newlines(&edit.new_text),
        })
        .collect();
    if let Some(index) = edits.iter().position(|edit| edit.old_text.is_empty()) {
        return Err(EditError::Empty {
            field: field(index),
        });
    }
    let text = plain.text();
    let normalized_text = normalize(text);
    let is_exact = |edit: &Edit| text.contains(&edit.old_text);
    let is_fuzzy = |edit: &Edit| find_normalized(&normalized_text, &edit.old_text).is_some();
    let fuzzy = edits.iter().any(|edit| !is_exact(edit) && is_fuzzy(edit));
    let base = if fuzzy { &normalized_text } else { text };

    let mut matches = Vec::with_capacity(edits.len());
    for (index, edit) in edits.into_iter().enumerate() {
        let found = find(base, &edit.old_text).or_else(|| {
            // Only reached in fuzzy mode: in exact mode, no edit matched approximately.
            find_normalized(base, &edit.old_text).filter(|_| fuzzy)
        });
        let Some(range) = found else {
            return Err(EditError::NotFound {
                field: field(index),
                nearest: nearest(text, &edit.old_text),
            });
        };
        let count = occurrences(base, &normalized_text, &edit.old_text);
        if count > 1 {
            return Err(EditError::Ambiguous {
                field: field(index),
                count,
            });
        }
        matches.push(EditMatch {
            index,
            replacement: Replacement {
                range,
                text: edit.new_text,
            },
        });
    }
    pi_protocol::sort_by_key(&mut matches, |found| found.replacement.range.start);
    check_overlaps(&matches)?;

    let replacements = if fuzzy {
        widen_to_lines(plain, &normalized_text, &matches).map_err(|index| {
            EditError::Undecodable {
                field: field(index),
            }
        })?
    } else {
        matches.into_iter().map(|found| found.replacement).collect()
    };
    if replace_ranges(text, &replacements) == text {
        return Err(EditError::NoChange);
    }
    Ok(replacements)
}

struct EditMatch {
    index: usize,
    replacement: Replacement,
}

fn find(text: &str, part: &str) -> Option<Range<usize>> {
    let start = text.find(part)?;
    Some(start..start + part.len())
}

/// Finds `part` in normalized text.
fn find_normalized(normalized_text: &str, part: &str) -> Option<Range<usize>> {
    let part = normalize(part);
    // Whitespace normalizes to an empty string, which matches everywhere.
    if part.is_empty() {
        return None;
    }
    find(normalized_text, &part)
}

/// Counts occurrences in normalized text even for exact matches: texts that look the same are
/// ambiguous.
fn occurrences(base: &str, normalized_text: &str, part: &str) -> usize {
    let normalized_part = normalize(part);
    if normalized_part.is_empty() {
        return base.matches(part).count();
    }
    normalized_text.matches(&normalized_part).count()
}

fn check_overlaps(matches: &[EditMatch]) -> Result<(), EditError> {
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

/// Converts matches in the normalized text into replacements of complete lines of the original
/// text.
///
/// Both texts have the same number of lines. Fails with the index of an edit that touches a line
/// which cannot be rewritten without losing bytes.
fn widen_to_lines(
    plain: &PlainText<'_>,
    normalized_text: &str,
    matches: &[EditMatch],
) -> Result<Vec<Replacement>, usize> {
    let lines = line_starts(plain.text());
    let normalized_lines = line_starts(normalized_text);
    let mut groups: Vec<(Range<usize>, Vec<&EditMatch>)> = Vec::new();
    for found in matches {
        let touched = touched_lines(&normalized_lines, &found.replacement.range);
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
            let normalized_range = span(&normalized_lines, &group, normalized_text.len());
            let within: Vec<Replacement> = members
                .iter()
                .map(|found| Replacement {
                    range: found.replacement.range.start - normalized_range.start
                        ..found.replacement.range.end - normalized_range.start,
                    text: found.replacement.text.clone(),
                })
                .collect();
            let group_text = normalized_text.get(normalized_range).unwrap_or_default();
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

/// Returns the lines that a range touches. A range that ends with a newline does not touch the next
/// line.
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
