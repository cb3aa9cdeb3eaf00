//! Diffs of edits. The display form has line numbers and four context lines around each change,
//! with `...` for gaps. The patch is a unified diff with file headers. Clients parse both forms.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::algorithms::{Capture, lcs, myers};
use similar::{DiffOp, group_diff_ops};

const CONTEXT: usize = 4;

/// After this time a coarser diff is used: the edit is already made, only its description is late.
const DEADLINE: Duration = Duration::from_millis(500);

/// Up to this many pairs of lines, the diff uses an LCS table. It matches each line with the first
/// equal one, which is what clients expect.
const MAX_LCS_PAIRS: usize = 1024 * 1024;

/// Number of unchanged lines after a change that are included when matching, in addition to the
/// size of the change.
const TRAILING_MARGIN: usize = 64;

pub(super) struct LineDiff<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    operations: Vec<DiffOp>,
    number_width: usize,
}

impl<'a> LineDiff<'a> {
    pub(super) fn new(old_text: &'a str, new_text: &'a str) -> Self {
        let old: Vec<&str> = old_text.split_inclusive('\n').collect();
        let new: Vec<&str> = new_text.split_inclusive('\n').collect();
        let operations = compare(&old, &new);
        let most_lines = [old_text, new_text]
            .map(|text| text.split('\n').count())
            .into_iter()
            .max();
        Self {
            number_width: most_lines.unwrap_or_default().to_string().len(),
            old,
            new,
            operations,
        }
    }

    /// Returns the number of the first line that differs in the new text.
    pub(super) fn first_changed_line(&self) -> Option<usize> {
        self.operations
            .iter()
            .find(|operation| !is_equal(operation))
            .map(|operation| operation.new_range().start + 1)
    }

    pub(super) fn display(&self) -> String {
        let mut lines = Vec::new();
        let last = self.operations.len().saturating_sub(1);
        for (index, operation) in self.operations.iter().enumerate() {
            let (old, new) = (operation.old_range(), operation.new_range());
            if is_equal(operation) {
                let before = if index > 0 { CONTEXT } else { 0 };
                let after = if index < last { CONTEXT } else { 0 };
                self.display_context(&old, before, after, &mut lines);
            } else {
                self.display_lines('-', &self.old, old, &mut lines);
                self.display_lines('+', &self.new, new, &mut lines);
            }
        }
        lines.join("\n")
    }

    /// Shows the context lines next to the changes before and after an unchanged part.
    fn display_context(
        &self,
        part: &Range<usize>,
        before: usize,
        after: usize,
        lines: &mut Vec<String>,
    ) {
        if part.len() <= before + after {
            self.display_lines(' ', &self.old, part.clone(), lines);
            return;
        }
        self.display_lines(' ', &self.old, part.start..part.start + before, lines);
        if before + after > 0 {
            lines.push(format!(" {:width$} ...", "", width = self.number_width));
        }
        self.display_lines(' ', &self.old, part.end - after..part.end, lines);
    }

    fn display_lines(
        &self,
        sign: char,
        text: &[&str],
        part: Range<usize>,
        lines: &mut Vec<String>,
    ) {
        let width = self.number_width;
        for (index, line) in text.iter().enumerate().take(part.end).skip(part.start) {
            let line = line.strip_suffix('\n').unwrap_or(line);
            lines.push(format!("{sign}{:>width$} {line}", index + 1));
        }
    }

    /// Returns the patch of a file, with the file name as given by the model.
    pub(super) fn patch(&self, file: &str) -> String {
        let mut patch = format!("--- {file}\n+++ {file}\n");
        for hunk in group_diff_ops(self.operations.clone(), CONTEXT) {
            let range = |ranges: Vec<Range<usize>>| {
                let start = ranges.first().map_or(0, |range| range.start);
                start..ranges.last().map_or(start, |range| range.end)
            };
            let old = range(hunk.iter().map(DiffOp::old_range).collect());
            let new = range(hunk.iter().map(DiffOp::new_range).collect());
            let header = format!("@@ -{} +{} @@\n", hunk_range(&old), hunk_range(&new));
            patch.push_str(&header);
            for operation in &hunk {
                if is_equal(operation) {
                    patch_lines(&mut patch, ' ', &self.old, &operation.old_range());
                } else {
                    patch_lines(&mut patch, '-', &self.old, &operation.old_range());
                    patch_lines(&mut patch, '+', &self.new, &operation.new_range());
                }
            }
        }
        patch
    }
}

/// Returns the lines that differ, with line numbers and the lines around them.
pub fn line_diff(old: &str, new: &str) -> String {
    LineDiff::new(old, new).display()
}

/// Returns alternating unchanged and changed ranges.
fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let equal = |(one, other): &(&&str, &&str)| one == other;
    let before = old.iter().zip(new).take_while(equal).count();
    let rest = old.len().min(new.len()) - before;
    let from_end = old.iter().rev().zip(new.iter().rev()).take(rest);
    let after = from_end.take_while(equal).count();
    // Lines after the change are included because one of them may match earlier than it would from
    // the end. Sentinels keep them from being trimmed as a common suffix again.
    let changed_lines = old.len().max(new.len()) - before - after;
    let trimmed = after.saturating_sub(changed_lines + TRAILING_MARGIN);
    let old_middle = with_sentinel(old, before, trimmed, "\nold");
    let new_middle = with_sentinel(new, before, trimmed, "\nnew");

    let mut parts = DiffParts::default();
    parts.push_equal(before);
    for operation in diff(&old_middle, &new_middle) {
        // The sentinels come last, as a change, and are not lines.
        let old_lines = length_before(&operation.old_range(), old_middle.len() - 1);
        let new_lines = length_before(&operation.new_range(), new_middle.len() - 1);
        if is_equal(&operation) {
            parts.push_equal(old_lines);
        } else {
            parts.push_change(old_lines, new_lines);
        }
    }
    parts.push_equal(trimmed);
    parts.0
}

/// Returns the lines between the trimmed ends, followed by a sentinel that equals no line.
fn with_sentinel<'a>(
    lines: &[&'a str],
    before: usize,
    after: usize,
    sentinel: &'a str,
) -> Vec<&'a str> {
    let middle = lines.iter().take(lines.len() - after).skip(before);
    middle.copied().chain([sentinel]).collect()
}

fn length_before(range: &Range<usize>, end: usize) -> usize {
    range.end.min(end) - range.start.min(end)
}

/// Calls the algorithms directly: selecting one at run time would link all algorithms of `similar`.
fn diff(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut operations = Capture::new();
    let (all_old, all_new) = (0..old.len(), 0..new.len());
    let deadline = Some(Instant::now() + DEADLINE);
    let Ok(()) = if old.len().saturating_mul(new.len()) <= MAX_LCS_PAIRS {
        lcs::diff_deadline(&mut operations, old, all_old, new, all_new, deadline)
    } else {
        myers::diff_deadline(&mut operations, old, all_old, new, all_new, deadline)
    };
    operations.into_ops()
}

/// Alternating unchanged and changed ranges; adjacent ranges of the same kind are merged.
#[derive(Default)]
struct DiffParts(Vec<DiffOp>);

impl DiffParts {
    fn ends(&self) -> (usize, usize) {
        self.0
            .last()
            .map_or((0, 0), |part| (part.old_range().end, part.new_range().end))
    }

    fn push_equal(&mut self, lines: usize) {
        let (old_index, new_index) = self.ends();
        match self.0.last_mut() {
            Some(DiffOp::Equal { len, .. }) => *len += lines,
            _ if lines == 0 => {}
            _ => self.0.push(DiffOp::Equal {
                old_index,
                new_index,
                len: lines,
            }),
        }
    }

    fn push_change(&mut self, old_lines: usize, new_lines: usize) {
        let (old_index, new_index) = self.ends();
        match self.0.last_mut() {
            Some(DiffOp::Replace {
                old_len, new_len, ..
            }) => {
                *old_len += old_lines;
                *new_len += new_lines;
            }
            _ if old_lines + new_lines == 0 => {}
            _ => self.0.push(DiffOp::Replace {
                old_index,
                old_len: old_lines,
                new_index,
                new_len: new_lines,
            }),
        }
    }
}

fn is_equal(operation: &DiffOp) -> bool {
    matches!(operation, DiffOp::Equal { .. })
}

/// An empty range refers to the line before it, as the format requires.
fn hunk_range(lines: &Range<usize>) -> String {
    let first = lines.start + usize::from(!lines.is_empty());
    format!("{first},{}", lines.len())
}

fn patch_lines(patch: &mut String, sign: char, text: &[&str], part: &Range<usize>) {
    for line in text.iter().take(part.end).skip(part.start) {
        patch.push(sign);
        patch.push_str(line);
        if !line.ends_with('\n') {
            patch.push_str("\n\\ No newline at end of file\n");
        }
    }
}
