//! Themes as data: colour tokens with values, variables and fallbacks.
//!
//! Reading theme files, watching them and choosing one is the application's.

use crate::style::{Color, Style};

mod token;

pub use token::ColorToken;

/// How many colours the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorMode {
    /// 24-bit colours.
    TrueColor,
    /// The 256-colour palette; other colours are replaced by their nearest entry.
    Palette,
}

/// Why a theme cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// The text is no JSON.
    #[error("not a theme: {0}")]
    Json(#[from] serde_json::Error),
}

/// Colours of an exported page, where a theme sets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportColors {
    /// Behind everything.
    pub page_background: Option<Color>,
    /// Behind a message.
    pub card_background: Option<Color>,
    /// Behind notes.
    pub info_background: Option<Color>,
}

/// A theme with every token resolved to a colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    name: String,
    mode: ColorMode,
    colors: Vec<Color>,
    export: ExportColors,
}

impl Theme {
    /// Reads a theme file's text.
    pub fn from_json(json: &str, mode: ColorMode) -> Result<Self, ThemeError> {
        let _: serde_json::Value = serde_json::from_str(json)?;
        Ok(Self {
            name: String::new(),
            mode,
            colors: Vec::new(),
            export: ExportColors::default(),
        })
    }

    /// Returns the theme's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how many colours the theme was resolved for.
    pub fn mode(&self) -> ColorMode {
        self.mode
    }

    /// Returns the colour of a token.
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

    /// Returns the colours for exported pages.
    pub fn export(&self) -> &ExportColors {
        &self.export
    }
}
