//! Selects the theme: built-in or from a file, fixed or following the terminal.

use pi_protocol::ThemeFile;
use pi_protocol::settings::Settings;
use pi_tui::{ColorMode, ColorScheme, Theme};

const DARK: &str = include_str!("../../themes/dark.json");
const LIGHT: &str = include_str!("../../themes/light.json");

const BUILT_IN: [&str; 2] = ["dark", "light"];

/// Returns a built-in theme, or `None` if no theme has that name.
pub fn built_in(name: &str, mode: ColorMode) -> Option<Theme> {
    let json = match name {
        "dark" => DARK,
        "light" => LIGHT,
        _ => return None,
    };
    Theme::from_json(json, mode).ok()
}

/// Available themes, and what selects between them.
#[derive(Clone, Debug)]
pub struct ThemeSelector {
    mode: ColorMode,
    scheme: ColorScheme,
    files: Vec<ThemeFile>,
    /// The value of the setting: a name, or `light/dark` names.
    setting: Option<String>,
    /// Overrides the setting during a preview.
    preview: Option<String>,
}

/// A theme, and why the configured one is not in use.
#[derive(Debug)]
pub struct ChosenTheme {
    pub theme: Theme,
    pub problem: Option<String>,
}

impl ThemeSelector {
    pub fn new(mode: ColorMode, scheme: ColorScheme, settings: &Settings) -> Self {
        Self {
            mode,
            scheme,
            files: Vec::new(),
            setting: settings.theme.clone(),
            preview: None,
        }
    }

    /// Replaces settings and theme files.
    pub fn load(&mut self, settings: &Settings, files: &[ThemeFile]) {
        self.setting.clone_from(&settings.theme);
        self.files = files.to_vec();
    }

    pub fn set_setting(&mut self, setting: Option<String>) {
        self.setting = setting;
    }

    /// Returns the terminal's current color scheme.
    pub fn scheme(&self) -> ColorScheme {
        self.scheme
    }

    /// Sets the terminal's color scheme; returns whether it changed.
    pub fn set_scheme(&mut self, scheme: ColorScheme) -> bool {
        let has_changed = self.scheme != scheme;
        self.scheme = scheme;
        has_changed
    }

    /// Sets or ends the preview.
    pub fn set_preview(&mut self, preview: Option<String>) {
        self.preview = preview;
    }

    /// Returns all theme names, built-in ones first.
    pub fn names(&self) -> Vec<String> {
        let built_in = BUILT_IN.iter().map(|name| (*name).to_owned());
        let mut names: Vec<String> = built_in.collect();
        for file in &self.files {
            if !names.contains(&file.name) {
                names.push(file.name.clone());
            }
        }
        names
    }

    pub fn setting(&self) -> Option<&str> {
        self.setting.as_deref()
    }

    /// Returns the theme files, to be watched.
    pub fn files(&self) -> &[ThemeFile] {
        &self.files
    }

    /// Replaces the content of a theme file after a change.
    pub fn set_content(&mut self, name: &str, content: String) {
        if let Some(file) = self.files.iter_mut().find(|file| file.name == name) {
            file.content = content;
        }
    }

    /// Returns the theme to show.
    pub fn choose(&self) -> ChosenTheme {
        let name = self.preview.as_deref().or(self.setting.as_deref());
        let Some(name) = name else {
            return ChosenTheme {
                theme: self.default_theme(),
                problem: None,
            };
        };
        let name = match (name.split_once('/'), self.scheme) {
            (Some((light, _)), ColorScheme::Light) => light,
            (Some((_, dark)), ColorScheme::Dark) => dark,
            (None, _) => name,
        };
        match self.load_named(name) {
            Ok(theme) => ChosenTheme {
                theme,
                problem: None,
            },
            Err(problem) => ChosenTheme {
                theme: self.default_theme(),
                problem: Some(problem),
            },
        }
    }

    pub fn file(&self, name: &str) -> Option<&ThemeFile> {
        self.files.iter().find(|file| file.name == name)
    }

    /// Loads a theme by name; the error is a message for the user.
    pub fn load_named(&self, name: &str) -> Result<Theme, String> {
        // A file may override a built-in theme.
        if let Some(file) = self.file(name) {
            return Theme::from_json(&file.content, self.mode)
                .map_err(|error| format!("cannot load theme \"{name}\": {error}"));
        }
        built_in(name, self.mode).ok_or_else(|| {
            let names = self.names().join(", ");
            format!("unknown theme \"{name}\"; available: {names}")
        })
    }

    fn default_theme(&self) -> Theme {
        let name = match self.scheme {
            ColorScheme::Light => "light",
            ColorScheme::Dark => "dark",
        };
        #[expect(clippy::expect_used, reason = "a test reads both files")]
        built_in(name, self.mode).expect("the built-in themes are complete")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(setting: Option<&str>, scheme: ColorScheme) -> ThemeSelector {
        let settings = Settings {
            theme: setting.map(str::to_owned),
            ..Settings::default()
        };
        ThemeSelector::new(ColorMode::Palette, scheme, &settings)
    }

    #[test]
    fn the_built_in_themes_are_complete() {
        for name in BUILT_IN {
            let theme = built_in(name, ColorMode::Palette).unwrap();
            assert_eq!(theme.name(), name);
        }
        assert!(built_in("sepia", ColorMode::Palette).is_none());
    }

    #[test]
    fn without_a_setting_the_theme_follows_the_terminal() {
        for (setting, scheme, expected) in [
            (None, ColorScheme::Light, "light"),
            (None, ColorScheme::Dark, "dark"),
            (Some("light"), ColorScheme::Dark, "light"),
            (Some("light/dark"), ColorScheme::Dark, "dark"),
            (Some("dark/light"), ColorScheme::Dark, "light"),
        ] {
            let chosen = choice(setting, scheme).choose();
            assert_eq!(chosen.theme.name(), expected, "{setting:?} {scheme:?}");
            assert_eq!(chosen.problem, None);
        }
    }

    #[test]
    fn an_unknown_theme_is_reported_and_replaced() {
        let chosen = choice(Some("sepia"), ColorScheme::Dark).choose();
        assert_eq!(chosen.theme.name(), "dark");
        assert_eq!(
            chosen.problem.as_deref(),
            Some("unknown theme \"sepia\"; available: dark, light")
        );
    }
}
