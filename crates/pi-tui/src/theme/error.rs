//! What can be wrong with a theme.

use std::fmt;

use super::token::ColorToken;

/// Why a theme cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// The text is no JSON.
    #[error("the theme is not JSON")]
    Json(#[from] serde_json::Error),
    /// The JSON is not an object.
    #[error("the theme is not a JSON object")]
    NotAnObject,
    /// The object is no theme.
    #[error("{}", Report { name, missing, problems })]
    Invalid {
        /// The theme's name; empty without one.
        name: String,
        /// Colors that must be there and are not.
        missing: Vec<ColorToken>,
        problems: Vec<ThemeProblem>,
    },
}

/// One thing that is wrong with a theme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThemeProblem {
    /// The name is missing or not text.
    #[error("name: a name is needed")]
    MissingName,
    /// The name contains a slash.
    #[error("name: `/` is reserved for light/dark pairs")]
    SlashInName,
    /// Something that must be an object is not.
    #[error("{path}: must be an object")]
    NotAnObject { path: String },
    /// A value is no color.
    #[error(
        "{path}: {value} is no color: use #rrggbb, 0 to 255, a variable, or \"\" for the default"
    )]
    InvalidColor {
        path: String,
        /// The value as JSON.
        value: String,
    },
    /// A color names a variable that does not exist.
    #[error("{path}: there is no variable `{variable}`")]
    UnknownVariable { path: String, variable: String },
    /// A color names a variable that leads back to itself.
    #[error("{path}: its variables refer to each other in a circle")]
    CircularVariable { path: String },
}

/// The text of an invalid theme: one line for the missing colors, one for each problem.
struct Report<'a> {
    name: &'a str,
    missing: &'a [ColorToken],
    problems: &'a [ThemeProblem],
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the theme \"{}\" is invalid", self.name)?;
        if !self.missing.is_empty() {
            let mut names: Vec<_> = self.missing.iter().map(|token| token.name()).collect();
            names.sort_unstable();
            write!(formatter, "\n  colors: missing {}", names.join(", "))?;
        }
        self.problems
            .iter()
            .try_for_each(|problem| write!(formatter, "\n  {problem}"))
    }
}
