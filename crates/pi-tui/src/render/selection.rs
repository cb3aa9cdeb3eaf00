//! Text selected with the mouse in full-screen mode.

use std::ops::Range;

use super::document::Change;
use crate::text::{WideCharPolicy, cell_range_at, graphemes, slice_columns, strip_ansi, visible_width};

/// A cell by line and column; lines are numbered through transcript and dock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// What a click in a row of clicks selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    Cell,
    Word,
    Line,
}

impl Grain {
    pub(crate) fn for_clicks(count: u8) -> Self {
        match count {
            0 | 1 => Self::Cell,
            2 => Self::Word,
            _ => Self::Line,
        }
    }
}

/// A selection from where the button went down to where the pointer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    grain: Grain,
    anchor: (Place, Place),
    head: (Place, Place),
    /// A press alone selects nothing; a word or a line is selected at once.
    extended: bool,
}

impl Selection {
    pub(crate) fn start(place: Place, line: &str, grain: Grain) -> Self {
        let range = grain_range(place, line, grain);
        Self {
            grain,
            anchor: range,
            head: range,
            extended: grain != Grain::Cell,
        }
    }

    pub(crate) fn extend(&mut self, place: Place, line: &str) {
        self.head = grain_range(place, line, self.grain);
        self.extended |= self.head != self.anchor;
    }

    pub(super) fn follow(&mut self, changes: &[Change]) {
        for change in changes {
            for place in [
                &mut self.anchor.0,
                &mut self.anchor.1,
                &mut self.head.0,
                &mut self.head.1,
            ] {
                place.line = change.shift(place.line);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.extended
    }

    fn bounds(&self) -> (Place, Place) {
        (
            self.anchor.0.min(self.head.0),
            self.anchor.1.max(self.head.1),
        )
    }

    /// Returns the lines the selection touches.
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

    /// Returns the selected part of the lines as plain text, trailing spaces left out.
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

fn grain_range(place: Place, line: &str, grain: Grain) -> (Place, Place) {
    let columns = match grain {
        Grain::Cell => cell_range_at(line, place.column).unwrap_or(place.column..place.column + 1),
        Grain::Word => word_at(line, place.column),
        Grain::Line => 0..visible_width(line),
    };
    let at = |column| Place { column, ..place };
    (at(columns.start), at(columns.end))
}

/// Returns the columns of the word at a column; paths and names with hyphens are one word.
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

/// Returns a line with some columns shown as the given sequences say.
pub(super) fn highlight(line: &str, columns: Range<usize>, open: &str, close: &str) -> String {
    let before = slice_columns(line, 0..columns.start, WideCharPolicy::Drop);
    let inside = slice_columns(line, columns.clone(), WideCharPolicy::Drop);
    let after = slice_columns(line, columns.end..usize::MAX, WideCharPolicy::Drop);
    // Styles of the text inside would undo the highlight half-way, hence the plain text.
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

    fn selected(grain: Grain, from: (usize, usize), to: (usize, usize)) -> String {
        let place = |(line, column)| Place { line, column };
        let mut selection = Selection::start(place(from), LINES[from.0], grain);
        selection.extend(place(to), LINES[to.0]);
        let range = selection.lines();
        selection.text(range.map(|line| (line, LINES[line])))
    }

    #[test]
    fn cells_words_and_lines_are_selected_in_both_directions() {
        let cases = [
            (Grain::Cell, (0, 4), (0, 6), "two"),
            (Grain::Cell, (0, 6), (0, 4), "two"),
            (Grain::Cell, (0, 8), (1, 1), "three\n漢"),
            (Grain::Cell, (2, 0), (1, 3), "字 src/a-b.rs\nl"),
            (Grain::Word, (1, 7), (1, 7), "src/a-b.rs"),
            (Grain::Word, (0, 5), (0, 9), "two three"),
            (Grain::Line, (2, 3), (2, 3), "last"),
        ];
        for (grain, from, to, expected) in cases {
            assert_eq!(
                selected(grain, from, to),
                expected,
                "{grain:?} {from:?} {to:?}"
            );
        }
    }

    #[test]
    fn a_press_selects_nothing() {
        let selection = Selection::start(Place { line: 0, column: 2 }, LINES[0], Grain::Cell);
        assert!(selection.is_empty());
        assert_eq!(selection.columns(0, LINES[0]), None);
    }

    #[test]
    fn a_highlight_keeps_the_columns_of_the_line() {
        let line = highlight(LINES[0], 2..9, "\x1b[7m", "\x1b[27m");
        assert_eq!(strip_ansi(&line), strip_ansi(LINES[0]));
    }
}
