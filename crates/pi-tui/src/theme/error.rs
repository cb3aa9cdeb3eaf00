//! Errors in theme files.

use std::fmt;

use super::token::ColorToken;

#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    #[error("theme is not valid JSON")]
    Json(#[from] serde_json::Error),
    #[error("theme is not a JSON object")]
    NotAnObject,
    #[error("{}", InvalidThemeReport { name, missing, problems })]
    Invalid {
        /// The theme's name; empty if it has none.
        name: String,
        /// Required colors that are not defined.
        missing: Vec<ColorToken>,
        problems: Vec<ThemeProblem>,
    },
}

/// One problem in a theme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThemeProblem {
    /// The name is missing or not a string.
    #[error("name: missing or not a string")]
    MissingName,
    #[error("name: `/` is reserved for light/dark pairs")]
    SlashInName,
    #[error("name: `system` is the name of a built-in theme; choose another one")]
    ReservedName,
    #[error("appearance: must be \"dark\" or \"light\"")]
    InvalidAppearance,
    #[error("$schema: must be a string")]
    InvalidSchema,
    #[error("{path}: unknown key")]
    UnknownKey { path: String },
    #[error("{path}: must be an object")]
    NotAnObject { path: String },
    #[error(
        "{path}: {value} is not a color; use #rrggbb, oklch(L C H), okhsl(H S% L%), 0 to 255, a variable, or \"\" for the default"
    )]
    InvalidColor {
        path: String,
        /// The value as JSON.
        value: String,
    },
    #[error("{path}: unknown variable `{variable}`")]
    UnknownVariable { path: String, variable: String },
    #[error("{path}: circular variable reference")]
    CircularVariable { path: String },
}

/// Error message of an invalid theme: one line for the missing colors, one per problem.
struct InvalidThemeReport<'a> {
    name: &'a str,
    missing: &'a [ColorToken],
    problems: &'a [ThemeProblem],
}

impl fmt::Display for InvalidThemeReport<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "invalid theme \"{}\"", self.name)?;
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
