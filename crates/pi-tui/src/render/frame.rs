//! A line made ready for the terminal: cursor marker taken out, tabs expanded, width checked, style
//! and link closed.

use crate::cursor::take_marker;
use crate::line::Line;
use crate::terminal::ImageSpan;
use crate::text::{WideCharPolicy, expand_for_terminal, slice_columns, visible_width};

/// What closes every style and link; only lines with sequences in them need it.
pub(crate) const RESET: &str = "\x1b[0m\x1b]8;;\x07";

/// What happens to a line that is wider than the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WidthPolicy {
    /// It is cut and reported in the log; a screen with a short line beats no screen.
    #[default]
    Truncate,
    /// The frame fails, as tests want it.
    Strict,
}

/// Why a frame cannot be painted.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A component broke its promise about the width.
    #[error("a line is {actual} columns wide on a screen of {width}: {line:?}")]
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
pub(super) struct Row {
    /// What it was made from; the same source needs no second look.
    pub(super) source: Line,
    pub(super) text: Line,
    /// Column of the cursor marker.
    pub(super) cursor: Option<usize>,
    /// The image drawn from this row.
    pub(super) image: Option<ImageSpan>,
}

impl Row {
    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Makes a row of a line.
    pub(super) fn prepare(
        source: &Line,
        width: usize,
        policy: WidthPolicy,
    ) -> Result<Self, RenderError> {
        let has_sequences = memchr::memchr(0x1b, source.as_bytes()).is_some();
        let image = has_sequences.then(|| ImageSpan::find(source)).flatten();
        if image.is_some() {
            return Ok(Self {
                source: source.clone(),
                text: source.clone(),
                cursor: None,
                image,
            });
        }
        let (line, cursor) = if has_sequences {
            take_marker(source)
        } else {
            (source.clone(), None)
        };
        let expanded = expand_for_terminal(&line);
        let actual = visible_width(&expanded);
        let mut text = if actual > width {
            let text = cut(&expanded, actual, width, policy)?;
            Line::from(text)
        } else if expanded == *line {
            line
        } else {
            Line::from(expanded)
        };
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

fn cut(
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
                "a component rendered a line that is too wide"
            );
            Ok(slice_columns(line, 0..width, WideCharPolicy::Drop).text)
        }
    }
}

/// Makes rows of lines, taking over what `previous` already prepared.
pub(super) fn prepare_rows(
    lines: &[Line],
    previous: &[Row],
    width: usize,
    policy: WidthPolicy,
) -> Result<Vec<Row>, RenderError> {
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| match previous.get(index) {
            Some(row) if row.source.ptr_eq(line) => Ok(row.clone()),
            _ => Row::prepare(line, width, policy),
        })
        .collect()
}
