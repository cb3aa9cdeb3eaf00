//! Styles: colors and attributes that wrap text in SGR sequences.
//!
//! A style resets only what it set, so nested styles keep the outer background. Colors come from
//! the [`Theme`](crate::Theme).

use std::fmt;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Color {
    /// The terminal's default color.
    Default,
    /// An entry of the 256-color palette.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Style {
    pub foreground: Option<Color>,
    pub background: Option<Color>,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    /// Swaps foreground and background.
    pub inverse: bool,
    pub strikethrough: bool,
}

impl Style {
    /// Returns a style without colors or attributes.
    pub const fn plain() -> Self {
        Self {
            foreground: None,
            background: None,
            bold: false,
            dim: false,
            italic: false,
            underline: false,
            inverse: false,
            strikethrough: false,
        }
    }

    /// Sets the foreground.
    #[must_use]
    pub const fn fg(mut self, color: Color) -> Self {
        self.foreground = Some(color);
        self
    }

    /// Sets the background.
    #[must_use]
    pub const fn bg(mut self, color: Color) -> Self {
        self.background = Some(color);
        self
    }

    #[must_use]
    pub const fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    #[must_use]
    pub const fn dim(mut self) -> Self {
        self.dim = true;
        self
    }

    #[must_use]
    pub const fn italic(mut self) -> Self {
        self.italic = true;
        self
    }

    #[must_use]
    pub const fn underline(mut self) -> Self {
        self.underline = true;
        self
    }

    #[must_use]
    pub const fn inverse(mut self) -> Self {
        self.inverse = true;
        self
    }

    #[must_use]
    pub const fn strikethrough(mut self) -> Self {
        self.strikethrough = true;
        self
    }

    /// Returns the sequence that enables the style, or an empty string for a plain style.
    pub fn open(&self) -> String {
        let mut codes: Vec<String> = Vec::new();
        let attributes = [
            (self.bold, "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.underline, "4"),
            (self.inverse, "7"),
            (self.strikethrough, "9"),
        ];
        codes.extend(
            attributes
                .iter()
                .filter(|(on, _)| *on)
                .map(|(_, code)| (*code).to_owned()),
        );
        codes.extend(self.foreground.map(|color| color_code(color, 30)));
        codes.extend(self.background.map(|color| color_code(color, 40)));
        sequence(&codes.join(";"))
    }

    /// Returns the sequence that resets exactly what [`open`](Self::open) set.
    pub fn close(&self) -> String {
        let codes: Vec<&str> = [
            (self.bold || self.dim, "22"),
            (self.italic, "23"),
            (self.underline, "24"),
            (self.inverse, "27"),
            (self.strikethrough, "29"),
            (self.foreground.is_some(), "39"),
            (self.background.is_some(), "49"),
        ]
        .iter()
        .filter(|(on, _)| *on)
        .map(|(_, code)| *code)
        .collect();
        sequence(&codes.join(";"))
    }

    /// Wraps `text` in [`open`](Self::open) and [`close`](Self::close).
    pub fn apply(&self, text: &str) -> String {
        if *self == Self::plain() {
            return text.to_owned();
        }
        let mut styled = self.open();
        styled.push_str(text);
        styled.push_str(&self.close());
        styled
    }
}

/// Returns the SGR parameters of a color. `base` is 30 for the foreground, 40 for the background.
fn color_code(color: Color, base: u8) -> String {
    match color {
        Color::Default => (base + 9).to_string(),
        // Understood by terminals with 16 colors, too.
        Color::Indexed(index @ 0..=7) => (base + index).to_string(),
        Color::Indexed(index @ 8..=15) => (base + 52 + index).to_string(),
        Color::Indexed(index) => format!("{};5;{index}", base + 8),
        Color::Rgb(red, green, blue) => format!("{};2;{red};{green};{blue}", base + 8),
    }
}

fn sequence(codes: &str) -> String {
    if codes.is_empty() {
        String::new()
    } else {
        format!("\x1b[{codes}m")
    }
}

/// A function from text to styled text that components paint with.
///
/// Usually created from a [`Style`]. A closure may look up the current theme on every call, so a
/// theme change does not require new components.
#[derive(Clone)]
pub struct Painter(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Painter {
    pub fn new(paint: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(paint))
    }

    /// Returns a painter that leaves text unchanged.
    pub fn plain() -> Self {
        Self::new(str::to_owned)
    }

    pub fn paint(&self, text: &str) -> String {
        (self.0)(text)
    }
}

impl From<Style> for Painter {
    fn from(style: Style) -> Self {
        Self::new(move |text| style.apply(text))
    }
}

impl Default for Painter {
    fn default() -> Self {
        Self::plain()
    }
}

impl fmt::Debug for Painter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Painter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_closes_exactly_what_it_opens() {
        let style = Style::plain()
            .bold()
            .fg(Color::Rgb(1, 2, 3))
            .bg(Color::Indexed(77));
        assert_eq!(
            style.apply("x"),
            "\x1b[1;38;2;1;2;3;48;5;77mx\x1b[22;39;49m"
        );
        let basic = Style::plain().fg(Color::Indexed(9)).bg(Color::Indexed(7));
        assert_eq!(basic.apply("x"), "\x1b[91;47mx\x1b[39;49m");
        assert_eq!(Style::plain().apply("x"), "x");
        assert_eq!(
            Style::plain().fg(Color::Default).apply("x"),
            "\x1b[39mx\x1b[39m"
        );
    }
}
