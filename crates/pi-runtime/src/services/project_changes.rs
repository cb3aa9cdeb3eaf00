//! What a pull changed of a project that was trusted before, in words.
//!
//! Looking reads up to a megabyte of the project. Nothing depends on what is found, so front ends look
//! once they have something to show.

use std::path::Path;

use pi_config::{AgentDir, ConfigDiagnostic, changed_since_last_use};

/// How many changed files of a project are named before the rest is counted.
const MAX_NAMED: usize = 5;

/// Names what is new or other in a trusted project since its last use, and remembers it as it is now.
pub(crate) fn changes_of_project(agent_dir: &AgentDir, cwd: &Path) -> Option<ConfigDiagnostic> {
    let changed = changed_since_last_use(agent_dir, cwd)
        .inspect_err(|error| tracing::debug!(%error, "what a project brings is not remembered"))
        .ok()?;
    if changed.is_empty() {
        return None;
    }
    let named = changed.iter().take(MAX_NAMED);
    let named = named.map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match changed.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let message = format!(
        "this project is trusted, and since its last use these files are new or changed: {named}{more}"
    );
    Some(ConfigDiagnostic::warning(message, cwd.join(".pi")))
}
