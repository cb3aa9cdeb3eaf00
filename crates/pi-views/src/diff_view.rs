//! Colored diffs with the differing words highlighted.
//!
//! Two sources: the numbered diff an edit reports, and the old and new text of a pending edit.

use crate::theme::ui_theme::RenderContext;
mod columns;
mod hunk;

use pi_tui::{ColorToken, Style, wrap_text};
use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};

use crate::canvas::clean;

pub use columns::{SIDE_BY_SIDE, review_rows};
pub use hunk::{DiffHunk, RevertError};

/// Longer lines get no word highlights; computing them would be slow.
const MAX_HIGHLIGHTED_LENGTH: usize = 2_000;
/// Lines less similar than this are treated as different lines, not as changed ones.
const MIN_SIMILARITY: f32 = 0.3;
/// Previews longer than this are shown as fully removed and added, without comparing lines.
const MAX_COMPARED_LINES: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineChange {
    Kept,
    Removed,
    Added,
}

impl LineChange {
    fn token(self) -> ColorToken {
        match self {
            Self::Kept => ColorToken::ToolDiffContext,
            Self::Removed => ColorToken::ToolDiffRemoved,
            Self::Added => ColorToken::ToolDiffAdded,
        }
    }

    fn sign(self) -> char {
        match self {
            Self::Kept => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct DiffRow<'text> {
    change: LineChange,
    /// The line number, right-aligned; empty if there is none.
    number: &'text str,
    text: &'text str,
}

/// Returns the styles that diff rows depend on, for use as a cache key.
pub fn diff_styles(ctx: &RenderContext) -> [Style; 3] {
    [LineChange::Kept, LineChange::Removed, LineChange::Added]
        .map(|change| ctx.style(change.token()))
}

/// Returns the rows of a numbered diff, such as `+12 text`.
pub fn diff_rows(diff: &str, width: usize, ctx: &RenderContext) -> Vec<String> {
    let diff = clean(diff);
    let rows: Vec<DiffRow<'_>> = diff.trim_end_matches('\n').split('\n').map(read).collect();
    paint(&rows, width, ctx)
}

/// Returns the rows of a pending change.
pub fn preview_rows(old: &str, new: &str, width: usize, ctx: &RenderContext) -> Vec<String> {
    let (old, new) = (clean(old), clean(new));
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(&old), lines(&new));
    let row = |change, text| DiffRow {
        change,
        number: "",
        text,
    };
    let rows: Vec<DiffRow<'_>> = if old.len().max(new.len()) > MAX_COMPARED_LINES {
        let removed = old.into_iter().map(|line| row(LineChange::Removed, line));
        let added = new.into_iter().map(|line| row(LineChange::Added, line));
        removed.chain(added).collect()
    } else {
        let mut rows = Vec::new();
        for operation in compare(&old, &new) {
            let old = old.get(operation.old_range()).unwrap_or_default();
            let new = new.get(operation.new_range()).unwrap_or_default();
            if is_equal(&operation) {
                rows.extend(old.iter().map(|line| row(LineChange::Kept, *line)));
            } else {
                rows.extend(old.iter().map(|line| row(LineChange::Removed, *line)));
                rows.extend(new.iter().map(|line| row(LineChange::Added, *line)));
            }
        }
        rows
    };
    paint(&rows, width, ctx)
}

fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n').collect()
}

/// Parses a line of a numbered diff; lines in another format are plain text.
fn read(line: &str) -> DiffRow<'_> {
    let plain = DiffRow {
        change: LineChange::Kept,
        number: "",
        // The gutter replaces the first columns.
        text: line.strip_prefix("  ").unwrap_or(line),
    };
    let change = match line.chars().next() {
        Some('+') => LineChange::Added,
        Some('-') => LineChange::Removed,
        Some(' ') => LineChange::Kept,
        _ => return plain,
    };
    let rest = line.get(1..).unwrap_or_default();
    let digits = rest.trim_start_matches(' ');
    let text = digits.trim_start_matches(|character: char| character.is_ascii_digit());
    let number = rest.strip_suffix(text).unwrap_or_default();
    match text.strip_prefix(' ') {
        Some(text) if !number.trim().is_empty() => DiffRow {
            change,
            number,
            text,
        },
        None if text.is_empty() && !number.trim().is_empty() => DiffRow {
            change,
            number,
            text,
        },
        _ => plain,
    }
}

fn paint(rows: &[DiffRow<'_>], width: usize, ctx: &RenderContext) -> Vec<String> {
    let mut painted = Vec::with_capacity(rows.len());
    let mut rest = rows;
    while let Some(first) = rest.first() {
        if first.change != LineChange::Removed {
            push(&mut painted, first, first.text, width, ctx);
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let (removed, following) = split_run(rest, LineChange::Removed);
        let (added, following) = split_run(following, LineChange::Added);
        rest = following;
        let highlighted = highlight_runs(removed, added);
        for (row, text) in removed.iter().chain(added).zip(&highlighted) {
            push(&mut painted, row, text, width, ctx);
        }
    }
    painted
}

/// Splits off the leading rows with the same kind of change.
fn split_run<'rows, 'text>(
    rows: &'rows [DiffRow<'text>],
    change: LineChange,
) -> (&'rows [DiffRow<'text>], &'rows [DiffRow<'text>]) {
    let end = rows
        .iter()
        .position(|row| row.change != change)
        .unwrap_or(rows.len());
    rows.split_at(end)
}

/// Returns the texts of both runs, with highlights if as many lines were removed as added.
fn highlight_runs(removed: &[DiffRow<'_>], added: &[DiffRow<'_>]) -> Vec<String> {
    let mut old: Vec<String> = removed.iter().map(|row| row.text.to_owned()).collect();
    let mut new: Vec<String> = added.iter().map(|row| row.text.to_owned()).collect();
    if removed.len() == added.len() {
        for (old, new) in old.iter_mut().zip(&mut new) {
            if let Some(highlighted) = highlight_words(old, new) {
                (*old, *new) = highlighted;
            }
        }
    }
    old.append(&mut new);
    old
}

/// Returns both texts with the differing words inverted; `None` if they have too little in common.
fn highlight_words(old: &str, new: &str) -> Option<(String, String)> {
    if old.len().max(new.len()) > MAX_HIGHLIGHTED_LENGTH {
        return None;
    }
    let (old_words, new_words) = (words(old), words(new));
    let operations = compare(&old_words, &new_words);
    if similarity(&operations, old_words.len() + new_words.len()) < MIN_SIMILARITY {
        return None;
    }
    let mut highlighted = (HighlightBuilder::default(), HighlightBuilder::default());
    for operation in &operations {
        let old = old_words.get(operation.old_range()).unwrap_or_default();
        let new = new_words.get(operation.new_range()).unwrap_or_default();
        let add = if is_equal(operation) {
            HighlightBuilder::plain
        } else {
            HighlightBuilder::highlight
        };
        for word in old {
            add(&mut highlighted.0, word);
        }
        for word in new {
            add(&mut highlighted.1, word);
        }
    }
    Some((highlighted.0.finish(), highlighted.1.finish()))
}

/// Returns the diff operations. Calls the algorithm directly: selecting one at run time would link all
/// algorithms of `similar`.
fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut operations = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut operations, old, 0..old.len(), new, 0..new.len());
    operations.into_inner().into_inner().into_ops()
}

fn is_equal(operation: &DiffOp) -> bool {
    matches!(operation, DiffOp::Equal { .. })
}

/// Returns the share of words that both texts have in common.
#[expect(
    clippy::cast_precision_loss,
    reason = "lines that are compared are short"
)]
fn similarity(operations: &[DiffOp], words: usize) -> f32 {
    let equal = operations.iter().filter(|operation| is_equal(operation));
    let shared: usize = equal.map(|operation| operation.old_range().len()).sum();
    2.0 * shared as f32 / words.max(1) as f32
}

/// Builds a line with highlighted parts; leading whitespace is never highlighted.
#[derive(Default)]
struct HighlightBuilder {
    text: String,
    open: String,
}

impl HighlightBuilder {
    fn plain(&mut self, word: &str) {
        self.close();
        self.text.push_str(word);
    }

    fn highlight(&mut self, word: &str) {
        if self.open.is_empty() && self.text.trim().is_empty() && word.trim().is_empty() {
            self.text.push_str(word);
        } else {
            self.open.push_str(word);
        }
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            let highlighted = Style::plain().inverse().apply(&self.open);
            self.text.push_str(&highlighted);
            self.open.clear();
        }
    }

    fn finish(mut self) -> String {
        self.close();
        self.text
    }
}

/// Splits a line into words, whitespace runs and single characters.
fn words(line: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum CharClass {
        Word,
        Gap,
        Single,
    }
    let class = |character: char| match character {
        // Scripts without spaces between words are compared character by character.
        '\u{2e80}'.. => CharClass::Single,
        _ if character.is_alphanumeric() || character == '_' => CharClass::Word,
        _ if character.is_whitespace() => CharClass::Gap,
        _ => CharClass::Single,
    };
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let kind = class(first);
        let end = match kind {
            CharClass::Single => first.len_utf8(),
            CharClass::Word | CharClass::Gap => rest
                .find(|character| class(character) != kind)
                .unwrap_or(rest.len()),
        };
        let (word, following) = rest.split_at_checked(end).unwrap_or((rest, ""));
        words.push(word);
        rest = following;
    }
    words
}

/// Adds a row; continuation rows are aligned with the text, not with the number.
fn push(
    painted: &mut Vec<String>,
    row: &DiffRow<'_>,
    text: &str,
    width: usize,
    ctx: &RenderContext,
) {
    let style = ctx.style(row.change.token());
    let gutter = format!("{}{} ", row.change.sign(), row.number);
    let room = width.saturating_sub(gutter.len());
    if room < width / 2 {
        painted.extend(wrap_text(&style.apply(&format!("{gutter}{text}")), width));
        return;
    }
    for (index, line) in wrap_text(&style.apply(text), room).into_iter().enumerate() {
        let gutter = if index == 0 {
            style.apply(&gutter)
        } else {
            " ".repeat(gutter.len())
        };
        painted.push(format!("{gutter}{line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// Returns rows with highlights as brackets and without colors.
    fn plain(rows: &[String]) -> Vec<String> {
        rows.iter()
            .map(|row| {
                let row = row.replace("\x1b[7m", "[").replace("\x1b[27m", "]");
                pi_tui::strip_ansi(&row).into_owned()
            })
            .collect()
    }

    #[test]
    fn differing_words_of_line_pairs_are_highlighted() {
        let ctx = RenderContext::for_tests();
        let diff = "  1 fn one() {\n- 2    let b = 2;\n+ 2    let b = 22;\n  3 }\n    ...\n-10 // 日本語の行\n+10 // 新しい日本語の行";
        assert_eq!(
            plain(&diff_rows(diff, 60, &ctx)),
            [
                "  1 fn one() {",
                "- 2    let b = [2];",
                "+ 2    let b = [22];",
                "  3 }",
                "    ...",
                "-10 // 日本語の行",
                "+10 // [新しい]日本語の行",
            ]
        );
    }

    #[test]
    fn unrelated_lines_have_no_highlights() {
        let ctx = RenderContext::for_tests();
        let rows = diff_rows("-1 abc def\n+1 xyz uvw qrs", 60, &ctx);
        assert_eq!(plain(&rows), ["-1 abc def", "+1 xyz uvw qrs"]);
        let rows = diff_rows("-1 a b c\n+1 a b d\n+2 new", 60, &ctx);
        assert_eq!(plain(&rows), ["-1 a b c", "+1 a b d", "+2 new"]);
    }

    #[test]
    fn long_lines_wrap_below_their_text() {
        let ctx = RenderContext::for_tests();
        let rows = diff_rows("+ 7 one two three", 12, &ctx);
        assert_eq!(plain(&rows), ["+ 7 one two", "    three"]);
    }

    #[test]
    fn a_preview_compares_line_by_line() {
        let ctx = RenderContext::for_tests();
        let rows = preview_rows("a\nb c\n", "a\nb d\nnew\n", 20, &ctx);
        assert_eq!(plain(&rows), ["  a", "- b c", "+ b d", "+ new"]);
        assert_eq!(plain(&preview_rows("", "x", 20, &ctx)), ["+ x"]);
    }

    #[test]
    fn control_sequences_are_removed() {
        let ctx = RenderContext::for_tests();
        let rows = diff_rows("+1 a\x1b]0;title\x07b\x1b[2Jc", 40, &ctx);
        assert_eq!(plain(&rows), ["+1 abc"]);
        assert!(!rows.concat().contains("\x1b]0"));
    }
}
