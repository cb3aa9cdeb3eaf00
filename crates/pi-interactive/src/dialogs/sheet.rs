//! The sheet a dialog is painted on: rows with what they are worth and what a click on them means.
//!
//! A dialog writes everything it has; when the terminal is too low, the sheet leaves out what matters
//! least, so that the selected entry and the field typed into always show.

use std::sync::Arc;

use pi_tui::{
    CURSOR_MARKER, ColorToken, Component, Input, Line, Lines, Style, TruncateOptions, truncate_to_width,
    visible_width, wrap_text,
};

use super::hint::Hint;
use crate::look::Appearance;

/// What a row is worth, from what is left out first to what stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
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
const EXPENDABLE: [Weight; 6] = [
    Weight::Spacing,
    Weight::Help,
    Weight::Frame,
    Weight::Detail,
    Weight::Title,
    Weight::Content,
];

/// What is under the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    /// An entry of the list.
    Item(usize),
    /// The text field, and the column it begins at.
    Field { column: usize },
    /// A row of a component inside the dialog.
    Part {
        /// The row, counted in the component.
        row: usize,
    },
}

struct Row {
    line: String,
    weight: Weight,
    hit: Option<Hit>,
    /// Rows of one paragraph are left out together.
    paragraph: Option<usize>,
}

/// Rows of a dialog while it is painted.
pub(crate) struct Sheet {
    appearance: Arc<Appearance>,
    width: usize,
    height: usize,
    rows: Vec<Row>,
    paragraphs: usize,
}

/// What was painted.
pub(super) struct Painted {
    pub(super) lines: Lines,
    /// What is in each of the lines.
    pub(super) hits: Vec<Option<Hit>>,
}

impl Sheet {
    pub(super) fn new(appearance: Arc<Appearance>, width: usize, height: usize) -> Self {
        Self {
            appearance,
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

    pub(super) fn appearance(&self) -> Arc<Appearance> {
        Arc::clone(&self.appearance)
    }

    /// Returns how many entries of a list to show: as many as wanted, unless the terminal is low.
    pub(super) fn list_rows(&self, wanted: usize, rows_each: usize, others: usize) -> usize {
        let room = self.height.saturating_sub(others) / rows_each.max(1);
        wanted.min(room).max(1)
    }

    pub(super) fn paint(&self, token: ColorToken, text: &str) -> String {
        self.appearance.paint(token, text)
    }

    pub(super) fn bold(&self, token: ColorToken, text: &str) -> String {
        self.appearance.style(token).bold().apply(text)
    }

    /// Adds a row that is cut to the width.
    pub(super) fn row(&mut self, weight: Weight, line: &str) {
        self.add(line, weight, None, None);
    }

    /// Adds the row of a list entry.
    pub(super) fn item(&mut self, index: usize, selected: bool, line: &str) {
        let weight = if selected {
            Weight::Focus
        } else {
            Weight::Content
        };
        self.add(line, weight, Some(Hit::Item(index)), None);
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
        self.row(Weight::Spacing, "");
    }

    /// Adds a line across the dialog.
    pub(super) fn rule(&mut self, token: ColorToken) {
        let line = self.paint(token, &"─".repeat(self.width));
        self.row(Weight::Frame, &line);
    }

    pub(super) fn title(&mut self, text: &str) {
        let style = self.appearance.style(ColorToken::Accent).bold();
        self.wrapped(Weight::Title, style, text);
    }

    /// Adds text, wrapped, one column from the edge.
    pub(super) fn text(&mut self, weight: Weight, token: ColorToken, text: &str) {
        let style = self.appearance.style(token);
        self.wrapped(weight, style, text);
    }

    fn wrapped(&mut self, weight: Weight, style: Style, text: &str) {
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
            let hit = Hit::Field { column: 1 };
            self.add(&format!(" {line}"), Weight::Focus, Some(hit), None);
        }
    }

    /// Adds rows of an editor: its borders, its text, and the line the cursor is in.
    pub(super) fn editor(&mut self, lines: &Lines) {
        let last = lines.len().saturating_sub(1);
        for (row, line) in lines.iter().enumerate() {
            let weight = if line.contains(CURSOR_MARKER) {
                Weight::Focus
            } else if row == 0 || row == last {
                Weight::Frame
            } else {
                Weight::Content
            };
            self.add(line, weight, Some(Hit::Part { row }), None);
        }
    }

    /// Adds which keys do what, never broken inside a hint.
    pub(super) fn hints(&mut self, hints: &[Hint]) {
        let separator = self.paint(ColorToken::Dim, " · ");
        let appearance = self.appearance();
        let mut line = String::new();
        for hint in hints.iter().filter_map(|hint| hint.text(&appearance)) {
            let joined = visible_width(&line) + 3 + visible_width(&hint);
            if !line.is_empty() && joined > self.width {
                self.row(Weight::Help, &std::mem::take(&mut line));
            }
            line.push_str(if line.is_empty() { " " } else { &separator });
            line.push_str(&hint);
        }
        if !line.is_empty() {
            self.row(Weight::Help, &line);
        }
    }

    /// Adds where in a long list the selection is.
    pub(super) fn position(&mut self, selected: usize, count: usize, note: &str) {
        let text = format!("   {}/{count}{note}", (selected + 1).min(count));
        let line = self.paint(ColorToken::Muted, &text);
        self.row(Weight::Detail, &line);
    }

    /// Returns the rows that fit, from top to bottom.
    pub(super) fn finish(mut self) -> Painted {
        for weight in EXPENDABLE {
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
        Painted {
            lines: lines.collect(),
            hits,
        }
    }

    fn add(&mut self, line: &str, weight: Weight, hit: Option<Hit>, paragraph: Option<usize>) {
        let line = truncate_to_width(line, self.width, TruncateOptions { ellipsis: "…" });
        self.rows.push(Row {
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
        let mut sheet = Sheet::new(Arc::new(Appearance::for_tests()), 12, height);
        sheet.rule(ColorToken::Border);
        sheet.title("Title");
        sheet.blank();
        for index in 0..3 {
            sheet.item(index, index == 2, &format!("entry {index}"));
        }
        sheet.blank();
        sheet.text(Weight::Detail, ColorToken::Muted, "explained at length");
        let painted = sheet.finish();
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
            let mut sheet = Sheet::new(Arc::new(Appearance::for_tests()), width, 10);
            sheet.title("日本語のとても長いタイトル");
            sheet.choice(0, true, "日本語", " note");
            sheet.hints(&[Hint::key(pi_tui::action::SELECT_CONFIRM, "choose this one")]);
            for line in &sheet.finish().lines {
                assert!(visible_width(line) <= width, "{width}: {line:?}");
            }
        }
    }
}
