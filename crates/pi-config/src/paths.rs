//! Where pi keeps its files.

use std::path::{Path, PathBuf};

use pi_ai::Env;

use crate::env_vars;

/// The directory of a user's settings, credentials, sessions and resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDir(PathBuf);

impl AgentDir {
    /// Finds the directory: where the environment says, `~/.pi/agent` otherwise.
    pub fn from_env(env: &Env) -> Self {
        match env.var(env_vars::AGENT_DIR) {
            Some(path) => Self(expand_home(&path, env)),
            None => Self(home(env).join(".pi").join("agent")),
        }
    }

    /// Uses this directory.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of `settings.json`.
    pub fn settings_file(&self) -> PathBuf {
        self.0.join("settings.json")
    }

    /// Returns the path of `trust.json`.
    pub fn trust_file(&self) -> PathBuf {
        self.0.join("trust.json")
    }

    /// Returns the path of `keybindings.json`.
    pub fn keybindings_file(&self) -> PathBuf {
        self.0.join("keybindings.json")
    }

    /// Returns the path of `auth.json`.
    pub fn auth_file(&self) -> PathBuf {
        self.0.join("auth.json")
    }

    /// Returns the path of `models.json`.
    pub fn models_file(&self) -> PathBuf {
        self.0.join("models.json")
    }

    /// Returns the path of `models-store.json`.
    pub fn models_store_file(&self) -> PathBuf {
        self.0.join("models-store.json")
    }

    /// Returns the directory of all sessions.
    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }

    /// Returns the directory of programs pi manages.
    pub fn bin(&self) -> PathBuf {
        self.0.join("bin")
    }

    /// Returns the directory that tells what projects brought when they were last used.
    pub fn seen_projects(&self) -> PathBuf {
        self.0.join("seen-projects")
    }

    /// Returns the directory of packages that are used for one run.
    pub fn tmp(&self) -> PathBuf {
        self.0.join("tmp")
    }
}

/// Replaces a leading `~` by the home directory. `~name` is left alone, as in TypeScript pi.
pub fn expand_home(path: &str, env: &Env) -> PathBuf {
    if path == "~" {
        return home(env);
    }
    match path.strip_prefix("~/") {
        Some(rest) => home(env).join(rest),
        None => PathBuf::from(path),
    }
}

fn home(env: &Env) -> PathBuf {
    env.home_dir().unwrap_or_else(|| PathBuf::from("/"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn agent_directory_follows_the_environment() {
        for (configured, expected) in [
            ("", "/home/u/.pi/agent"),
            ("/srv/pi", "/srv/pi"),
            ("~", "/home/u"),
            ("~/x", "/home/u/x"),
            ("~other/x", "~other/x"),
            ("relative", "relative"),
        ] {
            let env = Env::fixed([("HOME", "/home/u"), (env_vars::AGENT_DIR, configured)]);
            assert_eq!(
                AgentDir::from_env(&env).path(),
                Path::new(expected),
                "{configured}"
            );
        }
    }
}
