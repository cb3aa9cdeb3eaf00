//! The sheet a dialog is painted on: rows with what they are worth and what a click on them means.
//!
//! A dialog writes everything it has; when the terminal is too low, the sheet leaves out what matters
//! least, so that the selected entry and the field typed into always show.

use std::sync::Arc;

use pi_tui::{
    CURSOR_MARKER, ColorToken, Component, Input, Line, Lines, Style, Truncation, truncate_to_width,
    visible_width, wrap_text,
};

use super::hint::Hint;
use crate::ui_theme::RenderContext;

/// What a row is worth, from what is left out first to what stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowPriority {
    Spacing,
    /// Which keys do what.
    Help,
    /// Lines above and below.
    Frame,
    Detail,
    /// What the dialog is called.
    Title,
    /// What the dialog is about.
    Content,
    /// The selected entry, the field typed into.
    Focus,
}

/// The order in which rows are left out.
const REMOVAL_ORDER: [RowPriority; 6] = [
    RowPriority::Spacing,
    RowPriority::Help,
    RowPriority::Frame,
    RowPriority::Detail,
    RowPriority::Title,
    RowPriority::Content,
];

/// What is under the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HitTarget {
    /// An entry of the list.
    Item(usize),
    /// The text field, and the column it begins at.
    Field { column: usize },
    /// A row of a component inside the dialog.
    AnswerPart {
        /// The row, counted in the component.
        row: usize,
    },
}

struct CanvasRow {
    line: String,
    weight: RowPriority,
    hit: Option<HitTarget>,
    /// Rows of one paragraph are left out together.
    paragraph: Option<usize>,
}

/// Rows of a dialog while it is painted.
pub(crate) struct DialogCanvas {
    ctx: Arc<RenderContext>,
    width: usize,
    height: usize,
    rows: Vec<CanvasRow>,
    paragraphs: usize,
}

/// What was painted.
pub(super) struct PaintedDialog {
    pub(super) lines: Lines,
    /// What is in each of the lines.
    pub(super) hits: Vec<Option<HitTarget>>,
}

impl DialogCanvas {
    pub(super) fn new(ctx: Arc<RenderContext>, width: usize, height: usize) -> Self {
        Self {
            ctx,
            width,
            height,
            rows: Vec::new(),
            paragraphs: 0,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    pub(super) fn context(&self) -> Arc<RenderContext> {
        Arc::clone(&self.ctx)
    }

    /// Returns how many entries of a list to show: as many as wanted, unless the terminal is low.
    pub(super) fn list_rows(&self, wanted: usize, rows_each: usize, others: usize) -> usize {
        let room = self.height.saturating_sub(others) / rows_each.max(1);
        wanted.min(room).max(1)
    }

    pub(super) fn paint(&self, token: ColorToken, text: &str) -> String {
        self.ctx.paint(token, text)
    }

    pub(super) fn bold(&self, token: ColorToken, text: &str) -> String {
        self.ctx.style(token).bold().apply(text)
    }

    /// Adds a row that is cut to the width.
    pub(super) fn row(&mut self, weight: RowPriority, line: &str) {
        self.add(line, weight, None, None);
    }

    /// Adds the row of a list entry.
    pub(super) fn item(&mut self, index: usize, selected: bool, line: &str) {
        let weight = if selected {
            RowPriority::Focus
        } else {
            RowPriority::Content
        };
        self.add(line, weight, Some(HitTarget::Item(index)), None);
    }

    /// Adds a list entry with the colors of selectors: an arrow before the selected one.
    pub(super) fn choice(&mut self, index: usize, selected: bool, label: &str, note: &str) {
        let line = if selected {
            let label = self.paint(ColorToken::Accent, &format!("→ {label}"));
            format!(" {label}{note}")
        } else {
            format!("   {label}{note}")
        };
        self.item(index, selected, &line);
    }

    pub(super) fn blank(&mut self) {
        self.row(RowPriority::Spacing, "");
    }

    /// Adds a line across the dialog.
    pub(super) fn rule(&mut self, token: ColorToken) {
        let line = self.paint(token, &"─".repeat(self.width));
        self.row(RowPriority::Frame, &line);
    }

    pub(super) fn title(&mut self, text: &str) {
        let style = self.ctx.style(ColorToken::Accent).bold();
        self.wrapped(RowPriority::Title, style, text);
    }

    /// Adds text, wrapped, one column from the edge.
    pub(super) fn text(&mut self, weight: RowPriority, token: ColorToken, text: &str) {
        let style = self.ctx.style(token);
        self.wrapped(weight, style, text);
    }

    fn wrapped(&mut self, weight: RowPriority, style: Style, text: &str) {
        self.paragraphs += 1;
        let paragraph = Some(self.paragraphs);
        for line in wrap_text(text, self.width.saturating_sub(2).max(1)) {
            let line = style.apply(&line);
            self.add(&format!(" {line}"), weight, None, paragraph);
        }
    }

    /// Adds a text field.
    pub(super) fn field(&mut self, field: &mut Input) {
        for line in &field.render(self.width.saturating_sub(1).max(1)) {
            let hit = HitTarget::Field { column: 1 };
            self.add(&format!(" {line}"), RowPriority::Focus, Some(hit), None);
        }
    }

    /// Adds rows of an editor: its borders, its text, and the line the cursor is in.
    pub(super) fn editor(&mut self, lines: &Lines) {
        let last = lines.len().saturating_sub(1);
        for (row, line) in lines.iter().enumerate() {
            let weight = if line.contains(CURSOR_MARKER) {
                RowPriority::Focus
            } else if row == 0 || row == last {
                RowPriority::Frame
            } else {
                RowPriority::Content
            };
            self.add(line, weight, Some(HitTarget::AnswerPart { row }), None);
        }
    }

    /// Adds which keys do what, never broken inside a hint.
    pub(super) fn hints(&mut self, hints: &[Hint]) {
        let separator = self.paint(ColorToken::Dim, " · ");
        let ctx = self.context();
        let mut line = String::new();
        for hint in hints.iter().filter_map(|hint| hint.text(&ctx)) {
            let joined = visible_width(&line) + 3 + visible_width(&hint);
            if !line.is_empty() && joined > self.width {
                self.row(RowPriority::Help, &std::mem::take(&mut line));
            }
            line.push_str(if line.is_empty() { " " } else { &separator });
            line.push_str(&hint);
        }
        if !line.is_empty() {
            self.row(RowPriority::Help, &line);
        }
    }

    /// Adds where in a long list the selection is.
    pub(super) fn position(&mut self, selected: usize, count: usize, note: &str) {
        let text = format!("   {}/{count}{note}", (selected + 1).min(count));
        let line = self.paint(ColorToken::Muted, &text);
        self.row(RowPriority::Detail, &line);
    }

    /// Returns the rows that fit, from top to bottom.
    pub(super) fn finish(mut self) -> PaintedDialog {
        for weight in REMOVAL_ORDER {
            while self.rows.len() > self.height {
                let Some(last) = self.rows.iter().rposition(|row| row.weight == weight) else {
                    break;
                };
                let paragraph = self.rows.get(last).and_then(|row| row.paragraph);
                if paragraph.is_some() {
                    self.rows.retain(|row| row.paragraph != paragraph);
                } else {
                    self.rows.remove(last);
                }
            }
        }
        let hits = self.rows.iter().map(|row| row.hit).collect();
        let lines = self.rows.into_iter().map(|row| Line::from(row.line));
        PaintedDialog {
            lines: lines.collect(),
            hits,
        }
    }

    fn add(
        &mut self,
        line: &str,
        weight: RowPriority,
        hit: Option<HitTarget>,
        paragraph: Option<usize>,
    ) {
        let line = truncate_to_width(line, self.width, Truncation { ellipsis: "…" });
        self.rows.push(CanvasRow {
            line: line.into_owned(),
            weight,
            hit,
            paragraph,
        });
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use pi_tui::strip_ansi;

    fn shown(height: usize) -> Vec<String> {
        let mut canvas = DialogCanvas::new(Arc::new(RenderContext::for_tests()), 12, height);
        canvas.rule(ColorToken::Border);
        canvas.title("Title");
        canvas.blank();
        for index in 0..3 {
            canvas.item(index, index == 2, &format!("entry {index}"));
        }
        canvas.blank();
        canvas.text(
            RowPriority::Detail,
            ColorToken::Muted,
            "explained at length",
        );
        let painted = canvas.finish();
        assert_eq!(painted.lines.len(), painted.hits.len());
        let plain = painted.lines.iter().map(|line| strip_ansi(line));
        plain.map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn what_matters_least_is_left_out_first() {
        assert_eq!(shown(20).len(), 9);
        let entries = ["entry 0", "entry 1", "entry 2"];
        assert_eq!(shown(6)[1..4], entries);
        assert_eq!(shown(6)[4..], ["explained", "at length"]);
        // A paragraph goes as a whole.
        assert_eq!(shown(5), ["Title", "entry 0", "entry 1", "entry 2"]);
        assert_eq!(shown(4), ["Title", "entry 0", "entry 1", "entry 2"]);
        assert_eq!(shown(2), ["entry 0", "entry 2"]);
        assert_eq!(shown(1), ["entry 2"]);
    }

    #[test]
    fn no_row_is_wider_than_the_dialog() {
        for width in 0..30 {
            let mut canvas = DialogCanvas::new(Arc::new(RenderContext::for_tests()), width, 10);
            canvas.title("日本語のとても長いタイトル");
            canvas.choice(0, true, "日本語", " note");
            canvas.hints(&[Hint::key(pi_tui::action::SELECT_CONFIRM, "choose this one")]);
            for line in &canvas.finish().lines {
                assert!(visible_width(line) <= width, "{width}: {line:?}");
            }
        }
    }
}
