//! The canvas a dialog paints on: rows with a priority and a click target.
//!
//! A dialog paints all its rows; if the terminal is too short, the canvas drops the least important ones, so
//! that the selected entry and the active field always show.

use std::sync::Arc;

use pi_tui::{
    CURSOR_MARKER, ColorToken, Component, Input, Line, Lines, Style, TruncateOptions,
    truncate_to_width, visible_width, wrap_text,
};

use super::hint::Hint;
use crate::theme::ui_theme::RenderContext;

/// Priority of a row, from the first to drop to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowPriority {
    Spacing,
    /// Key hints.
    Help,
    /// The lines above and below.
    Frame,
    Detail,
    Title,
    Content,
    /// The selected entry, or the active field.
    Focus,
}

/// The order in which rows are dropped.
const REMOVAL_ORDER: [RowPriority; 6] = [
    RowPriority::Spacing,
    RowPriority::Help,
    RowPriority::Frame,
    RowPriority::Detail,
    RowPriority::Title,
    RowPriority::Content,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HitTarget {
    Item(usize),
    /// The text field, and the column it starts at.
    Field {
        column: usize,
    },
    /// A row of a component inside the dialog.
    Component {
        /// Row relative to the component.
        row: usize,
    },
}

struct CanvasRow {
    line: String,
    weight: RowPriority,
    hit: Option<HitTarget>,
    /// Rows of one paragraph are dropped together.
    paragraph: Option<usize>,
}

/// Rows kept free below a list: position, details, keys, border and spacing.
const ROWS_BELOW_LIST: usize = 10;

pub(crate) struct DialogCanvas {
    ctx: Arc<RenderContext>,
    width: usize,
    height: usize,
    rows: Vec<CanvasRow>,
    paragraphs: usize,
}

pub(super) struct PaintedDialog {
    pub(super) lines: Lines,
    /// The target of each line.
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

    /// Returns the number of list entries to show: `max_rows` in a small terminal, and as many as fit in a tall one.
    pub(super) fn list_rows(&self, max_rows: usize, rows_each: usize, other_rows: usize) -> usize {
        let each = rows_each.max(1);
        let room = self.height.saturating_sub(other_rows) / each;
        let tall = self.rows_left(ROWS_BELOW_LIST) / each;
        max_rows.min(room).max(tall).max(1)
    }

    /// Returns how many more rows fit above `below` rows.
    pub(super) fn rows_left(&self, below: usize) -> usize {
        self.height.saturating_sub(self.rows.len() + below)
    }

    pub(super) fn paint(&self, token: ColorToken, text: &str) -> String {
        self.ctx.paint(token, text)
    }

    pub(super) fn bold(&self, token: ColorToken, text: &str) -> String {
        self.ctx.style(token).bold().apply(text)
    }

    /// Adds a row, truncated to the width.
    pub(super) fn row(&mut self, weight: RowPriority, line: &str) {
        self.add(line, weight, None, None);
    }

    pub(super) fn item(&mut self, index: usize, selected: bool, line: &str) {
        let weight = if selected {
            RowPriority::Focus
        } else {
            RowPriority::Content
        };
        self.add(line, weight, Some(HitTarget::Item(index)), None);
    }

    /// Adds a list entry in selector colors, with an arrow in front of the selected one.
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

    /// Adds a title with a note at the right edge, or below it if both do not fit.
    pub(super) fn title_with_state(&mut self, title: &str, state: &str) {
        let left = self.bold(ColorToken::Accent, title);
        let used = visible_width(title) + visible_width(state) + 2;
        let right = self.paint(ColorToken::Muted, state);
        if used < self.width {
            let gap = " ".repeat(self.width - used);
            self.row(RowPriority::Title, &format!(" {left}{gap}{right}"));
        } else {
            self.row(RowPriority::Title, &format!(" {left}"));
            self.row(RowPriority::Detail, &format!(" {right}"));
        }
    }

    /// Adds a horizontal line.
    pub(super) fn rule(&mut self, token: ColorToken) {
        let line = self.paint(token, &"─".repeat(self.width));
        self.row(RowPriority::Frame, &line);
    }

    pub(super) fn title(&mut self, text: &str) {
        let style = self.ctx.style(ColorToken::Accent).bold();
        self.wrapped(RowPriority::Title, style, text);
    }

    /// Adds wrapped text, indented by one column.
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

    pub(super) fn field(&mut self, field: &mut Input) {
        for line in &field.render(self.width.saturating_sub(1).max(1)) {
            let hit = HitTarget::Field { column: 1 };
            self.add(&format!(" {line}"), RowPriority::Focus, Some(hit), None);
        }
    }

    /// Adds the rows of an editor: borders, text, and the cursor line.
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
            self.add(line, weight, Some(HitTarget::Component { row }), None);
        }
    }

    /// Adds key hints, never wrapped inside a hint.
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

    /// Adds the position of the selection in a long list.
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
        let line = truncate_to_width(line, self.width, TruncateOptions { ellipsis: "…" });
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
    fn least_important_rows_are_dropped_first() {
        assert_eq!(shown(20).len(), 9);
        let entries = ["entry 0", "entry 1", "entry 2"];
        assert_eq!(shown(6)[1..4], entries);
        assert_eq!(shown(6)[4..], ["explained", "at length"]);
        // A paragraph is dropped completely.
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
