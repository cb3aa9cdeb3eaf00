//! Size and place of an overlay on the screen.

use crate::terminal::Size;

/// The width of an overlay, where one is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum OverlayWidth {
    /// 80 columns, or what there is.
    #[default]
    Auto,
    Columns(usize),
    /// A share of the screen's columns, in percent.
    Percent(f32),
}

/// A place along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OverlayPosition {
    /// A cell of the screen, from 0.
    Cell(usize),
    /// A share of the free room: 0 is the near edge, 100 the far one.
    Percent(f32),
}

/// The point of the screen an overlay holds on to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverlayAnchor {
    #[default]
    Center,
    /// The upper left corner.
    TopLeft,
    /// The middle of the upper edge.
    TopCenter,
    /// The upper right corner.
    TopRight,
    /// The middle of the left edge.
    LeftCenter,
    /// The middle of the right edge.
    RightCenter,
    /// The lower left corner.
    BottomLeft,
    /// The middle of the lower edge.
    BottomCenter,
    /// The lower right corner.
    BottomRight,
}

/// Cells that stay free at the edges of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverlayMargin {
    /// Rows at the top.
    pub top: usize,
    /// Columns on the right.
    pub right: usize,
    /// Rows at the bottom.
    pub bottom: usize,
    /// Columns on the left.
    pub left: usize,
}

impl OverlayMargin {
    /// Returns the same margin on every side.
    pub fn all(cells: usize) -> Self {
        Self {
            top: cells,
            right: cells,
            bottom: cells,
            left: cells,
        }
    }
}

/// The cells an overlay covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellRect {
    /// Row of the upper edge, from 0.
    pub row: usize,
    /// Column of the left edge, from 0.
    pub column: usize,
    pub width: usize,
    pub height: usize,
}

impl CellRect {
    /// Returns whether a cell lies inside.
    pub fn contains(self, column: usize, row: usize) -> bool {
        (self.column..self.column + self.width).contains(&column)
            && (self.row..self.row + self.height).contains(&row)
    }
}

/// How an overlay is shown.
#[derive(Clone, Debug)]
pub struct OverlayOptions {
    pub width: OverlayWidth,
    /// The least width, if the screen has it.
    pub min_width: usize,
    /// The greatest height; lines beyond it are not shown.
    pub max_height: Option<OverlayPosition>,
    /// What it holds on to, where `row` and `column` say nothing.
    pub anchor: OverlayAnchor,
    /// Rows to move it down.
    pub offset_y: isize,
    /// Columns to move it right.
    pub offset_x: isize,
    /// Its row; wins over the anchor.
    pub row: Option<OverlayPosition>,
    /// Its column; wins over the anchor.
    pub column: Option<OverlayPosition>,
    /// Cells kept free around it.
    pub margin: OverlayMargin,
    /// Whether a screen of this size shows it at all.
    pub visible: fn(Size) -> bool,
    /// Whether it takes the keyboard when shown.
    pub captures_focus: bool,
}

impl Default for OverlayOptions {
    fn default() -> Self {
        Self {
            width: OverlayWidth::Auto,
            min_width: 0,
            max_height: None,
            anchor: OverlayAnchor::Center,
            offset_y: 0,
            offset_x: 0,
            row: None,
            column: None,
            margin: OverlayMargin::default(),
            visible: |_| true,
            captures_focus: true,
        }
    }
}

/// Which end of an axis an anchor holds on to.
#[derive(Clone, Copy)]
enum Side {
    Near,
    Middle,
    Far,
}

impl OverlayAnchor {
    fn sides(self) -> (Side, Side) {
        match self {
            Self::TopLeft => (Side::Near, Side::Near),
            Self::TopCenter => (Side::Near, Side::Middle),
            Self::TopRight => (Side::Near, Side::Far),
            Self::LeftCenter => (Side::Middle, Side::Near),
            Self::Center => (Side::Middle, Side::Middle),
            Self::RightCenter => (Side::Middle, Side::Far),
            Self::BottomLeft => (Side::Far, Side::Near),
            Self::BottomCenter => (Side::Far, Side::Middle),
            Self::BottomRight => (Side::Far, Side::Far),
        }
    }
}

/// One axis of the screen, margins taken off.
struct Axis {
    near_margin: usize,
    far_margin: usize,
    screen: usize,
}

impl Axis {
    fn room(&self) -> usize {
        self.screen
            .saturating_sub(self.near_margin + self.far_margin)
            .max(1)
    }

    /// Places something of `length` cells and keeps it between the margins.
    fn place(&self, length: usize, position: Option<OverlayPosition>, side: Side, offset: isize) -> usize {
        let free = self.room().saturating_sub(length);
        let start = match position {
            Some(OverlayPosition::Cell(cell)) => cell,
            Some(OverlayPosition::Percent(percent)) => self.near_margin + share(free, percent),
            None => {
                self.near_margin
                    + match side {
                        Side::Near => 0,
                        Side::Middle => free / 2,
                        Side::Far => free,
                    }
            }
        };
        let last = self.screen.saturating_sub(self.far_margin + length);
        start
            .saturating_add_signed(offset)
            .min(last)
            .max(self.near_margin)
            .min(self.screen.saturating_sub(1))
    }
}

/// Returns `percent` of `whole`, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "screens have few cells, and the float cast saturates"
)]
fn share(whole: usize, percent: f32) -> usize {
    (whole as f32 * percent.clamp(0.0, 100.0) / 100.0) as usize
}

impl OverlayOptions {
    /// Returns how wide the overlay is on a screen.
    pub(super) fn resolve_width(&self, size: Size) -> usize {
        let room = self.columns(size).room();
        let width = match self.width {
            OverlayWidth::Auto => room.min(80),
            OverlayWidth::Columns(columns) => columns,
            OverlayWidth::Percent(percent) => share(size.columns, percent),
        };
        width.max(self.min_width).clamp(1, room)
    }

    /// Returns the cells of an overlay that rendered `lines` lines of `width` columns.
    pub(super) fn place(&self, width: usize, lines: usize, size: Size) -> CellRect {
        let rows = self.rows(size);
        let height = match self.max_height {
            None => lines,
            Some(OverlayPosition::Cell(cells)) => lines.min(cells.clamp(1, rows.room())),
            Some(OverlayPosition::Percent(percent)) => {
                lines.min(share(size.rows, percent).clamp(1, rows.room()))
            }
        };
        let (vertical, horizontal) = self.anchor.sides();
        let row = rows.place(height, self.row, vertical, self.offset_y);
        let column = self
            .columns(size)
            .place(width, self.column, horizontal, self.offset_x);
        CellRect {
            row,
            column,
            width: width.min(size.columns.saturating_sub(column)),
            height: height.min(size.rows.saturating_sub(row)),
        }
    }

    fn rows(&self, size: Size) -> Axis {
        Axis {
            near_margin: self.margin.top,
            far_margin: self.margin.bottom,
            screen: size.rows,
        }
    }

    fn columns(&self, size: Size) -> Axis {
        Axis {
            near_margin: self.margin.left,
            far_margin: self.margin.right,
            screen: size.columns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const SCREEN: Size = Size {
        columns: 100,
        rows: 40,
    };

    fn bounds(options: &OverlayOptions, lines: usize) -> (usize, usize, usize, usize) {
        let placed = options.place(options.resolve_width(SCREEN), lines, SCREEN);
        (placed.row, placed.column, placed.width, placed.height)
    }

    #[test]
    fn anchors_hold_on_to_edges_and_corners() {
        let cases = [
            (OverlayAnchor::Center, (15, 40)),
            (OverlayAnchor::TopLeft, (0, 0)),
            (OverlayAnchor::TopCenter, (0, 40)),
            (OverlayAnchor::TopRight, (0, 80)),
            (OverlayAnchor::LeftCenter, (15, 0)),
            (OverlayAnchor::RightCenter, (15, 80)),
            (OverlayAnchor::BottomLeft, (30, 0)),
            (OverlayAnchor::BottomCenter, (30, 40)),
            (OverlayAnchor::BottomRight, (30, 80)),
        ];
        for (anchor, (row, column)) in cases {
            let options = OverlayOptions {
                width: OverlayWidth::Columns(20),
                anchor,
                ..OverlayOptions::default()
            };
            assert_eq!(bounds(&options, 10), (row, column, 20, 10), "{anchor:?}");
        }
    }

    #[test]
    fn sizes_places_and_margins_are_resolved() {
        let base = OverlayOptions::default();
        assert_eq!(bounds(&base, 10), (15, 10, 80, 10));
        let percent = OverlayOptions {
            width: OverlayWidth::Percent(50.0),
            row: Some(OverlayPosition::Percent(100.0)),
            column: Some(OverlayPosition::Percent(0.0)),
            margin: OverlayMargin::all(2),
            ..OverlayOptions::default()
        };
        assert_eq!(bounds(&percent, 10), (28, 2, 50, 10));
        let pushed_out = OverlayOptions {
            width: OverlayWidth::Columns(500),
            row: Some(OverlayPosition::Cell(90)),
            offset_x: -500,
            max_height: Some(OverlayPosition::Cell(4)),
            ..OverlayOptions::default()
        };
        assert_eq!(bounds(&pushed_out, 10), (36, 0, 100, 4));
        let wide = OverlayOptions {
            width: OverlayWidth::Columns(10),
            min_width: 30,
            max_height: Some(OverlayPosition::Percent(10.0)),
            offset_y: 3,
            ..OverlayOptions::default()
        };
        assert_eq!(bounds(&wide, 10), (21, 35, 30, 4));
    }

    #[test]
    fn no_screen_is_too_small() {
        for columns in 1..6 {
            for rows in 1..6 {
                let size = Size { columns, rows };
                let options = OverlayOptions {
                    margin: OverlayMargin::all(3),
                    ..OverlayOptions::default()
                };
                let placed = options.place(options.resolve_width(size), 9, size);
                assert!(placed.column + placed.width <= columns, "{placed:?}");
                assert!(placed.row + placed.height <= rows, "{placed:?}");
            }
        }
    }
}
