//! The scope of configuration files, and whether a project's files are applied.

use serde::{Deserialize, Serialize};

/// The owner of settings or resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ConfigScope {
    /// In the agent directory.
    User,
    /// In the project's `.pi` directory.
    Project,
}

/// Whether a project's files are applied. None of them is, unless this is [`ProjectAccess::Trusted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProjectAccess {
    Trusted,
    /// The user has not decided. The project's files are not applied, but its context files are
    /// still included as text for the model.
    Undecided,
    /// The user does not trust the project; its context files are excluded too.
    Denied,
}

impl ProjectAccess {
    pub fn is_trusted(self) -> bool {
        self == Self::Trusted
    }

    pub fn is_denied(self) -> bool {
        self == Self::Denied
    }
}
