//! What an edit changed, for people and for programs.
//!
//! The display form numbers its lines and shows four lines around each change, `...` for the rest.
//! The patch is a unified diff with file headers. Both forms are read by clients.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::algorithms::{Capture, Replace, diff_slices_deadline};
use similar::{Algorithm, DiffOp, group_diff_ops};

/// Lines shown around a change.
const CONTEXT: usize = 4;

/// After this time a coarser diff will do: the edit is made, only its description is late.
const DEADLINE: Duration = Duration::from_millis(500);

/// Up to so many pairs of lines between the first and the last change, the diff is made with a table of
/// all pairs. It matches each line with the first equal one, which is where clients know it from.
const MOST_PAIRS: usize = 1024 * 1024;

/// The difference of two texts.
pub(super) struct LineDiff<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    operations: Vec<DiffOp>,
    number_width: usize,
}

impl<'a> LineDiff<'a> {
    /// Compares two texts.
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

    /// Returns the number of the first line that differs, in the new text.
    pub(super) fn first_changed_line(&self) -> Option<usize> {
        self.operations
            .iter()
            .find(|operation| !is_equal(operation))
            .map(|operation| operation.new_range().start + 1)
    }

    /// Returns the display form.
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

    /// Shows the lines next to the changes before and after an unchanged part.
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

    /// Returns the patch, under the path as the model wrote it.
    pub(super) fn patch(&self, path: &str) -> String {
        let mut patch = format!("--- {path}\n+++ {path}\n");
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

fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let equal = |(one, other): &(&&str, &&str)| one == other;
    let before = old.iter().zip(new).take_while(equal).count();
    let rest = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(rest);
    let unchanged = before + after.take_while(equal).count();
    let pairs = (old.len() - unchanged).saturating_mul(new.len() - unchanged);
    let algorithm = if pairs <= MOST_PAIRS {
        Algorithm::Lcs
    } else {
        Algorithm::Myers
    };
    let mut operations = Replace::new(Capture::new());
    let deadline = Some(Instant::now() + DEADLINE);
    let Ok(()) = diff_slices_deadline(algorithm, &mut operations, old, new, deadline);
    operations.into_inner().into_ops()
}

fn is_equal(operation: &DiffOp) -> bool {
    matches!(operation, DiffOp::Equal { .. })
}

/// An empty range names the line before it, as the format has it.
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
