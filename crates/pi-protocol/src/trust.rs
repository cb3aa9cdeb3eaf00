//! The choices of a user who is asked about a project.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config_scope::ProjectAccess;

/// A choice offered in the trust prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TrustChoice {
    Trust {
        dir: PathBuf,
    },
    /// Trusts everything in the project's parent directory.
    TrustParent {
        parent: PathBuf,
        /// The project's directory, whose own decision is removed.
        dir: PathBuf,
    },
    /// Trusts the project until the process exits.
    TrustOnce,
    Deny {
        dir: PathBuf,
    },
    /// Denies trust until the process exits.
    DenyOnce,
}

impl TrustChoice {
    /// Returns the label of the choice. It may contain a path: strip control characters before showing it in a
    /// terminal.
    pub fn label(&self) -> String {
        match self {
            Self::Trust { .. } => "Trust this directory".to_owned(),
            Self::TrustParent { parent, .. } => {
                format!("Trust everything in {}", parent.display())
            }
            Self::TrustOnce => "Trust for this session".to_owned(),
            Self::Deny { .. } => "Do not trust this directory".to_owned(),
            Self::DenyOnce => "Do not trust for this session".to_owned(),
        }
    }

    /// Returns the resulting access.
    pub fn access(&self) -> ProjectAccess {
        match self {
            Self::Trust { .. } | Self::TrustParent { .. } | Self::TrustOnce => {
                ProjectAccess::Trusted
            }
            Self::Deny { .. } | Self::DenyOnce => ProjectAccess::Denied,
        }
    }
}

/// A saved decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedTrust {
    /// The directory it was made for: the project or an ancestor.
    pub dir: PathBuf,
    pub access: ProjectAccess,
}

/// The saved decision about a project, and what can be chosen instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustState {
    pub choices: Vec<TrustChoice>,
    pub saved: Option<SavedTrust>,
}

impl TrustState {
    /// Returns the position of the choice that equals the saved decision.
    pub fn saved_choice(&self) -> Option<usize> {
        let saved = self.saved.as_ref()?;
        self.choices.iter().position(|choice| {
            let dir = match choice {
                TrustChoice::Trust { dir } | TrustChoice::Deny { dir } => dir,
                TrustChoice::TrustParent { parent, .. } => parent,
                TrustChoice::TrustOnce | TrustChoice::DenyOnce => return false,
            };
            choice.access() == saved.access && *dir == saved.dir
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saved_choice_has_the_same_directory_and_access() {
        let dir = PathBuf::from("/parent/project");
        let parent = PathBuf::from("/parent");
        let choices = vec![
            TrustChoice::Trust { dir: dir.clone() },
            TrustChoice::TrustParent {
                parent: parent.clone(),
                dir: dir.clone(),
            },
            TrustChoice::TrustOnce,
            TrustChoice::Deny { dir: dir.clone() },
        ];
        for (dir, access, expected) in [
            (dir.clone(), ProjectAccess::Trusted, Some(0)),
            (parent.clone(), ProjectAccess::Trusted, Some(1)),
            (dir, ProjectAccess::Denied, Some(3)),
            (parent, ProjectAccess::Denied, None),
        ] {
            let state = TrustState {
                choices: choices.clone(),
                saved: Some(SavedTrust { dir, access }),
            };
            assert_eq!(state.saved_choice(), expected, "{:?}", state.saved);
        }
        let unsaved = TrustState {
            choices,
            saved: None,
        };
        assert_eq!(unsaved.saved_choice(), None);
    }
}
