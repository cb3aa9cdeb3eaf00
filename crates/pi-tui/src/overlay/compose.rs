//! Draws one line over another.

use super::layout::CellRect;
use crate::line::Line;
use crate::render::RESET;
use crate::terminal::ImageSpan;
use crate::text::{WideCharPolicy, slice_columns, split_around};

/// Returns `base` with `line` over the columns of `bounds`.
///
/// An image cannot be covered cell by cell, so its line is returned unchanged.
pub(crate) fn compose_line(base: &Line, line: &Line, bounds: CellRect, columns: usize) -> Line {
    if ImageSpan::find(base).is_some() {
        return base.clone();
    }
    let right = bounds.column + bounds.width;
    let (before, after) = split_around(base, bounds.column..right, columns);
    let over = slice_columns(line, 0..bounds.width, WideCharPolicy::Drop);
    let mut text = String::with_capacity(base.len() + line.len() + 4 * RESET.len());
    text.push_str(&before.text);
    text.push_str(RESET);
    spaces(&mut text, bounds.column.saturating_sub(before.width));
    text.push_str(&over.text);
    text.push_str(RESET);
    spaces(&mut text, bounds.width.saturating_sub(over.width));
    text.push_str(&after.text);
    Line::from(text)
}

fn spaces(text: &mut String, count: usize) {
    text.extend(std::iter::repeat_n(' ', count));
}
