//! Vertical movement over visual lines, with a sticky column.
//!
//! The column is measured in screen columns, so that the cursor stays vertically aligned in lines
//! with wide characters. It is remembered while the cursor cannot reach it: on shorter lines, and
//! on markers, where the cursor stays at the start.

use super::buffer::{Buffer, TextPosition};
use super::layout::{EditorLayout, VisualLine, atoms};

/// The column that vertical movement returns to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StickyColumn {
    target_column: Option<usize>,
    /// Whether the cursor is at the start of an atom that covers the target column.
    snapped: bool,
}

impl StickyColumn {
    /// Forgets the column after an explicit cursor movement.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Moves the cursor from visual line `from` to `target`.
    pub(crate) fn move_to_line(
        &mut self,
        buffer: &mut Buffer,
        layout: &EditorLayout,
        from: usize,
        target: usize,
    ) {
        let (Some(source), Some(goal)) = (layout.get(from), layout.get(target)) else {
            return;
        };
        let current = column_of(buffer, &source, buffer.cursor.offset);
        let at_end = current >= last_column(buffer, &source);
        let target_column = match self.target_column {
            Some(target_column) if at_end || self.snapped => target_column,
            _ => current,
        };
        let mut index = target;
        let mut goal = goal;
        let mut offset = offset_at(buffer, &goal, target_column);
        // A marker that spans several lines is one stop: moving down skips its remaining lines.
        while target > from
            && offset < goal.range.start
            && let Some(next) = layout.get(index + 1)
        {
            index += 1;
            goal = next;
            offset = offset_at(buffer, &goal, target_column);
        }
        buffer.cursor = TextPosition {
            line: goal.line,
            offset,
        };
        let reached = column_of(buffer, &goal, offset);
        self.target_column = (reached != target_column).then_some(target_column);
        self.snapped =
            offset < goal.range.start || reached < target_column.min(last_column(buffer, &goal));
    }
}

/// Returns the screen column of an offset on a visual line.
fn column_of(buffer: &Buffer, line: &VisualLine, offset: usize) -> usize {
    let text = buffer.line_at(line.line);
    let before = text.get(line.range.start..offset.max(line.range.start));
    crate::text::visible_width(before.unwrap_or_default())
}

/// Returns the last column the cursor can be at on a visual line.
fn last_column(buffer: &Buffer, line: &VisualLine) -> usize {
    let text = buffer.line_at(line.line);
    let part = text.get(line.range.clone()).unwrap_or_default();
    let width = crate::text::visible_width(part);
    if line.ends_line {
        return width;
    }
    let last = crate::text::graphemes(part).last().unwrap_or_default();
    width - crate::text::grapheme_width(last)
}

/// Returns the offset of the atom at a screen column of a visual line, or the line's last position.
pub(crate) fn offset_at(buffer: &Buffer, line: &VisualLine, column: usize) -> usize {
    let text = buffer.line_at(line.line);
    let markers = buffer.markers(line.line);
    // A marker may have started on a visual line above.
    if let Some(marker) = markers
        .iter()
        .find(|marker| marker.start < line.range.start && line.range.start < marker.end)
    {
        let covered = column_of(buffer, line, marker.end.min(line.range.end));
        if column < covered || marker.end >= line.range.end {
            return marker.start;
        }
    }
    let part = text.get(line.range.clone()).unwrap_or_default();
    let inside: Vec<_> = markers
        .iter()
        .filter(|marker| marker.start >= line.range.start && marker.start < line.range.end)
        .map(|marker| marker.start - line.range.start..marker.end - line.range.start)
        .collect();
    let mut reached = 0;
    let mut last = line.range.start;
    for atom in atoms(part, &inside) {
        last = line.range.start + atom.range.start;
        reached += atom.width;
        if column < reached {
            return last;
        }
    }
    if line.ends_line { line.range.end } else { last }
}
