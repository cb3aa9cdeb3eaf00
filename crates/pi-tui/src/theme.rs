//! Themes as data: color tokens with values, variables and fallbacks.
//!
//! Reading theme files, watching them and choosing one is the application's.

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

/// How many colors the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorMode {
    /// 24-bit colors.
    TrueColor,
    /// The 256-color palette; other colors are replaced by their nearest entry.
    Palette,
    /// No colors; weight, slant and reversed cells stay.
    Plain,
}

/// Colors of an exported page, where a theme sets them; never reduced to the palette.
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
    /// Reads a theme file's text.
    ///
    /// A color is `#rrggbb`, `#rgb`, an index of the palette, the name of a variable, or empty for the
    /// terminal's default. Everything that is wrong is reported at once.
    pub fn from_json(json: &str, mode: ColorMode) -> Result<Self, ThemeError> {
        let document: Value = serde_json::from_str(json.strip_prefix('\u{feff}').unwrap_or(json))?;
        let Value::Object(document) = document else {
            return Err(ThemeError::NotAnObject);
        };
        let mut reader = Reader::new(&document);
        let name = reader.name();
        let colors = reader.colors();
        let export = reader.export();
        if !reader.missing.is_empty() || !reader.problems.is_empty() {
            return Err(ThemeError::Invalid {
                name,
                missing: reader.missing,
                problems: reader.problems,
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

    /// Returns the theme's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how many colors the theme was resolved for.
    pub fn mode(&self) -> ColorMode {
        self.mode
    }

    /// Returns the color of a token.
    pub fn color(&self, token: ColorToken) -> Color {
        self.colors
            .get(token as usize)
            .copied()
            .unwrap_or(Color::Default)
    }

    /// Returns the token as a style: background for tokens that name one, else foreground.
    pub fn style(&self, token: ColorToken) -> Style {
        let color = self.color(token);
        if token.is_background() {
            Style::plain().bg(color)
        } else {
            Style::plain().fg(color)
        }
    }

    /// Returns the colors for exported pages.
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

/// Reads a document and collects what is wrong with it.
struct Reader<'a> {
    document: &'a Map<String, Value>,
    variables: Option<&'a Map<String, Value>>,
    missing: Vec<ColorToken>,
    problems: Vec<ThemeProblem>,
}

impl<'a> Reader<'a> {
    fn new(document: &'a Map<String, Value>) -> Self {
        let mut reader = Self {
            document,
            variables: None,
            missing: Vec::new(),
            problems: Vec::new(),
        };
        reader.variables = reader.object("vars");
        reader
    }

    /// Returns an object of the document; absent is fine, another type is a problem.
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

    /// Returns the color a value stands for; a problem is noted once and stands for the default.
    fn color(&mut self, path: &str, value: &Value) -> Color {
        self.resolve(path, value).unwrap_or_else(|problem| {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
            Color::Default
        })
    }

    /// Follows variables to a color. A chain longer than there are variables runs in a circle.
    fn resolve(&self, path: &str, value: &Value) -> Result<Color, ThemeProblem> {
        let mut value = value;
        for _ in 0..=self.variables.map_or(0, Map::len) {
            match literal(value) {
                Literal::Color(color) => return Ok(color),
                Literal::Invalid => {
                    return Err(ThemeProblem::InvalidColor {
                        path: path.to_owned(),
                        value: value.to_string(),
                    });
                }
                Literal::Variable(name) => {
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

enum Literal<'a> {
    Color(Color),
    Variable(&'a str),
    Invalid,
}

fn literal(value: &Value) -> Literal<'_> {
    let color = match value {
        Value::String(text) if text.is_empty() => Some(Color::Default),
        Value::String(text) => match text.strip_prefix('#') {
            Some(digits) => hexadecimal(digits),
            None => return Literal::Variable(text),
        },
        Value::Number(number) => number
            .as_u64()
            .and_then(|index| u8::try_from(index).ok())
            .map(Color::Indexed),
        _ => None,
    };
    color.map_or(Literal::Invalid, Literal::Color)
}

/// Reads `rrggbb` or `rgb`.
fn hexadecimal(digits: &str) -> Option<Color> {
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let [_, red, green, blue] = match digits.len() {
        6 => value.to_be_bytes(),
        // Each digit stands for two.
        3 => (((value & 0xf00) << 8 | (value & 0x0f0) << 4 | value & 0x00f) * 0x11).to_be_bytes(),
        _ => return None,
    };
    Some(Color::Rgb(red, green, blue))
}
