//! Moving up and down over visual lines, with a column that is remembered.
//!
//! The column counts screen columns, so that the cursor stays below itself in lines with wide
//! characters. It is remembered while the cursor could not reach it: on shorter lines, and on markers,
//! where the cursor stands at their start.

use super::buffer::{Buffer, TextPosition};
use super::layout::{Layout, VisualLine, atoms};

/// The column vertical movement wants to return to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StickyColumn {
    wanted: Option<usize>,
    /// The cursor stands at the start of an atom that covers the wanted column.
    snapped: bool,
}

impl StickyColumn {
    /// Forgets the column: the cursor moved on purpose.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Moves the cursor from visual line `from` to `target`.
    pub(crate) fn move_to_line(
        &mut self,
        buffer: &mut Buffer,
        layout: &Layout,
        from: usize,
        target: usize,
    ) {
        let (Some(source), Some(goal)) = (layout.get(from), layout.get(target)) else {
            return;
        };
        let current = column_of(buffer, &source, buffer.cursor.offset);
        let at_end = current >= last_column(buffer, &source);
        let wanted = match self.wanted {
            Some(wanted) if at_end || self.snapped => wanted,
            _ => current,
        };
        let mut index = target;
        let mut goal = goal;
        let mut offset = offset_at(buffer, &goal, wanted);
        // A marker broken over several lines is one stop: going down, its later lines are skipped.
        while target > from
            && offset < goal.range.start
            && let Some(next) = layout.get(index + 1)
        {
            index += 1;
            goal = next;
            offset = offset_at(buffer, &goal, wanted);
        }
        buffer.cursor = TextPosition {
            line: goal.line,
            offset,
        };
        let reached = column_of(buffer, &goal, offset);
        self.wanted = (reached != wanted).then_some(wanted);
        self.snapped =
            offset < goal.range.start || reached < wanted.min(last_column(buffer, &goal));
    }
}

/// Returns the screen column of an offset on a visual line.
fn column_of(buffer: &Buffer, line: &VisualLine, offset: usize) -> usize {
    let text = buffer.line_at(line.line);
    let before = text.get(line.range.start..offset.max(line.range.start));
    crate::text::visible_width(before.unwrap_or_default())
}

/// Returns the last column the cursor can stand at on a visual line.
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

/// Returns the offset of the atom at a screen column of a visual line, or of the line's last place.
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
