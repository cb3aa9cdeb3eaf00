//! Themes as data: color tokens with values, variables and fallbacks.
//!
//! The application reads theme files, watches them and selects one.

use serde_json::{Map, Value};

use crate::style::{Color, Style};

mod error;
mod palette;
mod token;

pub use error::{ThemeError, ThemeProblem};
pub use palette::nearest_palette_entry;
pub use token::ColorToken;

#[cfg(test)]
mod tests;

/// How many colors the terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorMode {
    TrueColor,
    /// The 256-color palette; other colors map to the nearest entry.
    Palette,
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
    mode: ColorMode,
    /// By token, in the order of [`ColorToken`].
    colors: Vec<Color>,
    export: ExportColors,
}

impl Theme {
    /// Parses a theme file.
    ///
    /// A color is `#rrggbb`, `#rgb`, a palette index, the name of a variable, or an empty string
    /// for the terminal's default. All problems are reported at once.
    pub fn from_json(json: &str, mode: ColorMode) -> Result<Self, ThemeError> {
        let document: Value = serde_json::from_str(json.strip_prefix('\u{feff}').unwrap_or(json))?;
        let Value::Object(document) = document else {
            return Err(ThemeError::NotAnObject);
        };
        let mut parser = ThemeParser::new(&document);
        let name = parser.name();
        let colors = parser.colors();
        let export = parser.export();
        if !parser.missing.is_empty() || !parser.problems.is_empty() {
            return Err(ThemeError::Invalid {
                name,
                missing: parser.missing,
                problems: parser.problems,
            });
        }
        let colors = colors
            .into_iter()
            .map(|color| reduce(color, mode))
            .collect();
        Ok(Self {
            name,
            mode,
            colors,
            export,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
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
        (_, ColorMode::Plain) => Color::Default,
        (color, ColorMode::TrueColor | ColorMode::Palette) => color,
    }
}

/// Parses a theme document and collects its problems.
struct ThemeParser<'a> {
    document: &'a Map<String, Value>,
    variables: Option<&'a Map<String, Value>>,
    missing: Vec<ColorToken>,
    problems: Vec<ThemeProblem>,
}

impl<'a> ThemeParser<'a> {
    fn new(document: &'a Map<String, Value>) -> Self {
        let mut parser = Self {
            document,
            variables: None,
            missing: Vec::new(),
            problems: Vec::new(),
        };
        parser.variables = parser.object("vars");
        parser
    }

    /// Returns an object of the document. A missing one is fine; another type is a problem.
    fn object(&mut self, key: &'static str) -> Option<&'a Map<String, Value>> {
        match self.document.get(key) {
            Some(Value::Object(object)) => Some(object),
            Some(_) => {
                self.problems.push(ThemeProblem::NotAnObject {
                    path: key.to_owned(),
                });
                None
            }
            None => None,
        }
    }

    fn name(&mut self) -> String {
        match self.document.get("name") {
            // A slash separates the two themes of an automatic light/dark setting.
            Some(Value::String(name)) if name.contains('/') => {
                self.problems.push(ThemeProblem::SlashInName);
                name.clone()
            }
            Some(Value::String(name)) => name.clone(),
            _ => {
                self.problems.push(ThemeProblem::MissingName);
                String::new()
            }
        }
    }

    fn colors(&mut self) -> Vec<Color> {
        let colors = self.object("colors");
        ColorToken::all()
            .map(|token| {
                let value = |token: ColorToken| Some((token, colors?.get(token.name())?));
                match value(token).or_else(|| value(token.fallback()?)) {
                    Some((found, value)) => self.color(&format!("colors.{}", found.name()), value),
                    None => {
                        if token.fallback().is_none() {
                            self.missing.push(token);
                        }
                        Color::Default
                    }
                }
            })
            .collect()
    }

    fn export(&mut self) -> ExportColors {
        let export = self.object("export");
        let mut color = |key: &str| {
            let value = export?.get(key)?;
            Some(self.color(&format!("export.{key}"), value))
        };
        ExportColors {
            page_background: color("pageBg"),
            card_background: color("cardBg"),
            info_background: color("infoBg"),
        }
    }

    /// Resolves a value to a color. A problem is recorded and resolves to the default color.
    fn color(&mut self, path: &str, value: &Value) -> Color {
        self.resolve(path, value).unwrap_or_else(|problem| {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
            Color::Default
        })
    }

    /// Follows variables to a color. A chain longer than the number of variables is circular.
    fn resolve(&self, path: &str, value: &Value) -> Result<Color, ThemeProblem> {
        let mut value = value;
        for _ in 0..=self.variables.map_or(0, Map::len) {
            match literal(value) {
                ColorLiteral::Color(color) => return Ok(color),
                ColorLiteral::Invalid => {
                    return Err(ThemeProblem::InvalidColor {
                        path: path.to_owned(),
                        value: value.to_string(),
                    });
                }
                ColorLiteral::Variable(name) => {
                    value = self
                        .variables
                        .and_then(|variables| variables.get(name))
                        .ok_or_else(|| ThemeProblem::UnknownVariable {
                            path: path.to_owned(),
                            variable: name.to_owned(),
                        })?;
                }
            }
        }
        Err(ThemeProblem::CircularVariable {
            path: path.to_owned(),
        })
    }
}

enum ColorLiteral<'a> {
    Color(Color),
    Variable(&'a str),
    Invalid,
}

fn literal(value: &Value) -> ColorLiteral<'_> {
    let color = match value {
        Value::String(text) if text.is_empty() => Some(Color::Default),
        Value::String(text) => match text.strip_prefix('#') {
            Some(digits) => parse_hex(digits),
            None => return ColorLiteral::Variable(text),
        },
        Value::Number(number) => number
            .as_u64()
            .and_then(|index| u8::try_from(index).ok())
            .map(Color::Indexed),
        _ => None,
    };
    color.map_or(ColorLiteral::Invalid, ColorLiteral::Color)
}

/// Parses `rrggbb` or `rgb`.
fn parse_hex(digits: &str) -> Option<Color> {
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let [_, red, green, blue] = match digits.len() {
        6 => value.to_be_bytes(),
        // Each digit is doubled.
        3 => (((value & 0xf00) << 8 | (value & 0x0f0) << 4 | value & 0x00f) * 0x11).to_be_bytes(),
        _ => return None,
    };
    Some(Color::Rgb(red, green, blue))
}
