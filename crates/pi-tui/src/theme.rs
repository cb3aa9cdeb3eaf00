//! Themes as data: color tokens with values, variables and fallbacks.
//!
//! The application reads theme files, watches them and selects one.

use serde_json::Value;

use crate::style::{Color, Style};
use crate::terminal::ColorScheme;

mod error;
mod palette;
mod parser;
mod system;
mod token;

pub use error::{ThemeError, ThemeProblem};
pub use palette::nearest_palette_entry;
pub use system::SYSTEM_THEME;
pub use token::ColorToken;

use parser::ThemeParser;

#[cfg(test)]
mod tests;

/// How many colors the terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorMode {
    TrueColor,
    /// The 256-color palette; other colors map to the nearest entry.
    Palette,
    /// The 16 colors of the terminal's own palette.
    Basic,
    /// No colors; bold, italic and inverse are kept.
    Plain,
}

/// Colors of an exported page. `None` where the theme does not set them; never reduced to the
/// palette.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportColors {
    pub page_background: Option<Color>,
    pub card_background: Option<Color>,
    pub info_background: Option<Color>,
}

/// A theme with every token resolved to a color.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    name: String,
    /// The background the theme is made for.
    appearance: ColorScheme,
    mode: ColorMode,
    /// By token, in the order of [`ColorToken`].
    colors: Vec<Color>,
    /// Whether secondary text is faint instead of colored.
    faint_secondary: bool,
    export: ExportColors,
}

impl Theme {
    /// Parses a theme file.
    ///
    /// A color is `#rrggbb`, `#rgb`, `oklch(L C H)`, `okhsl(H S L)`, a palette index, the name of a
    /// variable, or an empty string for the terminal's default. Unknown keys are problems. All
    /// problems are reported at once.
    pub fn from_json(json: &str, mode: ColorMode) -> Result<Self, ThemeError> {
        let document: Value = serde_json::from_str(json.strip_prefix('\u{feff}').unwrap_or(json))?;
        let Value::Object(document) = document else {
            return Err(ThemeError::NotAnObject);
        };
        let mut parser = ThemeParser::new(&document);
        let name = parser.name();
        let colors = parser.colors();
        let export = parser.export();
        let appearance = parser.appearance();
        parser.reject_unknown_keys();
        if !parser.missing.is_empty() || !parser.problems.is_empty() {
            return Err(ThemeError::Invalid {
                name,
                missing: parser.missing,
                problems: parser.problems,
            });
        }
        let appearance = appearance.unwrap_or_else(|| appearance_of(&colors));
        let colors = ColorToken::all()
            .zip(colors)
            .map(|(token, color)| match color {
                Color::Rgb(red, green, blue)
                    if mode == ColorMode::Palette && palette::is_dark_surface(token, color) =>
                {
                    Color::Indexed(palette::nearest_gray(red, green, blue))
                }
                color => reduce(color, mode),
            })
            .collect();
        Ok(Self {
            name,
            appearance,
            mode,
            colors,
            faint_secondary: false,
            export,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the background the theme is made for: stated by the file, or derived from its colors.
    pub fn appearance(&self) -> ColorScheme {
        self.appearance
    }

    /// Returns the color mode the theme was resolved for.
    pub fn mode(&self) -> ColorMode {
        self.mode
    }

    pub fn color(&self, token: ColorToken) -> Color {
        self.colors
            .get(token as usize)
            .copied()
            .unwrap_or(Color::Default)
    }

    /// Returns a style for the token: the background for background tokens, otherwise the
    /// foreground.
    pub fn style(&self, token: ColorToken) -> Style {
        let color = self.color(token);
        if token.is_background() {
            Style::plain().bg(color)
        } else if self.faint_secondary && system::is_secondary(token) {
            Style::plain().dim()
        } else {
            Style::plain().fg(color)
        }
    }

    pub fn export(&self) -> &ExportColors {
        &self.export
    }
}

fn reduce(color: Color, mode: ColorMode) -> Color {
    match (color, mode) {
        (Color::Rgb(red, green, blue), ColorMode::Palette) => {
            Color::Indexed(nearest_palette_entry(red, green, blue))
        }
        (Color::Rgb(red, green, blue), ColorMode::Basic) => {
            Color::Indexed(palette::nearest_basic_entry((red, green, blue)))
        }
        (Color::Indexed(index @ 16..), ColorMode::Basic) => {
            Color::Indexed(palette::nearest_basic_entry(palette::entry_rgb(index)))
        }
        (_, ColorMode::Plain) => Color::Default,
        (color, ColorMode::TrueColor | ColorMode::Palette | ColorMode::Basic) => color,
    }
}

/// Returns the background that colors are made for: that of the user's messages, or the opposite of the text.
fn appearance_of(colors: &[Color]) -> ColorScheme {
    let rgb_of = |token: ColorToken| match colors.get(token as usize)? {
        Color::Rgb(red, green, blue) => Some((*red, *green, *blue)),
        Color::Indexed(index) => Some(palette::entry_rgb(*index)),
        Color::Default => None,
    };
    if let Some(background) = rgb_of(ColorToken::UserMessageBg) {
        return ColorScheme::from_background(background);
    }
    match rgb_of(ColorToken::Text).map(ColorScheme::from_background) {
        Some(ColorScheme::Dark) => ColorScheme::Light,
        Some(ColorScheme::Light) | None => ColorScheme::Dark,
    }
}
