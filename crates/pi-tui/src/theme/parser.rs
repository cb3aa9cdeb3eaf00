//! Parsing of theme files.

use serde_json::{Map, Value};

use super::{ColorToken, ExportColors, SYSTEM_THEME, ThemeProblem};
use crate::style::Color;
use crate::terminal::ColorScheme;

mod literal;

use literal::{ColorLiteral, literal};

/// The keys of a theme file, besides the colors.
const DOCUMENT_KEYS: [&str; 6] = ["$schema", "name", "appearance", "vars", "colors", "export"];
const EXPORT_KEYS: [&str; 3] = ["pageBg", "cardBg", "infoBg"];

/// Parses a theme document and collects its problems.
pub(super) struct ThemeParser<'a> {
    document: &'a Map<String, Value>,
    variables: Option<&'a Map<String, Value>>,
    pub(super) missing: Vec<ColorToken>,
    pub(super) problems: Vec<ThemeProblem>,
}

impl<'a> ThemeParser<'a> {
    pub(super) fn new(document: &'a Map<String, Value>) -> Self {
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

    pub(super) fn name(&mut self) -> String {
        match self.document.get("name") {
            // A slash separates the two themes of an automatic light/dark setting.
            Some(Value::String(name)) if name.contains('/') => {
                self.problems.push(ThemeProblem::SlashInName);
                name.clone()
            }
            Some(Value::String(name)) if name == SYSTEM_THEME => {
                self.problems.push(ThemeProblem::ReservedName);
                name.clone()
            }
            Some(Value::String(name)) => name.clone(),
            _ => {
                self.problems.push(ThemeProblem::MissingName);
                String::new()
            }
        }
    }

    pub(super) fn colors(&mut self) -> Vec<Color> {
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

    pub(super) fn export(&mut self) -> ExportColors {
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

    pub(super) fn appearance(&mut self) -> Option<ColorScheme> {
        match self.document.get("appearance")?.as_str() {
            Some("dark") => Some(ColorScheme::Dark),
            Some("light") => Some(ColorScheme::Light),
            _ => {
                self.problems.push(ThemeProblem::InvalidAppearance);
                None
            }
        }
    }

    /// Reports keys that have no meaning; a misspelled color would have no effect otherwise.
    pub(super) fn reject_unknown_keys(&mut self) {
        let document = self.document;
        let within = |key: &str| document.get(key).and_then(Value::as_object);
        let is_token = |key: &str| ColorToken::from_name(key).is_some();
        let is_known = |key: &str| DOCUMENT_KEYS.contains(&key);
        let is_export = |key: &str| EXPORT_KEYS.contains(&key);
        self.reject_unknown("", Some(document), is_known);
        self.reject_unknown("colors.", within("colors"), is_token);
        self.reject_unknown("export.", within("export"), is_export);
        if document
            .get("$schema")
            .is_some_and(|schema| !schema.is_string())
        {
            self.problems.push(ThemeProblem::InvalidSchema);
        }
    }

    fn reject_unknown(
        &mut self,
        path: &str,
        object: Option<&Map<String, Value>>,
        is_known: impl Fn(&str) -> bool,
    ) {
        let keys = object.into_iter().flat_map(Map::keys);
        let unknown = keys.filter(|key| !is_known(key));
        self.problems
            .extend(unknown.map(|key| ThemeProblem::UnknownKey {
                path: format!("{path}{key}"),
            }));
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
