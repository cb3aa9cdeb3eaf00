//! The `sandbox` setting: what the model's commands and tools may access. `pi-sandbox` makes a policy of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Restrictions of tools and commands. A project may only add to them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxSettings {
    pub mode: Option<Checked<SandboxMode>>,
    pub network: Option<Checked<SandboxNetwork>>,
    /// Directories outside of the workspace that may be written.
    pub writable: Option<Vec<String>>,
    /// Paths and globs that may not be read.
    pub deny_read: Option<Checked<Vec<String>>>,
    /// Paths in the workspace that may not be written.
    pub protect: Option<Checked<Vec<String>>>,
    /// Whether `workspace` may run where nothing in the workspace can be protected.
    pub landlock_only: Option<bool>,
    /// What happens when something is denied.
    pub on_denied: Option<Checked<OnDenied>>,
    /// Whether the changes of tried commands are kept where no user can be asked.
    pub keep_tried: Option<bool>,
}

impl SandboxSettings {
    /// Paths that may not be read if `denyRead` is not set.
    pub const DENY_READ: [&str; 2] = ["~/.ssh", "**/.env"];

    /// Paths of a workspace that may not be written if `protect` is not set: what is there runs outside of the sandbox, or
    /// decides about it.
    pub const PROTECT: [&str; 4] = [".git/hooks", ".git/config", ".pi", ".mcp.json"];

    /// Whether there is no sandbox. An invalid mode is not off.
    pub fn is_off(&self) -> bool {
        let mode = self.mode.as_ref();
        mode.is_none_or(|mode| *mode == Checked::Valid(SandboxMode::Off))
    }
}

/// A value whose invalid form is kept, so that a session with it is refused: dropping it would allow more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Checked<T> {
    Valid(T),
    Invalid(Value),
}

impl<T> From<T> for Checked<T> {
    fn from(value: T) -> Self {
        Self::Valid(value)
    }
}

/// What may be written. Later variants allow less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// No sandbox.
    #[default]
    Off,
    /// The workspace, temporary files and caches.
    Workspace,
    /// Like the workspace, but what commands change there is kept only if the user wants it.
    Try,
    /// Nothing.
    ReadOnly,
}

impl SandboxMode {
    pub const ALL: [Self; 4] = [Self::Off, Self::Workspace, Self::Try, Self::ReadOnly];

    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Workspace => "workspace",
            Self::Try => "try",
            Self::ReadOnly => "read-only",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

impl std::fmt::Display for SandboxMode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Whether commands reach the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxNetwork {
    #[default]
    On,
    Off,
}

/// What happens when the sandbox denies something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnDenied {
    /// The user is asked whether to allow it, where there is one.
    #[default]
    Ask,
    /// The model reads what was denied.
    Report,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invalid_values_are_kept() {
        let settings: SandboxSettings = serde_json::from_value(json!({
            "mode": "workspace", "network": "of", "denyRead": "~/.ssh", "protect": [".pi"],
        }))
        .unwrap();
        assert_eq!(settings.mode, Some(SandboxMode::Workspace.into()));
        assert_eq!(settings.network, Some(Checked::Invalid(json!("of"))));
        assert_eq!(settings.deny_read, Some(Checked::Invalid(json!("~/.ssh"))));
        assert_eq!(settings.protect, Some(vec![".pi".to_owned()].into()));
    }
}
