//! Project trust: the decision whether a project's files are applied, and `trust.json`, which saves it.
//!
//! None of a project's files is applied before the decision. Front ends prompt the user; this module provides the
//! choices and what each of them saves.

mod imports;
mod project_changes;
mod project_scan;
mod store;

pub use project_changes::ProjectChanges;
pub use store::{TrustError, TrustStore, TrustUpdate};

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pi_protocol::settings::ProjectTrustDefault;
use pi_protocol::{ProjectAccess, TrustChoice};

use crate::AgentDir;

/// Entries of `.pi` that are only applied in trusted projects.
const GUARDED_ENTRIES: [&str; 9] = [
    "settings.json",
    "mcp.json",
    "extensions",
    "agents",
    "skills",
    "prompts",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
];

#[derive(Debug, Clone, Copy)]
pub struct TrustInputs<'a> {
    pub cwd: &'a Path,
    /// The user's home directory, whose `.agents/skills` needs no trust.
    pub home: Option<&'a Path>,
    pub agent_dir: &'a AgentDir,
    /// From the command line: trust or do not trust.
    pub cli: Option<bool>,
    /// From the user's settings.
    pub default: ProjectTrustDefault,
    /// Receives the state of a trusted project before any of its code runs.
    pub state: &'a OnceLock<ProjectChanges>,
}

/// The outcome of [`decide_trust`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustDecision {
    Known(ProjectAccess),
    /// The user must be prompted.
    Prompt {
        choices: Vec<TrustChoice>,
        /// Code that is new or changed since the user trusted the project.
        changes: Vec<String>,
    },
}

impl TrustDecision {
    /// Returns the access to use when the user cannot be prompted.
    pub fn access_without_prompt(&self) -> ProjectAccess {
        match self {
            Self::Known(access) => *access,
            Self::Prompt { .. } => ProjectAccess::Undecided,
        }
    }
}

/// Decides whether a project is trusted.
///
/// Checked in order: the command line, a saved denial, whether the project has anything that requires trust,
/// a saved approval, the default. An approval is for the code that the user approved: if it changed since the last
/// use, the user is prompted again. If `trust.json` cannot be read, callers must treat the project as denied,
/// because it may have been.
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
        let changes = changed_code(inputs);
        if changes.is_empty() {
            return Ok(Known(access));
        }
        return Ok(TrustDecision::Prompt {
            choices: trust_choices(inputs.cwd, SessionChoices::Offered),
            changes,
        });
    }
    Ok(match inputs.default {
        ProjectTrustDefault::Always => Known(ProjectAccess::Trusted),
        // A general rule, not a decision about this project: its context files are still used.
        ProjectTrustDefault::Never => Known(ProjectAccess::Undecided),
        ProjectTrustDefault::Ask => TrustDecision::Prompt {
            choices: trust_choices(inputs.cwd, SessionChoices::Offered),
            changes: Vec::new(),
        },
    })
}

/// Returns the code that changed since the last use of a trusted project. What cannot be compared is not trusted.
fn changed_code(inputs: &TrustInputs<'_>) -> Vec<String> {
    match ProjectChanges::find(inputs.agent_dir, inputs.cwd) {
        Ok(changes) => inputs.state.get_or_init(|| changes).changed_code(),
        Err(error) => vec![format!("cannot compare: {error}")],
    }
}

/// Returns whether a project has files that are only applied once it is trusted.
pub fn requires_trust(cwd: &Path, home: Option<&Path>) -> bool {
    let cwd = canonical(cwd);
    let config = cwd.join(".pi");
    if GUARDED_ENTRIES
        .iter()
        .any(|name| entry_exists(&config.join(name)))
    {
        return true;
    }
    let user_skills = home.map(|home| canonical(home).join(".agents").join("skills"));
    cwd.ancestors()
        .map(|dir| dir.join(".agents").join("skills"))
        .any(|skills| Some(&skills) != user_skills.as_ref() && entry_exists(&skills))
}

/// Includes dangling symlinks, because their target may appear later.
fn entry_exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether choices for this session only are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChoices {
    /// At startup.
    Offered,
    /// When the user edits the saved decision.
    Omitted,
}

/// Returns the choices for a project.
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

/// Returns the canonical path of a directory, or its absolute path if it does not exist.
fn canonical(dir: &Path) -> PathBuf {
    let found = dir
        .canonicalize()
        .or_else(|_missing| std::path::absolute(dir));
    match found {
        Ok(path) => without_verbatim_prefix(path),
        Err(_) => dir.to_owned(),
    }
}

/// Removes the `\\?\` prefix of canonical Windows paths, which the TypeScript pi does not write.
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
