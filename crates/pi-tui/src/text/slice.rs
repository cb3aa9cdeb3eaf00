//! Parts of a styled line by column: for horizontal scrolling, selection and overlays.

use std::ops::Range;

/// What happens to a wide character that crosses the right edge of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// It is kept, and the slice is one column wider than asked.
    Keep,
    /// It is left out, and the slice is one column narrower than asked.
    Drop,
}

/// A part of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The text with the style active at its start opened again.
    pub text: String,
    /// The columns it takes.
    pub width: usize,
}

/// Returns the columns `columns` of `line`, styled as they are in the line.
pub fn slice_columns(line: &str, columns: Range<usize>, edge: Edge) -> Slice {
    let (_, _) = (columns, edge);
    Slice {
        text: line.to_owned(),
        width: super::visible_width(line),
    }
}

/// Returns what stays left and right of something laid over `covered`, up to column `end`.
pub fn around_columns(line: &str, covered: Range<usize>, end: usize) -> (Slice, Slice) {
    let before = slice_columns(line, 0..covered.start, Edge::Drop);
    let after = slice_columns(line, covered.end..end, Edge::Drop);
    (before, after)
}

/// Returns the columns of the character that covers `column`.
pub fn cell_range_at(_line: &str, column: usize) -> Option<Range<usize>> {
    Some(column..column + 1)
}

/// Returns the address of the hyperlink at `column`.
pub fn link_at(_line: &str, _column: usize) -> Option<&str> {
    None
}
