//! A canvas for drawing boxes, lines and text; lines that meet are joined.

use pi_tui::{grapheme_width, graphemes};

/// Bits for the directions of a cell's lines.
const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

#[derive(Clone, Debug, Default)]
enum CanvasCell {
    #[default]
    Empty,
    /// Lines in these directions, dotted if all of them are.
    Lines {
        directions: u8,
        dotted: bool,
    },
    Text(String),
    /// The right half of a wide character.
    Covered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CanvasPoint {
    pub(super) row: usize,
    pub(super) column: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stroke {
    #[default]
    Solid,
    Dotted,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Corners {
    #[default]
    Sharp,
    Round,
}

/// A grid of cells that grows as needed.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    rows: Vec<Vec<CanvasCell>>,
}

impl Canvas {
    fn cell(&mut self, point: CanvasPoint) -> Option<&mut CanvasCell> {
        if self.rows.len() <= point.row {
            self.rows.resize_with(point.row + 1, Vec::new);
        }
        let row = self.rows.get_mut(point.row)?;
        if row.len() <= point.column {
            row.resize_with(point.column + 1, CanvasCell::default);
        }
        row.get_mut(point.column)
    }

    fn add(&mut self, point: CanvasPoint, added: u8, stroke: Stroke) {
        let Some(cell) = self.cell(point) else {
            return;
        };
        match cell {
            CanvasCell::Lines { directions, dotted } => {
                *directions |= added;
                *dotted &= stroke == Stroke::Dotted;
            }
            CanvasCell::Empty => {
                *cell = CanvasCell::Lines {
                    directions: added,
                    dotted: stroke == Stroke::Dotted,
                };
            }
            // Text takes precedence over lines.
            CanvasCell::Text(_) | CanvasCell::Covered => {}
        }
    }

    /// Draws a straight line between two points of a row or a column, both included.
    pub(super) fn line(&mut self, from: CanvasPoint, to: CanvasPoint, stroke: Stroke) {
        let (from, to) = if (from.row, from.column) <= (to.row, to.column) {
            (from, to)
        } else {
            (to, from)
        };
        for column in from.column..to.column {
            self.add(CanvasPoint { column, ..from }, RIGHT, stroke);
            let column = column + 1;
            self.add(CanvasPoint { column, ..from }, LEFT, stroke);
        }
        for row in from.row..to.row {
            self.add(CanvasPoint { row, ..to }, DOWN, stroke);
            self.add(CanvasPoint { row: row + 1, ..to }, UP, stroke);
        }
    }

    /// Writes text over existing cells.
    pub(super) fn text(&mut self, point: CanvasPoint, text: &str) {
        let mut column = point.column;
        for grapheme in graphemes(text) {
            let width = grapheme_width(grapheme);
            for covered in 1..width {
                let column = column + covered;
                if let Some(cell) = self.cell(CanvasPoint { column, ..point }) {
                    *cell = CanvasCell::Covered;
                }
            }
            if width > 0
                && let Some(cell) = self.cell(CanvasPoint { column, ..point })
            {
                *cell = CanvasCell::Text(grapheme.to_owned());
            }
            column += width;
        }
    }

    /// Draws a box of this size with centered lines of text.
    pub(super) fn labeled_box(
        &mut self,
        at: CanvasPoint,
        [width, height]: [usize; 2],
        corners: Corners,
        lines: &[String],
    ) {
        let (right, bottom) = (at.column + width - 1, at.row + height - 1);
        let corner = |row, column| CanvasPoint { row, column };
        let [top_left, top_right] = [corner(at.row, at.column), corner(at.row, right)];
        let [bottom_left, bottom_right] = [corner(bottom, at.column), corner(bottom, right)];
        for (from, to) in [
            (top_left, top_right),
            (bottom_left, bottom_right),
            (top_left, bottom_left),
            (top_right, bottom_right),
        ] {
            self.line(from, to, Stroke::Solid);
        }
        if corners == Corners::Round {
            for (point, corner) in [
                (top_left, "╭"),
                (top_right, "╮"),
                (bottom_left, "╰"),
                (bottom_right, "╯"),
            ] {
                self.text(point, corner);
            }
        }
        for (index, line) in lines.iter().enumerate() {
            let free = (width - 2).saturating_sub(pi_tui::visible_width(line));
            let point = CanvasPoint {
                row: at.row + 1 + index,
                column: at.column + 1 + free / 2,
            };
            self.text(point, line);
        }
    }

    /// Returns the drawing as lines without trailing spaces.
    pub(super) fn into_lines(self) -> Vec<String> {
        let draw = |row: Vec<CanvasCell>| {
            let line: String = row.into_iter().map(CanvasCell::into_text).collect();
            line.trim_end().to_owned()
        };
        self.rows.into_iter().map(draw).collect()
    }
}

impl CanvasCell {
    fn into_text(self) -> String {
        match self {
            Self::Empty => " ".to_owned(),
            Self::Text(text) => text,
            Self::Covered => String::new(),
            Self::Lines { directions, dotted } => joined(directions, dotted).to_owned(),
        }
    }
}

fn joined(directions: u8, dotted: bool) -> &'static str {
    const VERTICAL: u8 = UP | DOWN;
    const HORIZONTAL: u8 = LEFT | RIGHT;
    match (directions & VERTICAL, directions & HORIZONTAL) {
        (0, _) if dotted => "╌",
        (0, _) => "─",
        (_, 0) if dotted => "┆",
        (_, 0) => "│",
        (DOWN, RIGHT) => "┌",
        (DOWN, LEFT) => "┐",
        (UP, RIGHT) => "└",
        (UP, LEFT) => "┘",
        (VERTICAL, RIGHT) => "├",
        (VERTICAL, LEFT) => "┤",
        (DOWN, _) => "┬",
        (UP, _) => "┴",
        _ => "┼",
    }
}
