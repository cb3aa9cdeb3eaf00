//! Which projects the user trusts: `trust.json`, and the decision about one of them.
//!
//! Nothing of a project is read for effect before the decision. Asking the user is a front end's
//! matter; here are the choices it offers and what each of them saves.

mod project_changes;
mod store;

pub use project_changes::{ProjectChanges, find_project_changes};
pub use store::{SavedTrust, TrustError, TrustStore, TrustUpdate};

use std::path::{Path, PathBuf};

use crate::{AgentDir, ProjectAccess, ProjectTrustDefault};

/// Files and directories under `.pi` that take effect once a project is trusted.
const GUARDED: [&str; 7] = [
    "settings.json",
    "extensions",
    "skills",
    "prompts",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
];

/// What a decision is made from.
#[derive(Debug, Clone, Copy)]
pub struct TrustInputs<'a> {
    pub cwd: &'a Path,
    /// The user's home, whose own skills need no trust.
    pub home: Option<&'a Path>,
    /// Where `trust.json` is.
    pub agent_dir: &'a AgentDir,
    /// What the command line says.
    pub cli: Option<bool>,
    /// What the user's settings say.
    pub default: ProjectTrustDefault,
}

/// A decision, or that the user is to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustDecision {
    Known(ProjectAccess),
    /// The user is to be asked.
    Prompt {
        choices: Vec<TrustChoice>,
    },
}

impl TrustDecision {
    /// Returns what holds where nobody can be asked.
    pub fn access_without_prompt(&self) -> ProjectAccess {
        match self {
            Self::Known(access) => *access,
            Self::Prompt { .. } => ProjectAccess::Undecided,
        }
    }
}

/// Decides about a project.
///
/// In this order: the command line, a refusal that was saved, a project that has nothing to trust,
/// what else was saved, the default. When `trust.json` cannot be read, the error tells so, and the
/// project must count as refused: it may well have been.
pub fn decide_trust(inputs: &TrustInputs<'_>) -> Result<TrustDecision, TrustError> {
    use TrustDecision::Known;

    if let Some(trusted) = inputs.cli {
        return Ok(Known(access_of(trusted)));
    }
    let saved = TrustStore::new(inputs.agent_dir)
        .nearest(inputs.cwd)?
        .map(|saved| saved.access);
    if saved == Some(ProjectAccess::Denied) {
        return Ok(Known(ProjectAccess::Denied));
    }
    if !requires_trust(inputs.cwd, inputs.home) {
        return Ok(Known(ProjectAccess::Trusted));
    }
    if let Some(access) = saved {
        return Ok(Known(access));
    }
    Ok(match inputs.default {
        ProjectTrustDefault::Always => Known(ProjectAccess::Trusted),
        // The user has a rule, but has not judged this project: it keeps its context files.
        ProjectTrustDefault::Never => Known(ProjectAccess::Undecided),
        ProjectTrustDefault::Ask => TrustDecision::Prompt {
            choices: trust_choices(inputs.cwd, SessionChoices::Offered),
        },
    })
}

/// Returns whether a project has files that take effect once it is trusted.
pub fn requires_trust(cwd: &Path, home: Option<&Path>) -> bool {
    let cwd = canonical(cwd);
    let config = cwd.join(".pi");
    if GUARDED.iter().any(|name| is_there(&config.join(name))) {
        return true;
    }
    let users_own = home.map(|home| canonical(home).join(".agents").join("skills"));
    cwd.ancestors()
        .map(|dir| dir.join(".agents").join("skills"))
        .any(|skills| Some(&skills) != users_own.as_ref() && is_there(&skills))
}

/// A link that leads nowhere counts: it may lead somewhere the next moment.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Something the user can choose about a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustChoice {
    Trust {
        dir: PathBuf,
    },
    /// Trust everything in the directory the project is in.
    TrustParent {
        /// The directory that is trusted.
        parent: PathBuf,
        /// The project's own, about which nothing is saved any more.
        dir: PathBuf,
    },
    /// Trust the project until the program ends.
    TrustOnce,
    /// Do not trust the project.
    Deny {
        dir: PathBuf,
    },
    /// Do not trust the project until the program ends.
    DenyOnce,
}

impl TrustChoice {
    /// Returns the words to offer it with. They hold a path: strip control characters before they
    /// reach a terminal.
    pub fn label(&self) -> String {
        match self {
            Self::Trust { .. } => "Trust this folder".to_owned(),
            Self::TrustParent { parent, .. } => {
                format!("Trust everything in {}", parent.display())
            }
            Self::TrustOnce => "Trust for this session".to_owned(),
            Self::Deny { .. } => "Do not trust this folder".to_owned(),
            Self::DenyOnce => "Do not trust for this session".to_owned(),
        }
    }

    /// Returns what holds once it is chosen.
    pub fn access(&self) -> ProjectAccess {
        match self {
            Self::Trust { .. } | Self::TrustParent { .. } | Self::TrustOnce => {
                ProjectAccess::Trusted
            }
            Self::Deny { .. } | Self::DenyOnce => ProjectAccess::Denied,
        }
    }

    /// Returns what is saved once it is chosen, for [`TrustStore::save`].
    pub fn updates(&self) -> Vec<TrustUpdate> {
        match self {
            Self::Trust { dir } => vec![TrustUpdate::trust(dir)],
            Self::TrustParent { parent, dir } => {
                vec![TrustUpdate::trust(parent), TrustUpdate::forget(dir)]
            }
            Self::Deny { dir } => vec![TrustUpdate::deny(dir)],
            Self::TrustOnce | Self::DenyOnce => Vec::new(),
        }
    }
}

/// Whether choices that are not saved are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChoices {
    /// They are, at the start.
    Offered,
    /// They are not, where the user changes what is saved.
    Omitted,
}

/// Returns what the user can choose about a project.
pub fn trust_choices(cwd: &Path, session: SessionChoices) -> Vec<TrustChoice> {
    let dir = canonical(cwd);
    let mut choices = vec![TrustChoice::Trust { dir: dir.clone() }];
    if let Some(parent) = dir.parent() {
        choices.push(TrustChoice::TrustParent {
            parent: parent.to_owned(),
            dir: dir.clone(),
        });
    }
    let once = session == SessionChoices::Offered;
    choices.extend(once.then_some(TrustChoice::TrustOnce));
    choices.push(TrustChoice::Deny { dir });
    choices.extend(once.then_some(TrustChoice::DenyOnce));
    choices
}

fn access_of(trusted: bool) -> ProjectAccess {
    if trusted {
        ProjectAccess::Trusted
    } else {
        ProjectAccess::Denied
    }
}

/// Returns the real path of a directory, or the absolute one when there is no such directory.
fn canonical(dir: &Path) -> PathBuf {
    let found = dir
        .canonicalize()
        .or_else(|_missing| std::path::absolute(dir));
    match found {
        Ok(path) => without_verbatim_prefix(path),
        Err(_) => dir.to_owned(),
    }
}

/// Windows' real paths begin with `\\?\`, which the TypeScript pi does not write.
#[cfg(windows)]
fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    match path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) {
        Some(plain) if !plain.starts_with("UNC\\") => PathBuf::from(plain),
        _ => path,
    }
}

#[cfg(not(windows))]
fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    path
}
