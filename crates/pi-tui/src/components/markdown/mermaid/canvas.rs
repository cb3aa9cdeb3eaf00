//! Cells to draw boxes, lines and text on; lines that meet are joined.

use crate::text::{grapheme_width, graphemes};

/// The directions a cell's lines go.
const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

#[derive(Clone, Debug, Default)]
enum Cell {
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

/// A place on a canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) row: usize,
    pub(super) column: usize,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stroke {
    #[default]
    Solid,
    Dotted,
}

/// How the corners of a box are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Corners {
    #[default]
    Sharp,
    Round,
}

/// Cells that grow with what is drawn on them.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    rows: Vec<Vec<Cell>>,
}

impl Canvas {
    fn cell(&mut self, spot: Spot) -> Option<&mut Cell> {
        if self.rows.len() <= spot.row {
            self.rows.resize_with(spot.row + 1, Vec::new);
        }
        let row = self.rows.get_mut(spot.row)?;
        if row.len() <= spot.column {
            row.resize_with(spot.column + 1, Cell::default);
        }
        row.get_mut(spot.column)
    }

    fn add(&mut self, spot: Spot, added: u8, stroke: Stroke) {
        let Some(cell) = self.cell(spot) else {
            return;
        };
        match cell {
            Cell::Lines { directions, dotted } => {
                *directions |= added;
                *dotted &= stroke == Stroke::Dotted;
            }
            Cell::Empty => {
                *cell = Cell::Lines {
                    directions: added,
                    dotted: stroke == Stroke::Dotted,
                };
            }
            // Text stands over lines.
            Cell::Text(_) | Cell::Covered => {}
        }
    }

    /// Draws a straight line between two spots of a row or a column, both included.
    pub(super) fn line(&mut self, from: Spot, to: Spot, stroke: Stroke) {
        let (from, to) = if (from.row, from.column) <= (to.row, to.column) {
            (from, to)
        } else {
            (to, from)
        };
        for column in from.column..to.column {
            self.add(Spot { column, ..from }, RIGHT, stroke);
            let column = column + 1;
            self.add(Spot { column, ..from }, LEFT, stroke);
        }
        for row in from.row..to.row {
            self.add(Spot { row, ..to }, DOWN, stroke);
            self.add(Spot { row: row + 1, ..to }, UP, stroke);
        }
    }

    /// Writes text over whatever is there.
    pub(super) fn text(&mut self, spot: Spot, text: &str) {
        let mut column = spot.column;
        for grapheme in graphemes(text) {
            let width = grapheme_width(grapheme);
            for covered in 1..width {
                let column = column + covered;
                if let Some(cell) = self.cell(Spot { column, ..spot }) {
                    *cell = Cell::Covered;
                }
            }
            if width > 0
                && let Some(cell) = self.cell(Spot { column, ..spot })
            {
                *cell = Cell::Text(grapheme.to_owned());
            }
            column += width;
        }
    }

    /// Draws a box of this size with lines of text in its middle.
    pub(super) fn labeled_box(
        &mut self,
        at: Spot,
        [width, height]: [usize; 2],
        corners: Corners,
        lines: &[String],
    ) {
        let (right, bottom) = (at.column + width - 1, at.row + height - 1);
        let corner = |row, column| Spot { row, column };
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
            for (spot, corner) in [
                (top_left, "╭"),
                (top_right, "╮"),
                (bottom_left, "╰"),
                (bottom_right, "╯"),
            ] {
                self.text(spot, corner);
            }
        }
        for (index, line) in lines.iter().enumerate() {
            let free = (width - 2).saturating_sub(crate::text::visible_width(line));
            let spot = Spot {
                row: at.row + 1 + index,
                column: at.column + 1 + free / 2,
            };
            self.text(spot, line);
        }
    }

    /// Returns the drawing as lines without spaces at their ends.
    pub(super) fn into_lines(self) -> Vec<String> {
        let draw = |row: Vec<Cell>| {
            let line: String = row.into_iter().map(Cell::into_text).collect();
            line.trim_end().to_owned()
        };
        self.rows.into_iter().map(draw).collect()
    }
}

impl Cell {
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
