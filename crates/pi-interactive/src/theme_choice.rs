//! Which theme is shown: the built-in ones, the user's files, light or dark with the terminal.

use pi_tui::{ColorMode, Theme, ThemeError};

const DARK: &str = include_str!("../themes/dark.json");
const LIGHT: &str = include_str!("../themes/light.json");

/// Names of the themes that need no file.
pub(crate) const BUILT_IN: [&str; 2] = ["dark", "light"];

/// Returns a theme that needs no file; none if `name` is not one of them.
pub(crate) fn built_in(name: &str, mode: ColorMode) -> Option<Theme> {
    let json = match name {
        "dark" => DARK,
        "light" => LIGHT,
        _ => return None,
    };
    let theme: Result<Theme, ThemeError> = Theme::from_json(json, mode);
    theme.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_themes_are_complete() {
        for name in BUILT_IN {
            let theme = built_in(name, ColorMode::Palette).unwrap();
            assert_eq!(theme.name(), name);
        }
        assert!(built_in("sepia", ColorMode::Palette).is_none());
    }
}
