//! Reports changes of instructions in a trusted project since its last use, and records its state. Changed code is
//! not reported but decided about again, before it is loaded.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use pi_config::{AgentDir, ProjectChanges};
use pi_protocol::ConfigDiagnostic;

use super::Workspace;

/// Number of changed files that are listed by name.
const MAX_NAMED: usize = 5;

/// Returns the state of a trusted project if files are new or changed since its last use. If there are none, because it
/// is used for the first time or files were only removed, its state is recorded.
///
/// The state is that before the project's code was loaded: code that changes files or the record does not change what is
/// compared with the next time.
pub(crate) fn find_project_changes(workspace: &Workspace) -> Option<&ProjectChanges> {
    let changes = state_of(
        &workspace.project_state,
        &workspace.agent_dir,
        &workspace.cwd,
    )?;
    if changes.is_seen() {
        return None;
    }
    if !changes.files().is_empty() {
        return Some(changes);
    }
    if changes.is_unrecorded() {
        remember_changes(changes);
    }
    None
}

/// Records the state of a project that the user has just trusted, or that pi changed.
pub(crate) fn remember_state(state: &OnceLock<ProjectChanges>, agent_dir: &AgentDir, cwd: &Path) {
    if let Some(changes) = state_of(state, agent_dir, cwd) {
        remember_changes(changes);
    }
}

fn state_of<'state>(
    state: &'state OnceLock<ProjectChanges>,
    agent_dir: &AgentDir,
    cwd: &Path,
) -> Option<&'state ProjectChanges> {
    if state.get().is_none() {
        let found = ProjectChanges::find(agent_dir, cwd);
        let found = found.inspect_err(log_error).ok()?;
        return Some(state.get_or_init(|| found));
    }
    state.get()
}

/// Remembers reported changes, so they are reported only once.
pub(crate) fn remember_changes(changes: &ProjectChanges) {
    changes.mark_seen().inspect_err(log_error).ok();
}

fn log_error(error: &io::Error) {
    tracing::debug!(%error, "cannot remember the state of the project");
}

pub(crate) fn describe_changes(changes: &ProjectChanges, cwd: &Path) -> ConfigDiagnostic {
    let files = changes.files();
    let named = files.iter().take(MAX_NAMED);
    let named = named.map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match files.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let message = format!(
        "files of this trusted project are new or changed since its last use: {named}{more}"
    );
    ConfigDiagnostic::warning(message, cwd.join(".pi"))
}
