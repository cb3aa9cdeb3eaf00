//! Diffs for review: old and new next to each other on wide terminals, code in syntax colors.

use pi_markdown::{SyntaxStyles, highlight_code};
use pi_tui::{ColorToken, TruncateOptions, pad_to_width, truncate_to_width};

use super::{DiffRow, LineChange, highlight_runs, read, split_run};
use crate::canvas::clean;
use crate::theme::ui_theme::RenderContext;

/// Terminals with at least this many columns show both sides.
pub const SIDE_BY_SIDE: usize = 140;

/// Returns the rows of a numbered diff, each cut to one row.
pub fn review_rows(diff: &str, language: &str, width: usize, ctx: &RenderContext) -> Vec<String> {
    let diff = clean(diff);
    let rows: Vec<DiffRow<'_>> = diff.trim_end_matches('\n').split('\n').map(read).collect();
    let painter = RowPainter {
        ctx,
        language,
        styles: SyntaxStyles::from_theme(&ctx.theme),
    };
    let is_wide = width >= SIDE_BY_SIDE;
    let half = width.saturating_sub(3) / 2;
    let divider = ctx.paint(ColorToken::BorderMuted, " │ ");
    let mut lines = Vec::new();
    let mut rest = rows.as_slice();
    while let Some(first) = rest.first() {
        if first.change == LineChange::Kept {
            let row = |width| painter.kept(first, width);
            lines.push(if is_wide {
                format!("{}{divider}{}", pad_to_width(&row(half), half), row(half))
            } else {
                row(width)
            });
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let (removed, following) = split_run(rest, LineChange::Removed);
        let (added, following) = split_run(following, LineChange::Added);
        rest = following;
        let is_paired = removed.len() == added.len();
        let texts = highlight_runs(removed, added);
        let (old, new) = texts.split_at(removed.len().min(texts.len()));
        let side = |rows: &[DiffRow<'_>], texts: &[String], width: usize| -> Vec<String> {
            let rows = rows.iter().zip(texts);
            rows.map(|(row, text)| painter.changed(row, text, is_paired, width))
                .collect()
        };
        if !is_wide {
            lines.extend(side(removed, old, width));
            lines.extend(side(added, new, width));
            continue;
        }
        let (old, new) = (side(removed, old, half), side(added, new, half));
        for index in 0..old.len().max(new.len()) {
            let left = old.get(index).map_or("", String::as_str);
            let right = new.get(index).map_or("", String::as_str);
            lines.push(format!("{}{divider}{right}", pad_to_width(left, half)));
        }
    }
    lines
}

struct RowPainter<'a> {
    ctx: &'a RenderContext,
    language: &'a str,
    styles: SyntaxStyles,
}

impl RowPainter<'_> {
    fn kept(&self, row: &DiffRow<'_>, width: usize) -> String {
        let gutter = self
            .ctx
            .paint(ColorToken::Dim, &format!("  {} ", row.number));
        cut(&format!("{gutter}{}", self.code(row.text)), width)
    }

    /// Paints a changed line: the words that differ if it has a counterpart, otherwise its syntax.
    fn changed(&self, row: &DiffRow<'_>, text: &str, is_paired: bool, width: usize) -> String {
        let style = self.ctx.style(row.change.token());
        let gutter = style.apply(&format!("{} {} ", row.change.sign(), row.number));
        let text = if is_paired {
            style.apply(text)
        } else {
            self.code(row.text)
        };
        let background = self.ctx.style(match row.change {
            LineChange::Added => ColorToken::ToolSuccessBg,
            LineChange::Removed | LineChange::Kept => ColorToken::ToolErrorBg,
        });
        let line = cut(&format!("{gutter}{text}"), width);
        background.apply(&pad_to_width(&line, width))
    }

    fn code(&self, text: &str) -> String {
        let plain = self.ctx.style(ColorToken::MdCodeBlock);
        highlight_code(text, self.language, &self.styles, plain).concat()
    }
}

fn cut(line: &str, width: usize) -> String {
    truncate_to_width(line, width, TruncateOptions { ellipsis: "…" }).into_owned()
}

#[cfg(test)]
mod tests {
    use pi_tui::{strip_ansi, visible_width};
    use pretty_assertions::assert_eq;

    use super::*;

    const DIFF: &str = " 1 fn a() {\n-2     b(1);\n+2     b(22);\n+3     c();\n 4 }";

    fn plain(width: usize) -> Vec<String> {
        let rows = review_rows(DIFF, "rs", width, &RenderContext::for_tests());
        assert!(
            rows.iter().all(|row| visible_width(row) <= width),
            "{rows:?}"
        );
        rows.iter()
            .map(|row| strip_ansi(row).trim_end().to_owned())
            .collect()
    }

    #[test]
    fn narrow_terminals_show_one_side_below_the_other() {
        assert_eq!(
            plain(40),
            [
                "  1 fn a() {",
                "- 2     b(1);",
                "+ 2     b(22);",
                "+ 3     c();",
                "  4 }"
            ]
        );
        plain(5);
    }

    #[test]
    fn wide_terminals_show_both_sides() {
        let rows = plain(SIDE_BY_SIDE);
        assert_eq!(rows.len(), 4);
        let halves = |row: &str| {
            let (old, new) = row.split_once('│').unwrap();
            (old.trim().to_owned(), new.trim().to_owned())
        };
        assert_eq!(
            halves(&rows[1]),
            ("- 2     b(1);".into(), "+ 2     b(22);".into())
        );
        assert_eq!(halves(&rows[2]), (String::new(), "+ 3     c();".into()));
    }
}
