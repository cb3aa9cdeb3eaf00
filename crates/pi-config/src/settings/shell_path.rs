//! The shell of the bash tool.

use std::path::PathBuf;

use pi_env::Env;
use pi_protocol::settings::Settings;

use crate::expand_home;

/// Returns the shell of the bash tool, with a leading `~` expanded.
pub fn shell_path(settings: &Settings, env: &Env) -> Option<PathBuf> {
    let path = settings.shell_path.as_deref();
    let path = path.filter(|path| !path.is_empty())?;
    Some(expand_home(path, env))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_home_directory_is_expanded() {
        let env = Env::fixed([("HOME", "/home/u")]);
        for (setting, expected) in [
            (None, None),
            (Some(""), None),
            (Some("~/bin/zsh"), Some(Path::new("/home/u/bin/zsh"))),
        ] {
            let settings = Settings {
                shell_path: setting.map(str::to_owned),
                ..Settings::default()
            };
            assert_eq!(shell_path(&settings, &env).as_deref(), expected);
        }
    }
}
