//! Explains once, after an update, what changed for settings that are not set.

use pi_protocol::settings::{QuietStartup, QuietStartupPart, Settings};

/// The first version that starts full screen with the colors of the terminal.
const FULL_SCREEN_VERSION: (u32, u32) = (1, 5);

/// Returns the notice for a user whose last version had other defaults, or `None`.
pub(crate) fn notice(settings: &Settings) -> Option<String> {
    let last = parse(settings.last_changelog_version.as_deref()?)?;
    if last >= FULL_SCREEN_VERSION {
        return None;
    }
    let version = pi_env::VERSION;
    let mut lines = vec![format!(
        "Updated to pi {version}. Run /changelog for what is new, pi docs migrating for what changed."
    )];
    if settings.tui_mode.is_none() {
        lines.push(
            "pi now starts full screen. Scroll with the mouse wheel, Page Up and Page Down, Ctrl+Home and Ctrl+End. \
             To use the scrollback of the terminal, set Screen mode to regular in /settings."
                .to_owned(),
        );
    }
    if settings.theme.is_none() {
        lines.push(
            "The default theme now uses the colors of your terminal. Choose another one in /settings."
                .to_owned(),
        );
    }
    if settings.quiet_startup == Some(QuietStartup::Part(QuietStartupPart::Header)) {
        lines.push(
            "\"quietStartup\": \"header\" now keeps the header and hides the resource list."
                .to_owned(),
        );
    }
    Some(lines.join("\n"))
}

/// Parses major and minor version.
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_protocol::settings::TuiMode;

    fn after(version: &str) -> Settings {
        Settings {
            last_changelog_version: Some(version.to_owned()),
            ..Settings::default()
        }
    }

    #[test]
    fn changed_defaults_are_explained_after_an_update_only() {
        for version in ["0.87.1", "0.87.1+rs.1", "1.4.0"] {
            let text = notice(&after(version)).unwrap();
            assert!(text.contains("full screen") && text.contains("colors of your terminal"));
        }
        for version in ["1.5.0", "1.5.0+rs.1", "2.0.0", "nonsense"] {
            assert_eq!(notice(&after(version)), None, "{version}");
        }
        assert_eq!(notice(&Settings::default()), None, "a new user");
    }

    #[test]
    fn what_is_set_is_not_explained() {
        let settings = Settings {
            tui_mode: Some(TuiMode::Regular),
            theme: Some("dark".to_owned()),
            ..after("0.87.1")
        };
        let text = notice(&settings).unwrap();
        assert!(!text.contains("full screen") && !text.contains("colors"));
    }
}
