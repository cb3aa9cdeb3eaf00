//! Resolves a configured session directory.

use std::path::{Path, PathBuf};

use pi_env::Env;
use pi_protocol::settings::Settings;

use crate::{env_vars, expand_home};

/// Returns the session directory from the flag, the environment or the settings, in this order. `None` means the
/// default in the agent directory.
///
/// Pass the effective settings. Until a project is trusted, they contain nothing from
/// the project, so a repository cannot choose where the user's sessions are read and written.
pub fn session_directory(
    flag: Option<&str>,
    env: &Env,
    settings: &Settings,
    cwd: &Path,
) -> Option<PathBuf> {
    let named = |path: &str| (!path.is_empty()).then(|| cwd.join(expand_home(path, env)));
    flag.and_then(named)
        .or_else(|| named(&env.var(env_vars::SESSION_DIR)?))
        .or_else(|| named(settings.session_dir.as_deref()?))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn precedence_of_flag_environment_and_setting() {
        for (flag, variable, setting, expected) in [
            (None, "", None, None),
            (None, "", Some(""), None),
            (None, "", Some("here"), Some("/srv/here")),
            (None, "~/env", Some("here"), Some("/home/u/env")),
            (Some("/flag"), "~/env", Some("here"), Some("/flag")),
            (Some("../up"), "", None, Some("/srv/../up")),
            (Some(""), "/env", None, Some("/env")),
        ] {
            let env = Env::fixed([("HOME", "/home/u"), (env_vars::SESSION_DIR, variable)]);
            let settings = Settings {
                session_dir: setting.map(str::to_owned),
                ..Settings::default()
            };
            let directory = session_directory(flag, &env, &settings, Path::new("/srv"));
            assert_eq!(directory.as_deref(), expected.map(Path::new));
        }
    }
}
