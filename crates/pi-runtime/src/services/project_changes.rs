//! What a pull changed of a project that was trusted before, in words.
//!
//! Looking reads up to a megabyte of the project. Nothing depends on what is found, so front ends look
//! once they have something to show.

use std::io;
use std::path::Path;

use pi_config::{AgentDir, ConfigDiagnostic, ProjectChanges, find_project_changes};

/// How many changed files of a project are named before the rest is counted.
const MAX_NAMED: usize = 5;

/// Looks what is new or other in a trusted project since its last use.
pub(crate) fn changes_of_project(agent_dir: &AgentDir, cwd: &Path) -> Option<ProjectChanges> {
    find_project_changes(agent_dir, cwd)
        .inspect_err(say_unremembered)
        .ok()?
}

/// Remembers changes that are told, so that they are told once.
pub(crate) fn remember_changes(changes: &ProjectChanges) {
    changes.mark_seen().inspect_err(say_unremembered).ok();
}

fn say_unremembered(error: &io::Error) {
    tracing::debug!(%error, "what a project brings is not remembered");
}

/// Names what changed.
pub(crate) fn describe_changes(changes: &ProjectChanges, cwd: &Path) -> ConfigDiagnostic {
    let files = changes.files();
    let named = files.iter().take(MAX_NAMED);
    let named = named.map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match files.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let message = format!(
        "this project is trusted, and since its last use these files are new or changed: {named}{more}"
    );
    ConfigDiagnostic::warning(message, cwd.join(".pi"))
}
