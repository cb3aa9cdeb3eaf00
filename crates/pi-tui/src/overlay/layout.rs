//! Size and position of an overlay on the screen.

use crate::terminal::Size;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum OverlayWidth {
    /// 80 columns, or the available width if less.
    #[default]
    Auto,
    Columns(usize),
    /// Percentage of the screen's columns.
    Percent(f32),
}

/// A position along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OverlayPosition {
    /// Cell of the screen, counted from 0.
    Cell(usize),
    /// Percentage of the free space: 0 is the start edge, 100 the end edge.
    Percent(f32),
}

/// The point of the screen an overlay is attached to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverlayAnchor {
    #[default]
    Center,
    TopLeft,
    TopCenter,
    TopRight,
    LeftCenter,
    RightCenter,
    BottomLeft,
    BottomCenter,
    BottomRight,
}

/// Cells kept free at the edges of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverlayMargin {
    pub top: usize,
    pub right: usize,
    pub bottom: usize,
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

/// A rectangle of screen cells, such as the area an overlay covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellRect {
    /// Row of the top edge, from 0.
    pub row: usize,
    /// Column of the left edge, from 0.
    pub column: usize,
    pub width: usize,
    pub height: usize,
}

impl CellRect {
    pub fn contains(self, column: usize, row: usize) -> bool {
        (self.column..self.column + self.width).contains(&column)
            && (self.row..self.row + self.height).contains(&row)
    }
}

#[derive(Clone, Debug)]
pub struct OverlayOptions {
    pub width: OverlayWidth,
    /// Minimum width, if the screen is wide enough.
    pub min_width: usize,
    /// Maximum height; further lines are not shown.
    pub max_height: Option<OverlayPosition>,
    /// Used where `row` and `column` are not set.
    pub anchor: OverlayAnchor,
    /// Rows to move it down.
    pub offset_y: isize,
    /// Columns to move it right.
    pub offset_x: isize,
    /// Takes precedence over the anchor.
    pub row: Option<OverlayPosition>,
    /// Takes precedence over the anchor.
    pub column: Option<OverlayPosition>,
    pub margin: OverlayMargin,
    /// Whether to show the overlay on a screen of this size.
    pub visible: fn(Size) -> bool,
    /// Whether the overlay takes focus when shown.
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

/// Which end of an axis an anchor is attached to.
#[derive(Clone, Copy)]
enum AnchorSide {
    Near,
    Middle,
    Far,
}

impl OverlayAnchor {
    fn sides(self) -> (AnchorSide, AnchorSide) {
        match self {
            Self::TopLeft => (AnchorSide::Near, AnchorSide::Near),
            Self::TopCenter => (AnchorSide::Near, AnchorSide::Middle),
            Self::TopRight => (AnchorSide::Near, AnchorSide::Far),
            Self::LeftCenter => (AnchorSide::Middle, AnchorSide::Near),
            Self::Center => (AnchorSide::Middle, AnchorSide::Middle),
            Self::RightCenter => (AnchorSide::Middle, AnchorSide::Far),
            Self::BottomLeft => (AnchorSide::Far, AnchorSide::Near),
            Self::BottomCenter => (AnchorSide::Far, AnchorSide::Middle),
            Self::BottomRight => (AnchorSide::Far, AnchorSide::Far),
        }
    }
}

/// One axis of the screen.
struct Axis {
    near_margin: usize,
    far_margin: usize,
    screen: usize,
}

impl Axis {
    fn available(&self) -> usize {
        self.screen
            .saturating_sub(self.near_margin + self.far_margin)
            .max(1)
    }

    /// Positions an item of `length` cells and keeps it within the margins.
    fn place(
        &self,
        length: usize,
        position: Option<OverlayPosition>,
        side: AnchorSide,
        offset: isize,
    ) -> usize {
        let free = self.available().saturating_sub(length);
        let start = match position {
            Some(OverlayPosition::Cell(cell)) => cell,
            Some(OverlayPosition::Percent(percent)) => self.near_margin + percent_of(free, percent),
            None => {
                self.near_margin
                    + match side {
                        AnchorSide::Near => 0,
                        AnchorSide::Middle => free / 2,
                        AnchorSide::Far => free,
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

/// Returns `percent` of `total`, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "screens have few cells, and the float cast saturates"
)]
fn percent_of(total: usize, percent: f32) -> usize {
    (total as f32 * percent.clamp(0.0, 100.0) / 100.0) as usize
}

impl OverlayOptions {
    /// Returns the width of the overlay on a screen of this size.
    pub fn resolve_width(&self, size: Size) -> usize {
        let available = self.columns(size).available();
        let width = match self.width {
            OverlayWidth::Auto => available.min(80),
            OverlayWidth::Columns(columns) => columns,
            OverlayWidth::Percent(percent) => percent_of(size.columns, percent),
        };
        width.max(self.min_width).clamp(1, available)
    }

    /// Returns the cells of an overlay that rendered `lines` lines of `width` columns.
    pub fn place(&self, width: usize, lines: usize, size: Size) -> CellRect {
        let rows = self.rows(size);
        let height = match self.max_height {
            None => lines,
            Some(OverlayPosition::Cell(cells)) => lines.min(cells.clamp(1, rows.available())),
            Some(OverlayPosition::Percent(percent)) => {
                lines.min(percent_of(size.rows, percent).clamp(1, rows.available()))
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
    fn anchors_attach_to_edges_and_corners() {
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
    fn sizes_positions_and_margins_are_resolved() {
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
    fn overlays_fit_on_any_screen() {
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
