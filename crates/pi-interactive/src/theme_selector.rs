//! Which theme is shown: the built-in ones, the user's files, light or dark with the terminal.

use pi_config::{Settings, ThemeFile};
use pi_tui::{ColorMode, ColorScheme, Theme};

const DARK: &str = include_str!("../themes/dark.json");
const LIGHT: &str = include_str!("../themes/light.json");

/// Names of the themes that need no file.
const BUILT_IN: [&str; 2] = ["dark", "light"];

/// Returns a theme that needs no file; none if `name` is not one of them.
pub(crate) fn built_in(name: &str, mode: ColorMode) -> Option<Theme> {
    let json = match name {
        "dark" => DARK,
        "light" => LIGHT,
        _ => return None,
    };
    Theme::from_json(json, mode).ok()
}

/// The themes there are, and what decides between them.
#[derive(Clone, Debug)]
pub(crate) struct ThemeSelector {
    mode: ColorMode,
    scheme: ColorScheme,
    files: Vec<ThemeFile>,
    /// The setting's text: a name, or `light/dark` names.
    setting: Option<String>,
    /// Shown instead of the setting while the user looks around.
    preview: Option<String>,
}

/// A theme, and what was wrong with the one that was wanted.
#[derive(Debug)]
pub(crate) struct ChosenTheme {
    /// The theme to show.
    pub(crate) theme: Theme,
    /// Why it is not the wanted one.
    pub(crate) problem: Option<String>,
}

impl ThemeSelector {
    /// Starts with the terminal's colors and the settings.
    pub(crate) fn new(mode: ColorMode, scheme: ColorScheme, settings: &Settings) -> Self {
        Self {
            mode,
            scheme,
            files: Vec::new(),
            setting: settings.theme.clone(),
            preview: None,
        }
    }

    /// Takes other settings and files.
    pub(crate) fn load(&mut self, settings: &Settings, files: &[ThemeFile]) {
        self.setting.clone_from(&settings.theme);
        self.files = files.to_vec();
    }

    /// Takes another setting.
    pub(crate) fn set_setting(&mut self, setting: Option<String>) {
        self.setting = setting;
    }

    /// Returns what the terminal is at the moment.
    pub(crate) fn scheme(&self) -> ColorScheme {
        self.scheme
    }

    /// Takes what the terminal says about its background; returns whether that is news.
    pub(crate) fn set_scheme(&mut self, scheme: ColorScheme) -> bool {
        let is_news = self.scheme != scheme;
        self.scheme = scheme;
        is_news
    }

    /// Shows a theme for a while, or the one of the settings again.
    pub(crate) fn set_preview(&mut self, preview: Option<String>) {
        self.preview = preview;
    }

    /// Returns the names of all themes, the built-in ones first.
    pub(crate) fn names(&self) -> Vec<String> {
        let built_in = BUILT_IN.iter().map(|name| (*name).to_owned());
        let mut names: Vec<String> = built_in.collect();
        for file in &self.files {
            if !names.contains(&file.name) {
                names.push(file.name.clone());
            }
        }
        names
    }

    /// Returns the setting's text.
    pub(crate) fn setting(&self) -> Option<&str> {
        self.setting.as_deref()
    }

    /// Returns the files of the themes that may be shown, to be watched.
    pub(crate) fn files(&self) -> &[ThemeFile] {
        &self.files
    }

    /// Replaces the text of a theme's file after it was changed.
    pub(crate) fn set_content(&mut self, name: &str, content: String) {
        if let Some(file) = self.files.iter_mut().find(|file| file.name == name) {
            file.content = content;
        }
    }

    /// Returns the theme to show.
    pub(crate) fn choose(&self) -> ChosenTheme {
        let wanted = self.preview.as_deref().or(self.setting.as_deref());
        let Some(wanted) = wanted else {
            return ChosenTheme {
                theme: self.usual(),
                problem: None,
            };
        };
        let name = match (wanted.split_once('/'), self.scheme) {
            (Some((light, _)), ColorScheme::Light) => light,
            (Some((_, dark)), ColorScheme::Dark) => dark,
            (None, _) => wanted,
        };
        match self.load_named(name) {
            Ok(theme) => ChosenTheme {
                theme,
                problem: None,
            },
            Err(problem) => ChosenTheme {
                theme: self.usual(),
                problem: Some(problem),
            },
        }
    }

    /// Returns the file of a theme, if it has one.
    pub(crate) fn file(&self, name: &str) -> Option<&ThemeFile> {
        self.files.iter().find(|file| file.name == name)
    }

    /// Returns a theme by its name, or why it cannot be had.
    pub(crate) fn load_named(&self, name: &str) -> Result<Theme, String> {
        // A file may take the place of a built-in theme.
        if let Some(file) = self.file(name) {
            return Theme::from_json(&file.content, self.mode)
                .map_err(|error| format!("the theme \"{name}\" cannot be used: {error}"));
        }
        built_in(name, self.mode).ok_or_else(|| {
            let names = self.names().join(", ");
            format!("there is no theme \"{name}\"; there are: {names}")
        })
    }

    fn usual(&self) -> Theme {
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
    fn without_a_setting_the_terminal_decides() {
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
    fn a_theme_that_is_not_there_is_told_and_replaced() {
        let chosen = choice(Some("sepia"), ColorScheme::Dark).choose();
        assert_eq!(chosen.theme.name(), "dark");
        assert_eq!(
            chosen.problem.as_deref(),
            Some("there is no theme \"sepia\"; there are: dark, light")
        );
    }
}
