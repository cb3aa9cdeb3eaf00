//! Decides whether the files of a project are used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_config::{TrustDecision, TrustStore, TrustUpdate};
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel, ProjectAccess, TrustChoice};

use super::Host;
use crate::workspace::{ProjectProbe, WorkspaceOptions, diagnostic, remember_state};

/// Prompts the user about a project's trust; front ends without a user have none.
pub trait TrustPrompt: Send + Sync {
    /// Returns the user's choice; `None` leaves the decision open. `changes` lists code that is new or changed since the
    /// user trusted the project.
    fn prompt<'a>(
        &'a self,
        cwd: &'a Path,
        choices: Vec<TrustChoice>,
        changes: Vec<String>,
    ) -> BoxFuture<'a, Option<TrustChoice>>;
}

/// Decides about projects without a trust decision; implemented by the user's extensions.
pub trait TrustResolver: Send + Sync {
    /// Returns the decision; `None` leaves it to the user. Messages raised while deciding are added
    /// to `diagnostics`.
    fn resolve<'a>(
        &'a self,
        host: &'a Host,
        options: &'a WorkspaceOptions,
        cwd: &'a Path,
        diagnostics: &'a mut Vec<ConfigDiagnostic>,
    ) -> BoxFuture<'a, Option<TrustResolution>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustResolution {
    pub access: ProjectAccess,
    /// Whether to remember the decision for other runs.
    pub remember: bool,
}

/// The user's decision for one run, given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustFlag {
    /// Trusts the project of one directory (`--approve`). Sessions can name any directory, so the decision does not
    /// follow them there.
    Approve { directory: PathBuf },
    /// Trusts no project (`--no-approve`).
    Deny,
}

impl TrustFlag {
    /// Returns the flag for a run that starts in a directory.
    pub fn new(is_approved: bool, directory: &Path) -> Self {
        if is_approved {
            let directory = directory.to_owned();
            Self::Approve { directory }
        } else {
            Self::Deny
        }
    }

    /// Returns the decision about the project of a directory, if the flag makes one.
    pub(crate) fn decision(&self, cwd: &Path) -> Option<bool> {
        match self {
            Self::Approve { directory } => is_same_directory(directory, cwd).then_some(true),
            Self::Deny => Some(false),
        }
    }
}

/// Compares directories that may be written differently, for example through a symbolic link.
fn is_same_directory(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    one == other || canonical(one).is_some_and(|one| Some(one) == canonical(other))
}

/// Trust decisions of this process, by project directory.
#[derive(Debug, Default)]
pub(crate) struct TrustDecisions(Mutex<HashMap<PathBuf, ProjectAccess>>);

impl TrustDecisions {
    pub(crate) fn get(&self, cwd: &Path) -> Option<ProjectAccess> {
        let decisions = self.0.lock();
        decisions.get(cwd).copied()
    }

    /// Removes the decision about a project, which may have changed since.
    pub(crate) fn remove(&self, cwd: &Path) {
        let mut decisions = self.0.lock();
        decisions.remove(cwd);
    }

    fn set(&self, cwd: &Path, access: ProjectAccess) {
        let mut decisions = self.0.lock();
        decisions.insert(cwd.to_owned(), access);
    }
}

/// Decides about a project's trust: what is known, then the extensions, then the user.
pub(crate) async fn resolve_trust(
    host: &Host,
    workspace: &WorkspaceOptions,
    probe: &ProjectProbe,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> ProjectAccess {
    let cwd = &probe.cwd;
    let decision = match &probe.decision {
        Ok(decision) => decision,
        Err(error) => {
            diagnostics.push(error.clone());
            return ProjectAccess::Denied;
        }
    };
    let TrustDecision::Prompt { choices, changes } = decision else {
        return decision.access_without_prompt();
    };
    if changes.is_empty()
        && let Some(resolver) = &workspace.trust_resolver
        && let Some(resolution) = resolver.resolve(host, workspace, cwd, diagnostics).await
    {
        if resolution.remember {
            let update = match resolution.access {
                ProjectAccess::Trusted => TrustUpdate::trust(cwd),
                _ => TrustUpdate::deny(cwd),
            };
            save(host, &[update], diagnostics);
        }
        host.decisions().set(cwd, resolution.access);
        return resolution.access;
    }
    let choice = match &host.options().trust_prompt {
        Some(prompt) => {
            let choices = choices.clone();
            prompt.prompt(cwd, choices, changes.clone()).await
        }
        None => None,
    };
    let Some(choice) = choice else {
        diagnostics.extend(untrusted_changes(cwd, changes));
        return decision.access_without_prompt();
    };
    save(host, &TrustUpdate::of_choice(&choice), diagnostics);
    if choice.access().is_trusted() {
        remember_state(&probe.state, &host.options().agent_dir, cwd);
    }
    host.decisions().set(cwd, choice.access());
    choice.access()
}

/// Explains why a project that was trusted before is not used.
fn untrusted_changes(cwd: &Path, changes: &[String]) -> Option<ConfigDiagnostic> {
    let first = changes.first()?;
    let more = match changes.len() - 1 {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let message = format!(
        "code of this project changed since you trusted it ({first}{more}), so its files are not used; start pi in the terminal to decide again, or pass --approve"
    );
    Some(ConfigDiagnostic::warning(message, cwd.join(".pi")))
}

fn save(host: &Host, updates: &[TrustUpdate], diagnostics: &mut Vec<ConfigDiagnostic>) {
    if let Err(error) = TrustStore::new(&host.options().agent_dir).save(updates) {
        diagnostics.push(diagnostic(DiagnosticLevel::Warning, &error, None));
    }
}
