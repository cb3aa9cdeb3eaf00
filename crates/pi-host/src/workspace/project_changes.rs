//! Reports changes in a trusted project since its last use.
//!
//! The check reads up to a megabyte of the project. Nothing depends on the result, so front ends
//! run it after the first render.

use std::io;
use std::path::Path;

use pi_config::{AgentDir, ProjectChanges};
use pi_protocol::ConfigDiagnostic;

/// Number of changed files that are listed by name.
const MAX_NAMED: usize = 5;

/// Returns files of a trusted project that are new or changed since its last use.
pub(crate) fn find_project_changes(agent_dir: &AgentDir, cwd: &Path) -> Option<ProjectChanges> {
    pi_config::find_project_changes(agent_dir, cwd)
        .inspect_err(log_error)
        .ok()?
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
