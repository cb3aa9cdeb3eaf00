//! Settings that fall back to variables of the terminal's environment.

use pi_env::Env;
use pi_protocol::settings::Settings;

/// `1` shows the terminal's hardware cursor; the setting takes precedence.
const HARDWARE_CURSOR: &str = "PI_HARDWARE_CURSOR";

/// `1` clears rows that become empty; the setting takes precedence.
const CLEAR_ON_SHRINK: &str = "PI_CLEAR_ON_SHRINK";

/// The user's editor; preferred over `EDITOR`.
const VISUAL: &str = "VISUAL";

/// The user's editor.
const EDITOR: &str = "EDITOR";

/// Returns the editor command: the setting, `VISUAL`, `EDITOR`, or the platform's default.
pub(crate) fn external_editor(settings: &Settings, env: &Env) -> String {
    let setting = settings.external_editor.clone();
    setting
        .filter(|command| !command.trim().is_empty())
        .or_else(|| env.var(VISUAL))
        .or_else(|| env.var(EDITOR))
        .unwrap_or_else(|| if cfg!(windows) { "notepad" } else { "nano" }.to_owned())
}

pub(crate) fn shows_hardware_cursor(settings: &Settings, env: &Env) -> bool {
    let setting = settings.show_hardware_cursor;
    setting.unwrap_or_else(|| is_one(env, HARDWARE_CURSOR))
}

/// Returns whether rows that become empty are cleared.
pub(crate) fn clears_on_shrink(settings: &Settings, env: &Env) -> bool {
    let setting = settings.terminal.clear_on_shrink;
    setting.unwrap_or_else(|| is_one(env, CLEAR_ON_SHRINK))
}

fn is_one(env: &Env, variable: &str) -> bool {
    env.var(variable).is_some_and(|value| value == "1")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn without_settings_and_variables_the_defaults_apply() {
        let env = Env::fixed([("HOME", "/home/u")]);
        let unset = Settings::default();
        assert_eq!(
            external_editor(&unset, &env),
            if cfg!(windows) { "notepad" } else { "nano" }
        );
        assert!(!shows_hardware_cursor(&unset, &env) && !clears_on_shrink(&unset, &env));
    }

    #[test]
    fn setting_takes_precedence_over_environment() {
        let env = Env::fixed([
            ("VISUAL", "vi"),
            ("PI_HARDWARE_CURSOR", "1"),
            ("PI_CLEAR_ON_SHRINK", "1"),
        ]);
        let unset = Settings::default();
        assert_eq!(external_editor(&unset, &env), "vi");
        assert!(shows_hardware_cursor(&unset, &env) && clears_on_shrink(&unset, &env));
        let set: Settings = serde_json::from_value(json!({
            "externalEditor": "code --wait",
            "showHardwareCursor": false,
            "terminal": {"clearOnShrink": false},
        }))
        .unwrap();
        assert_eq!(external_editor(&set, &env), "code --wait");
        assert!(!shows_hardware_cursor(&set, &env) && !clears_on_shrink(&set, &env));
        let blank: Settings = serde_json::from_value(json!({"externalEditor": " "})).unwrap();
        assert_eq!(external_editor(&blank, &env), "vi");
    }
}
