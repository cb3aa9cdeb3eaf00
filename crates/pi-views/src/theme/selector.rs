//! Selects the theme: derived from the terminal, built-in or from a file; fixed or a light/dark pair.

use pi_protocol::ThemeFile;
use pi_protocol::settings::Settings;
use pi_tui::{ColorMode, ColorScheme, SYSTEM_THEME, TerminalColors, Theme};

/// The built-in themes that do not depend on the terminal, in the order of the dialog.
const BUILT_IN: [(&str, &str); 10] = [
    ("dark", include_str!("../../themes/dark.json")),
    ("light", include_str!("../../themes/light.json")),
    (
        "color-blind-dark",
        include_str!("../../themes/color-blind-dark.json"),
    ),
    (
        "color-blind-light",
        include_str!("../../themes/color-blind-light.json"),
    ),
    ("catppuccin", include_str!("../../themes/catppuccin.json")),
    ("gruvbox", include_str!("../../themes/gruvbox.json")),
    ("nord", include_str!("../../themes/nord.json")),
    (
        "solarized-dark",
        include_str!("../../themes/solarized-dark.json"),
    ),
    (
        "solarized-light",
        include_str!("../../themes/solarized-light.json"),
    ),
    ("tokyo-night", include_str!("../../themes/tokyo-night.json")),
];

/// Returns a built-in theme that does not depend on the terminal, or `None` if none has that name.
pub fn built_in(name: &str, mode: ColorMode) -> Option<Theme> {
    let (_, json) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Theme::from_json(json, mode).ok()
}

/// Available themes, and what selects between them.
#[derive(Clone, Debug)]
pub struct ThemeSelector {
    mode: ColorMode,
    /// The scheme that the terminal announces, or the environment; the background takes precedence.
    announced: ColorScheme,
    colors: TerminalColors,
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
            announced: scheme,
            colors: TerminalColors::default(),
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
        self.colors.scheme().unwrap_or(self.announced)
    }

    /// Sets the scheme that the terminal announces. It has no effect once the background is known; the terminal
    /// then reports its new colors as well.
    pub fn set_scheme(&mut self, scheme: ColorScheme) {
        self.announced = scheme;
    }

    /// Sets the colors that the terminal reports.
    pub fn set_colors(&mut self, colors: TerminalColors) {
        self.colors = colors;
    }

    /// Whether the theme depends on the colors of the terminal.
    pub fn follows_terminal(&self) -> bool {
        let name = self.preview.as_deref().or(self.setting.as_deref());
        name.is_none_or(|name| name == SYSTEM_THEME || name.contains('/'))
    }

    /// Sets or ends the preview.
    pub fn set_preview(&mut self, preview: Option<String>) {
        self.preview = preview;
    }

    /// Returns all theme names, built-in ones first.
    pub fn names(&self) -> Vec<String> {
        let built_in = BUILT_IN.iter().map(|(name, _)| *name);
        let built_in = std::iter::once(SYSTEM_THEME).chain(built_in);
        let mut names: Vec<String> = built_in.map(str::to_owned).collect();
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
                theme: self.system(),
                problem: None,
            };
        };
        let name = match (name.split_once('/'), self.scheme()) {
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
                theme: self.system(),
                problem: Some(problem),
            },
        }
    }

    /// Returns a theme file. The name of the system theme is reserved.
    pub fn file(&self, name: &str) -> Option<&ThemeFile> {
        let mut files = self.files.iter().filter(|_| name != SYSTEM_THEME);
        files.find(|file| file.name == name)
    }

    /// Loads a theme by name; the error is a message for the user.
    pub fn load_named(&self, name: &str) -> Result<Theme, String> {
        if name == SYSTEM_THEME {
            return Ok(self.system());
        }
        // A file may override the other built-in themes.
        if let Some(file) = self.file(name) {
            return Theme::from_json(&file.content, self.mode)
                .map_err(|error| format!("cannot load theme \"{name}\": {error}"));
        }
        built_in(name, self.mode).ok_or_else(|| {
            let names = self.names().join(", ");
            format!("unknown theme \"{name}\"; available: {names}")
        })
    }

    /// Returns what is wrong with the theme files that are not in use.
    pub fn problems(&self) -> Vec<String> {
        let used = self.setting.as_deref().unwrap_or(SYSTEM_THEME);
        let unused = self.files.iter();
        let unused = unused.filter(|file| !used.split('/').any(|name| name == file.name));
        unused
            .filter_map(|file| {
                let error = Theme::from_json(&file.content, self.mode).err()?;
                Some(format!("{}: {error}", file.path.display()))
            })
            .collect()
    }

    fn system(&self) -> Theme {
        Theme::system(&self.colors, self.scheme(), self.mode)
    }
}

#[cfg(test)]
mod tests {
    use pi_protocol::{SourceInfo, SourceOrigin, SourceScope};
    use pi_tui::{Color, ColorToken, contrast};

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
        for (name, _) in BUILT_IN {
            let theme = built_in(name, ColorMode::Palette).unwrap();
            assert_eq!(theme.name(), name);
        }
        assert!(built_in("sepia", ColorMode::Palette).is_none());
    }

    fn color(theme: &Theme, token: ColorToken) -> (u8, u8, u8) {
        let style = theme.style(token);
        match style.foreground.or(style.background) {
            Some(Color::Rgb(red, green, blue)) => (red, green, blue),
            other => panic!("{}: {token:?} is {other:?}", theme.name()),
        }
    }

    #[test]
    fn text_is_readable_on_every_panel_of_the_built_in_themes() {
        for (name, _) in BUILT_IN {
            let theme = built_in(name, ColorMode::TrueColor).unwrap();
            for panel in [
                ColorToken::UserMessageBg,
                ColorToken::ToolPendingBg,
                ColorToken::ToolSuccessBg,
                ColorToken::ToolErrorBg,
            ] {
                for (token, least) in [
                    (ColorToken::Text, 7.0),
                    (ColorToken::Success, 4.0),
                    (ColorToken::Error, 4.0),
                    (ColorToken::ToolOutput, 4.0),
                ] {
                    let contrast = contrast(color(&theme, token), color(&theme, panel));
                    assert!(
                        contrast >= least,
                        "{name}: {token:?} on {panel:?}: {contrast}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_color_blind_themes_do_not_oppose_red_and_green() {
        for name in ["color-blind-dark", "color-blind-light"] {
            let theme = built_in(name, ColorMode::TrueColor).unwrap();
            for (good, bad) in [
                (ColorToken::Success, ColorToken::Error),
                (ColorToken::ToolDiffAdded, ColorToken::ToolDiffRemoved),
            ] {
                let ((_, _, good), (_, _, bad)) = (color(&theme, good), color(&theme, bad));
                assert!(good.abs_diff(bad) > 100, "{name}: blue against yellow");
            }
        }
    }

    #[test]
    fn a_pair_follows_the_terminal_and_the_default_is_system() {
        for (setting, scheme, expected) in [
            (None, ColorScheme::Light, "system"),
            (Some("system"), ColorScheme::Dark, "system"),
            (Some("light"), ColorScheme::Dark, "light"),
            (Some("light/dark"), ColorScheme::Dark, "dark"),
            (Some("dark/light"), ColorScheme::Dark, "light"),
            (Some("light/system"), ColorScheme::Dark, "system"),
        ] {
            let chosen = choice(setting, scheme).choose();
            assert_eq!(chosen.theme.name(), expected, "{setting:?} {scheme:?}");
            assert_eq!(chosen.problem, None);
        }
    }

    #[test]
    fn the_background_decides_over_what_the_terminal_announces() {
        let mut selector = choice(Some("light/dark"), ColorScheme::Dark);
        selector.set_colors(TerminalColors {
            background: Some((255, 255, 255)),
            ..TerminalColors::default()
        });
        assert_eq!(selector.choose().theme.name(), "light");
        selector.set_scheme(ColorScheme::Dark);
        assert_eq!(selector.scheme(), ColorScheme::Light);
    }

    #[test]
    fn the_system_theme_changes_with_the_terminal() {
        let mut selector = choice(None, ColorScheme::Dark);
        let before = selector.choose().theme;
        selector.set_colors(TerminalColors {
            background: Some((0, 43, 54)),
            ..TerminalColors::default()
        });
        let after = selector.choose().theme;
        assert_ne!(before, after);
        assert_eq!(after.name(), "system");
    }

    #[test]
    fn a_file_cannot_replace_the_system_theme() {
        let mut selector = choice(Some("system"), ColorScheme::Dark);
        let file = ThemeFile {
            name: "system".to_owned(),
            path: "system.json".into(),
            content: "{}".to_owned(),
            source_info: SourceInfo {
                path: "system.json".into(),
                source: "auto".to_owned(),
                scope: SourceScope::User,
                origin: SourceOrigin::TopLevel,
                base_dir: None,
            },
        };
        selector.load(&Settings::default(), &[file]);
        assert!(selector.load_named("system").is_ok());
        let names = selector.names();
        assert_eq!(names.iter().filter(|name| *name == "system").count(), 1);
    }

    #[test]
    fn an_unknown_theme_is_reported_and_replaced() {
        let chosen = choice(Some("sepia"), ColorScheme::Dark).choose();
        assert_eq!(chosen.theme.name(), "system");
        assert_eq!(
            chosen.problem.as_deref(),
            Some(
                "unknown theme \"sepia\"; available: system, dark, light, color-blind-dark, \
                 color-blind-light, catppuccin, gruvbox, nord, solarized-dark, solarized-light, \
                 tokyo-night"
            )
        );
    }
}
