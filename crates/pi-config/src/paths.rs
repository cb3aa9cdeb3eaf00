//! The paths of pi's files.

use std::path::{Path, PathBuf};

use pi_env::Env;

use crate::env_vars;

/// The directory with the user's settings, credentials, sessions and resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDir(PathBuf);

impl AgentDir {
    /// Returns the directory from `PI_CODING_AGENT_DIR`, by default `~/.pi/agent`.
    pub fn from_env(env: &Env) -> Self {
        match env.var(env_vars::AGENT_DIR) {
            Some(path) => Self(expand_home(&path, env)),
            None => Self(home(env).join(".pi").join("agent")),
        }
    }

    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn settings_file(&self) -> PathBuf {
        self.0.join("settings.json")
    }

    pub fn trust_file(&self) -> PathBuf {
        self.0.join("trust.json")
    }

    pub fn keybindings_file(&self) -> PathBuf {
        self.0.join("keybindings.json")
    }

    pub fn auth_file(&self) -> PathBuf {
        self.0.join("auth.json")
    }

    pub fn mcp_file(&self) -> PathBuf {
        self.0.join("mcp.json")
    }

    /// Returns the credentials of MCP servers.
    pub fn mcp_auth_file(&self) -> PathBuf {
        self.0.join("mcp-auth.json")
    }

    /// Returns what the tools of MCP servers were when they were accepted.
    pub fn mcp_pins_file(&self) -> PathBuf {
        self.0.join("mcp-pins.json")
    }

    /// Returns the directory with what MCP servers last offered.
    pub fn mcp_catalog_dir(&self) -> PathBuf {
        self.0.join("mcp-catalog")
    }

    /// Returns which MCP servers of `.mcp.json` files the user has accepted.
    pub fn mcp_approvals_file(&self) -> PathBuf {
        self.0.join("mcp-approvals.json")
    }

    /// Returns the messages that MCP servers log.
    pub fn mcp_log_file(&self) -> PathBuf {
        self.0.join("mcp.log")
    }

    pub fn models_file(&self) -> PathBuf {
        self.0.join("models.json")
    }

    /// Returns the definitions of image models.
    pub fn image_models_file(&self) -> PathBuf {
        self.0.join("image-models.json")
    }

    pub fn models_store_file(&self) -> PathBuf {
        self.0.join("models-store.json")
    }

    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }

    /// Returns the directory of executables that pi manages.
    pub fn bin(&self) -> PathBuf {
        self.0.join("bin")
    }

    /// Returns the directory of commands that pi provides in the model's shell.
    pub fn fallback_commands(&self) -> PathBuf {
        self.0.join("fallback-commands")
    }

    /// Returns the directory with fingerprints of trusted projects' files.
    pub fn seen_projects(&self) -> PathBuf {
        self.0.join("seen-projects")
    }

    /// Returns the directory of temporary packages.
    pub fn tmp(&self) -> PathBuf {
        self.0.join("tmp")
    }
}

/// Replaces a leading `~` with the home directory. `~name` is not expanded, as in the TypeScript pi.
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
    fn agent_dir_from_environment() {
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
