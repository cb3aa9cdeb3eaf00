//! Whether commands use the files of the project. They cannot ask the user.

use std::path::Path;
use std::sync::OnceLock;

use pi_config::{AgentDir, SettingsStore, TrustDecision, TrustInputs, decide_trust};
use pi_env::Env;
use pi_protocol::ProjectAccess;

use crate::output::warn;

/// Decides trust as a session without a terminal would.
pub(crate) fn project_access(
    cli: Option<bool>,
    agent_dir: &AgentDir,
    cwd: &Path,
    env: &Env,
) -> ProjectAccess {
    decision(cli, agent_dir, cwd, env).map_or(ProjectAccess::Denied, |decision| {
        decision.access_without_prompt()
    })
}

/// Includes the project only if the user has trusted it, now or before.
pub(crate) fn saved_access(
    cli: Option<bool>,
    agent_dir: &AgentDir,
    cwd: &Path,
    env: &Env,
) -> ProjectAccess {
    match decision(cli, agent_dir, cwd, env) {
        Some(TrustDecision::Prompt { .. }) | None => ProjectAccess::Denied,
        Some(decision) => decision.access_without_prompt(),
    }
}

fn decision(
    cli: Option<bool>,
    agent_dir: &AgentDir,
    cwd: &Path,
    env: &Env,
) -> Option<TrustDecision> {
    let user = SettingsStore::open(agent_dir, cwd, ProjectAccess::Denied);
    let home = env.home_dir();
    let inputs = TrustInputs {
        cwd,
        home: home.as_deref(),
        agent_dir,
        cli,
        default: user.settings().default_project_trust(),
        state: &OnceLock::new(),
    };
    decide_trust(&inputs)
        .inspect_err(|error| warn(&error.to_string()))
        .ok()
}
