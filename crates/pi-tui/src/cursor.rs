//! Finds the text cursor in rendered lines.

use crate::component::CURSOR_MARKER;
use crate::line::Line;
use crate::text::visible_width;

const INVERSE: &str = "\x1b[7m";
const NOT_INVERSE: &str = "\x1b[27m";

/// Which cursor the user sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VisibleCursor {
    /// The inverse cell that components draw after the marker.
    Drawn,
    /// The terminal's, so the cell is drawn like the others.
    Hardware,
}

impl VisibleCursor {
    pub(crate) fn of(show_cursor: bool) -> Self {
        if show_cursor {
            Self::Hardware
        } else {
            Self::Drawn
        }
    }
}

/// Returns the line without its cursor markers, and the column of the first one.
///
/// Further markers are a bug in the component and are removed silently.
pub(crate) fn take_cursor_marker(line: &Line, cursor: VisibleCursor) -> (Line, Option<usize>) {
    let Some((before, after)) = line.split_once(CURSOR_MARKER) else {
        return (line.clone(), None);
    };
    let column = visible_width(before);
    let mut rest = after.replace(CURSOR_MARKER, "");
    if cursor == VisibleCursor::Hardware
        && let Some((cell, behind)) = rest
            .strip_prefix(INVERSE)
            .and_then(|cell| cell.split_once(NOT_INVERSE))
    {
        rest = format!("{cell}{behind}");
    }
    (Line::from(format!("{before}{rest}")), Some(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_is_removed_and_its_column_returned() {
        let line = Line::from(format!("漢\x1b[1ma{CURSOR_MARKER}b{CURSOR_MARKER}"));
        let (rest, column) = take_cursor_marker(&line, VisibleCursor::Drawn);
        assert_eq!(rest, "漢\x1b[1mab");
        assert_eq!(column, Some(3));
        let drawn = Line::from(format!("a{CURSOR_MARKER}\x1b[7mb\x1b[27mc"));
        let hardware = take_cursor_marker(&drawn, VisibleCursor::Hardware).0;
        assert_eq!(hardware, "abc");
        let kept = take_cursor_marker(&drawn, VisibleCursor::Drawn).0;
        assert_eq!(kept, "a\x1b[7mb\x1b[27mc");
        let plain = Line::from("plain");
        assert!(
            take_cursor_marker(&plain, VisibleCursor::Hardware)
                .0
                .ptr_eq(&plain)
        );
    }
}
