//! Text selected with the mouse in full-screen mode.

use std::ops::Range;

use super::document::LineChange;
use crate::text::{
    WideCharPolicy, cell_range_at, graphemes, slice_columns, strip_ansi, visible_width,
};

/// A cell by line and column. Line numbers run through transcript and dock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CellPosition {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// What a click selects, depending on the click count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SelectionGranularity {
    Cell,
    Word,
    Line,
}

impl SelectionGranularity {
    pub(crate) fn for_clicks(count: u8) -> Self {
        match count {
            0 | 1 => Self::Cell,
            2 => Self::Word,
            _ => Self::Line,
        }
    }
}

/// A selection from where the button was pressed to the pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MouseSelection {
    granularity: SelectionGranularity,
    anchor: (CellPosition, CellPosition),
    head: (CellPosition, CellPosition),
    /// Whether anything is selected: a press alone selects nothing, a word or line click does.
    extended: bool,
}

impl MouseSelection {
    pub(crate) fn start(
        position: CellPosition,
        line: &str,
        granularity: SelectionGranularity,
    ) -> Self {
        let range = granularity_range(position, line, granularity);
        Self {
            granularity,
            anchor: range,
            head: range,
            extended: granularity != SelectionGranularity::Cell,
        }
    }

    pub(crate) fn extend(&mut self, position: CellPosition, line: &str) {
        self.head = granularity_range(position, line, self.granularity);
        self.extended |= self.head != self.anchor;
    }

    pub(super) fn apply_changes(&mut self, changes: &[LineChange]) {
        for change in changes {
            for position in [
                &mut self.anchor.0,
                &mut self.anchor.1,
                &mut self.head.0,
                &mut self.head.1,
            ] {
                position.line = change.shift(position.line);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.extended
    }

    fn bounds(&self) -> (CellPosition, CellPosition) {
        (
            self.anchor.0.min(self.head.0),
            self.anchor.1.max(self.head.1),
        )
    }

    /// Returns the lines the selection covers.
    pub(crate) fn lines(&self) -> Range<usize> {
        let (start, end) = self.bounds();
        start.line..end.line + 1
    }

    /// Returns the selected columns of a line.
    pub(super) fn columns(&self, line: usize, text: &str) -> Option<Range<usize>> {
        if self.is_empty() || !self.lines().contains(&line) {
            return None;
        }
        let (start, end) = self.bounds();
        let width = visible_width(text);
        let from = if line == start.line { start.column } else { 0 };
        let to = if line == end.line { end.column } else { width };
        let range = from.min(width)..to.min(width);
        (!range.is_empty()).then_some(range)
    }

    /// Returns the selected part of the lines as plain text, without trailing spaces.
    pub(crate) fn text<'a>(&self, lines: impl Iterator<Item = (usize, &'a str)>) -> String {
        lines
            .map(|(number, line)| {
                let Some(columns) = self.columns(number, line) else {
                    return String::new();
                };
                let slice = slice_columns(line, columns, WideCharPolicy::Drop);
                strip_ansi(&slice.text).trim_end().to_owned()
            })
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn granularity_range(
    position: CellPosition,
    line: &str,
    granularity: SelectionGranularity,
) -> (CellPosition, CellPosition) {
    let columns = match granularity {
        SelectionGranularity::Cell => {
            cell_range_at(line, position.column).unwrap_or(position.column..position.column + 1)
        }
        SelectionGranularity::Word => word_at(line, position.column),
        SelectionGranularity::Line => 0..visible_width(line),
    };
    let at = |column| CellPosition { column, ..position };
    (at(columns.start), at(columns.end))
}

/// Returns the columns of the word at a column. Paths and hyphenated names are one word.
fn word_at(line: &str, column: usize) -> Range<usize> {
    let plain = strip_ansi(line);
    let belongs = |grapheme: &str| {
        grapheme
            .chars()
            .next()
            .is_some_and(|first| first.is_alphanumeric() || matches!(first, '_' | '-' | '/' | '.'))
    };
    let mut word = 0..0;
    let mut start = 0;
    for grapheme in graphemes(&plain) {
        let end = start + visible_width(grapheme);
        if belongs(grapheme) {
            word.end = end;
        } else {
            if (start..end).contains(&column) {
                return start..end;
            }
            if word.contains(&column) {
                return word;
            }
            word = end..end;
        }
        start = end;
    }
    if word.contains(&column) {
        word
    } else {
        column..column + 1
    }
}

/// Returns a line with the given columns wrapped in `open` and `close`.
pub(super) fn highlight(line: &str, columns: Range<usize>, open: &str, close: &str) -> String {
    let before = slice_columns(line, 0..columns.start, WideCharPolicy::Drop);
    let inside = slice_columns(line, columns.clone(), WideCharPolicy::Drop);
    let after = slice_columns(line, columns.end..usize::MAX, WideCharPolicy::Drop);
    // Use plain text: styles inside it would end the highlight early.
    let inside = strip_ansi(&inside.text).into_owned();
    let reset = super::frame::RESET;
    format!(
        "{}{reset}{open}{inside}{close}{reset}{}",
        before.text, after.text
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const LINES: [&str; 3] = ["one \x1b[1mtwo\x1b[0m three", "漢字 src/a-b.rs", "last  "];

    fn selected(
        granularity: SelectionGranularity,
        from: (usize, usize),
        to: (usize, usize),
    ) -> String {
        let position = |(line, column)| CellPosition { line, column };
        let mut selection = MouseSelection::start(position(from), LINES[from.0], granularity);
        selection.extend(position(to), LINES[to.0]);
        let range = selection.lines();
        selection.text(range.map(|line| (line, LINES[line])))
    }

    #[test]
    fn cells_words_and_lines_are_selected_in_both_directions() {
        let cases = [
            (SelectionGranularity::Cell, (0, 4), (0, 6), "two"),
            (SelectionGranularity::Cell, (0, 6), (0, 4), "two"),
            (SelectionGranularity::Cell, (0, 8), (1, 1), "three\n漢"),
            (
                SelectionGranularity::Cell,
                (2, 0),
                (1, 3),
                "字 src/a-b.rs\nl",
            ),
            (SelectionGranularity::Word, (1, 7), (1, 7), "src/a-b.rs"),
            (SelectionGranularity::Word, (0, 5), (0, 9), "two three"),
            (SelectionGranularity::Line, (2, 3), (2, 3), "last"),
        ];
        for (granularity, from, to, expected) in cases {
            assert_eq!(
                selected(granularity, from, to),
                expected,
                "{granularity:?} {from:?} {to:?}"
            );
        }
    }

    #[test]
    fn a_press_selects_nothing() {
        let selection = MouseSelection::start(
            CellPosition { line: 0, column: 2 },
            LINES[0],
            SelectionGranularity::Cell,
        );
        assert!(selection.is_empty());
        assert_eq!(selection.columns(0, LINES[0]), None);
    }

    #[test]
    fn a_highlight_keeps_the_columns_of_the_line() {
        let line = highlight(LINES[0], 2..9, "\x1b[7m", "\x1b[27m");
        assert_eq!(strip_ansi(&line), strip_ansi(LINES[0]));
    }
}
