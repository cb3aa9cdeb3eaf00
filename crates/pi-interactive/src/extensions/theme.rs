//! Theme colors for extensions, with and without a terminal.

use std::path::Path;

use pi_env::Env;
use pi_host::ThemeData;
use pi_protocol::settings::Settings;
use pi_tui::{ColorMode, ColorScheme, ColorToken, Theme};
use pi_views::theme::selector::ThemeSelector;

use crate::terminal::setup;

/// Returns the theme of the settings for front ends without a terminal. Extensions color texts there as well: a client
/// shows them or removes the colors. A theme that cannot be loaded is replaced by the system theme.
pub fn theme_without_terminal(settings: &Settings, agent_dir: &Path, env: &Env) -> ThemeData {
    let mode = if setup::capabilities(settings, env).true_color {
        ColorMode::TrueColor
    } else {
        ColorMode::Palette
    };
    let scheme = setup::color_scheme(env);
    let chosen = ThemeSelector::new(mode, scheme, settings).choose();
    let from_file = chosen.problem.and_then(|_| {
        let name = selected_name(settings.theme.as_deref()?, scheme);
        let path = agent_dir.join("themes").join(format!("{name}.json"));
        let theme = Theme::from_json(&std::fs::read_to_string(&path).ok()?, mode).ok()?;
        Some(theme_data(
            &theme,
            Some(path.to_string_lossy().into_owned()),
        ))
    });
    from_file.unwrap_or_else(|| theme_data(&chosen.theme, None))
}

/// Returns the name that a setting selects: a name, or a pair for light and dark backgrounds.
fn selected_name(setting: &str, scheme: ColorScheme) -> &str {
    match (setting.split_once('/'), scheme) {
        (Some((light, _)), ColorScheme::Light) => light,
        (Some((_, dark)), ColorScheme::Dark) => dark,
        (None, _) => setting,
    }
}

pub(super) fn theme_data(theme: &Theme, path: Option<String>) -> ThemeData {
    let tokens = ColorToken::all();
    ThemeData {
        name: theme.name().to_owned(),
        path,
        mode: match theme.mode() {
            ColorMode::TrueColor => "truecolor",
            // Extensions know two modes; the colors of a plain theme are empty in either.
            ColorMode::Palette | ColorMode::Basic | ColorMode::Plain => "256color",
        },
        colors: tokens
            .map(|token| (token.name(), theme.style(token).open()))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_setting_selects_the_colors() {
        let directory = tempfile::tempdir().unwrap();
        let env = Env::fixed([("HOME", "/home")]);
        let accent = |theme: Option<&str>| {
            let settings = Settings {
                theme: theme.map(str::to_owned),
                ..Settings::default()
            };
            let data = theme_without_terminal(&settings, directory.path(), &env);
            (data.name, data.mode, data.colors["accent"].clone())
        };
        let (name, mode, color) = accent(Some("dark"));
        assert_eq!((name.as_str(), mode), ("dark", "256color"));
        assert!(color.starts_with("\u{1b}[38;5;"), "{color:?}");
        assert_eq!(accent(Some("light/dark")).0, "dark");
        assert_eq!(accent(None).0, accent(Some("missing")).0);
    }
}
