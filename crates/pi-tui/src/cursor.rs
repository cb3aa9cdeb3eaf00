//! Finds the text cursor in rendered lines.

use crate::component::CURSOR_MARKER;
use crate::line::Line;
use crate::text::visible_width;

/// Returns the line without its cursor markers, and the column of the first one.
///
/// Further markers are a bug in the component and are removed silently.
pub(crate) fn take_cursor_marker(line: &Line) -> (Line, Option<usize>) {
    let Some((before, after)) = line.split_once(CURSOR_MARKER) else {
        return (line.clone(), None);
    };
    let column = visible_width(before);
    let rest = after.replace(CURSOR_MARKER, "");
    (Line::from(format!("{before}{rest}")), Some(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_is_removed_and_its_column_returned() {
        let line = Line::from(format!("漢\x1b[1ma{CURSOR_MARKER}b{CURSOR_MARKER}"));
        let (rest, column) = take_cursor_marker(&line);
        assert_eq!(rest, "漢\x1b[1mab");
        assert_eq!(column, Some(3));
        let plain = Line::from("plain");
        assert!(take_cursor_marker(&plain).0.ptr_eq(&plain));
    }
}
