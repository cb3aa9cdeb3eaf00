//! Prepares a line for the terminal: removes control sequences other than styles, links, images and the
//! cursor marker, expands tabs, checks the width, and closes styles and links.

use std::borrow::Cow;

use crate::cursor::{VisibleCursor, take_cursor_marker};
use crate::line::Line;
use crate::terminal::ImageSpan;
use crate::text::{
    AnsiToken, AnsiTokens, StyleState, WideCharPolicy, expand_for_terminal, slice_columns,
    styled_line, visible_width,
};

/// Closes all styles and links. Only lines that contain sequences need it.
pub(crate) const RESET: &str = "\x1b[0m\x1b]8;;\x07";

/// How to treat a line that is wider than the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WidthPolicy {
    /// Truncate it and log a warning: a truncated line is better than no frame.
    #[default]
    Truncate,
    /// Fail the frame, for tests.
    Strict,
}

#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A component rendered a line wider than the width it was given.
    #[error("line is {actual} columns wide on a screen of {width}: {line:?}")]
    LineTooWide {
        /// Columns of the line.
        actual: usize,
        /// Columns of the screen.
        width: usize,
        line: String,
    },
}

/// One row of the screen.
#[derive(Clone, Debug, Default)]
pub(super) struct PreparedRow {
    /// The line this row was prepared from, to skip preparing it again.
    pub(super) source: Line,
    pub(super) text: Line,
    /// Column of the cursor marker.
    pub(super) cursor: Option<usize>,
    /// The image drawn from this row.
    pub(super) image: Option<ImageSpan>,
}

impl PreparedRow {
    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn prepare(
        source: &Line,
        width: usize,
        policy: WidthPolicy,
        cursor: VisibleCursor,
    ) -> Result<Self, RenderError> {
        let safe = safe_line(source);
        let has_sequences = memchr::memchr(0x1b, safe.as_bytes()).is_some();
        let image = has_sequences.then(|| ImageSpan::find(&safe)).flatten();
        if image.is_some() {
            return Ok(Self {
                source: source.clone(),
                text: safe,
                cursor: None,
                image,
            });
        }
        let (line, cursor) = if has_sequences {
            take_cursor_marker(&safe, cursor)
        } else {
            (safe, None)
        };
        let expanded = expand_for_terminal(&line);
        let actual = visible_width(&expanded);
        let mut text = if actual > width {
            let text = truncate(&expanded, actual, width, policy)?;
            Line::from(text)
        } else if expanded == *line {
            line
        } else {
            Line::from(expanded)
        };
        // The rest of a row is erased before it is written. A terminal that becomes narrower would wrap the spaces and
        // push rows out.
        if text.ends_with(' ') && !(has_sequences && leaves_style(&text)) {
            text = Line::from(text.trim_end_matches(' '));
        }
        if has_sequences && !text.ends_with(RESET) {
            text = Line::from(format!("{text}{RESET}"));
        }
        Ok(Self {
            source: source.clone(),
            text,
            cursor: cursor.map(|column| column.min(width.saturating_sub(1))),
            image: None,
        })
    }
}

/// Whether a style or a link is active at the end of a line.
fn leaves_style(line: &str) -> bool {
    let mut state = StyleState::default();
    for token in AnsiTokens::new(line) {
        if let AnsiToken::Sequence(sequence) = token {
            state.apply(sequence);
        }
    }
    !state.is_plain()
}

/// Removes what may not reach the terminal, except the move of an iTerm2 image to its first row.
fn safe_line(source: &Line) -> Line {
    let Cow::Owned(clean) = styled_line(source) else {
        return source.clone();
    };
    let rows_above = ImageSpan::find(source).map_or(0, |image| image.above);
    let move_up = match rows_above {
        0 => String::new(),
        rows => format!("\x1b[{rows}A"),
    };
    match source.strip_prefix(&*move_up) {
        Some(image) if image == clean => source.clone(),
        Some(_) if rows_above > 0 => Line::from(format!("{move_up}{clean}")),
        Some(_) | None => Line::from(clean),
    }
}

fn truncate(
    line: &str,
    actual: usize,
    width: usize,
    policy: WidthPolicy,
) -> Result<String, RenderError> {
    match policy {
        WidthPolicy::Strict => Err(RenderError::LineTooWide {
            actual,
            width,
            line: line.to_owned(),
        }),
        WidthPolicy::Truncate => {
            tracing::warn!(
                actual,
                width,
                "component rendered a line wider than the screen"
            );
            Ok(slice_columns(line, 0..width, WideCharPolicy::Drop).text)
        }
    }
}

/// Prepares rows for lines, reusing rows of `previous` whose source is unchanged, also where they have moved.
pub(super) fn prepare_rows(
    lines: &[Line],
    previous: &[PreparedRow],
    width: usize,
    policy: WidthPolicy,
    cursor: VisibleCursor,
) -> Result<Vec<PreparedRow>, RenderError> {
    // Rows move together: the row after the last one that was found comes first.
    let mut next = 0;
    lines
        .iter()
        .map(|line| {
            let mut positions = (next..previous.len()).chain(0..next.min(previous.len()));
            let known = positions.find_map(|at| {
                let row = previous.get(at)?;
                row.source.ptr_eq(line).then_some((at, row))
            });
            next = known.map_or(next, |(at, _)| at) + 1;
            match known {
                Some((_, row)) => Ok(row.clone()),
                None => PreparedRow::prepare(line, width, policy, cursor),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn no_component_can_control_the_terminal() {
        let prepared = |line: &str| {
            let (policy, cursor) = (WidthPolicy::Strict, VisibleCursor::Drawn);
            let row = PreparedRow::prepare(&Line::from(line), 40, policy, cursor);
            row.unwrap().text.to_string()
        };
        for (line, expected) in [
            ("a name\x1b]0;owned\x07\x1b[2J", "a name"),
            ("\u{9b}2Jc1\u{9d}0;owned\u{9c}", "c1"),
            ("over\rwrite\x08", "over write"),
            ("\x1b[31mred", "\x1b[31mred\x1b[0m\x1b]8;;\x07"),
            ("txt\u{202e}exe", "txt<U+202E>exe"),
            ("\x1b[3Aup", "up"),
            ("padded   ", "padded"),
            (
                "\x1b[1mbold\x1b[22m  ",
                "\x1b[1mbold\x1b[22m\x1b[0m\x1b]8;;\x07",
            ),
            ("\x1b[41mfilled  ", "\x1b[41mfilled  \x1b[0m\x1b]8;;\x07"),
        ] {
            assert_eq!(prepared(line), expected, "{line:?}");
        }
        let image = "\x1b[3A\x1b]1337;File=inline=1:AA\x07";
        assert_eq!(prepared(image), image);
        let reading = "\x1b_Ga=T,t=f,r=2;L2V0Yw==\x1b\\";
        assert_eq!(prepared(reading), "");
    }

    #[test]
    fn rows_that_moved_are_not_prepared_again() {
        let prepare = |lines: &[Line], previous: &[PreparedRow]| {
            let (policy, cursor) = (WidthPolicy::Strict, VisibleCursor::Drawn);
            prepare_rows(lines, previous, 40, policy, cursor).unwrap()
        };
        let line = |text: &str| Line::from(format!("\x1b[1m{text}"));
        let first: Vec<Line> = ["one", "two", "three", "footer"].map(line).into();
        let scrolled = [
            first[1].clone(),
            first[2].clone(),
            line("four"),
            first[3].clone(),
        ];
        let before = prepare(&first, &[]);
        let after = prepare(&scrolled, &before);
        for (row, earlier) in [(0, 1), (1, 2), (3, 3)] {
            assert!(after[row].text.ptr_eq(&before[earlier].text), "row {row}");
        }
        assert_eq!(after[2].text, "\x1b[1mfour\x1b[0m\x1b]8;;\x07");
        let back = prepare(&first, &after);
        assert!(back[1].text.ptr_eq(&before[1].text));
    }
}
