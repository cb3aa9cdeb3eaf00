//! Fits lines to a width: padding, clipping, and a background that survives resets inside the line.

use std::borrow::Cow;

use crate::line::Line;
use crate::style::Painter;
use crate::text::{
    AnsiToken, AnsiTokens, TruncateOptions, pad_to_width, truncate_to_width, visible_width,
};

/// Returns `line`, clipped if it is wider than `width`.
///
/// Layout respects the width except where it cannot: a wide character in a single column.
pub(crate) fn fit(line: String, width: usize) -> Line {
    if visible_width(&line) <= width {
        return line.into();
    }
    clip(&line, width).into()
}

/// Returns the first `width` columns of `text`, without an ellipsis.
pub(crate) fn clip(text: &str, width: usize) -> Cow<'_, str> {
    truncate_to_width(text, width, TruncateOptions { ellipsis: "" })
}

/// Returns `text` as one line of at most `width` columns, with an ellipsis if it is truncated.
pub(crate) fn ellipsize(text: &str, width: usize) -> Cow<'_, str> {
    truncate_to_width(text, width, TruncateOptions::default())
}

/// Fills lines with a background: the sequences a painter wraps around text. The default leaves lines unpainted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackgroundFill {
    open: String,
    close: String,
}

impl BackgroundFill {
    /// Derives the sequences from a painted sample.
    pub fn of(painter: &Painter) -> Self {
        const SAMPLE: &str = "x";
        let sample = painter.paint(SAMPLE);
        match sample.split_once(SAMPLE) {
            Some((open, close)) => Self {
                open: open.to_owned(),
                close: close.to_owned(),
            },
            None => Self::default(),
        }
    }

    /// Returns `line` padded to `width` on the background.
    pub fn line(&self, line: &str, width: usize) -> Line {
        if visible_width(line) > width {
            return self.line(&clip(line, width), width);
        }
        let padded = pad_to_width(line, width);
        if self.open.is_empty() && self.close.is_empty() {
            return padded.into();
        }
        let mut filled = String::with_capacity(padded.len() + self.open.len() + self.close.len());
        filled.push_str(&self.open);
        for token in AnsiTokens::new(&padded) {
            match token {
                AnsiToken::Text(text) => filled.push_str(text),
                AnsiToken::Sequence(sequence) => {
                    filled.push_str(sequence);
                    if ends_background(sequence) {
                        filled.push_str(&self.open);
                    }
                }
            }
        }
        filled.push_str(&self.close);
        filled.into()
    }
}

/// Whether an SGR sequence resets the background.
fn ends_background(sequence: &str) -> bool {
    let Some(parameters) = sequence
        .strip_prefix("\x1b[")
        .and_then(|rest| rest.strip_suffix('m'))
    else {
        return false;
    };
    let mut codes = parameters.split(';');
    while let Some(code) = codes.next() {
        match code {
            "" | "0" | "49" => return true,
            // The parameters of a color may be zero.
            "38" | "48" => {
                let values = if codes.next() == Some("2") { 3 } else { 1 };
                for _ in 0..values {
                    codes.next();
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{Color, Style};
    use pretty_assertions::assert_eq;

    #[test]
    fn background_is_restored_after_a_reset() {
        let fill = BackgroundFill::of(&Style::plain().bg(Color::Indexed(4)).into());
        assert_eq!(
            fill.line("\x1b[1ma\x1b[0mb\x1b[38;5;0mc", 5),
            "\x1b[44m\x1b[1ma\x1b[0m\x1b[44mb\x1b[38;5;0mc  \x1b[49m"
        );
    }
}
