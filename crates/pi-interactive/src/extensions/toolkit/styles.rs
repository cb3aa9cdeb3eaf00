//! Converts styles given by JavaScript functions.
//!
//! A theme function wraps text in escape sequences. JavaScript passes what precedes and follows the text;
//! that is enough to paint with, and to derive colors and attributes.

use pi_tui::{Color, Painter, SelectTheme, Style};
use serde::Deserialize;

/// The sequences before and after a text.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Paint(String, String);

impl Paint {
    pub(super) fn painter(&self) -> Painter {
        let Self(before, after) = self.clone();
        Painter::new(move |text| format!("{before}{text}{after}"))
    }

    /// Parses the colors and attributes set before the text.
    pub(super) fn style(&self) -> Style {
        let mut style = Style::plain();
        let mut rest = self.0.as_str();
        while let Some((_, sequence)) = rest.split_once("\x1b[") {
            let Some((codes, after)) = sequence.split_once('m') else {
                break;
            };
            style = apply(style, codes);
            rest = after;
        }
        style
    }
}

fn apply(style: Style, codes: &str) -> Style {
    let mut style = style;
    let mut codes = codes
        .split([';', ':'])
        .filter_map(|code| code.parse::<u16>().ok());
    while let Some(code) = codes.next() {
        style = match code {
            1 => style.bold(),
            2 => style.dim(),
            3 => style.italic(),
            4 => style.underline(),
            7 => style.inverse(),
            9 => style.strikethrough(),
            30..=37 => style.fg(indexed(code - 30)),
            90..=97 => style.fg(indexed(code - 82)),
            40..=47 => style.bg(indexed(code - 40)),
            100..=107 => style.bg(indexed(code - 92)),
            38 => extended(&mut codes).map_or(style, |color| style.fg(color)),
            48 => extended(&mut codes).map_or(style, |color| style.bg(color)),
            _ => style,
        };
    }
    style
}

fn indexed(index: u16) -> Color {
    Color::Indexed(u8::try_from(index).unwrap_or(u8::MAX))
}

fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<Color> {
    let mut part = || u8::try_from(codes.next()?).ok();
    match part()? {
        5 => Some(Color::Indexed(part()?)),
        2 => Some(Color::Rgb(part()?, part()?, part()?)),
        _ => None,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListPaint {
    selected_text: Paint,
    description: Paint,
    scroll_info: Paint,
    no_match: Paint,
}

impl ListPaint {
    pub(super) fn theme(&self) -> SelectTheme {
        SelectTheme {
            selected: self.selected_text.painter(),
            description: self.description.painter(),
            position: self.scroll_info.painter(),
            empty: self.no_match.painter(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_is_parsed_from_its_sequences() {
        let read = |before: &str| Paint(before.to_owned(), String::new()).style();
        assert_eq!(read(""), Style::plain());
        assert_eq!(
            read("\x1b[1m\x1b[38;2;1;2;3m"),
            Style::plain().bold().fg(Color::Rgb(1, 2, 3))
        );
        assert_eq!(
            read("\x1b[3;94;48;5;200m"),
            Style::plain()
                .italic()
                .fg(Color::Indexed(12))
                .bg(Color::Indexed(200))
        );
        assert_eq!(read("\x1b[38;9m"), Style::plain());
    }
}
