//! The option `mode`: what the tools and commands of a session may change.
//!
//! The modes are those of the sandbox that the settings allow, and plan mode if it is loaded.

use pi_host::{sandbox_modes, set_sandbox_mode};
use pi_protocol::settings::SandboxMode;
use pi_protocol::{Command, JsonRpcError};
use serde_json::{Value, json};

use crate::backing::Backing;
use crate::session::AcpSession;

/// The key of the option, and its category.
pub(crate) const MODE: &str = "mode";

/// The name of plan mode: of its value, its command, and the status that reports it.
pub(crate) const PLAN: &str = "plan";

/// Returns the option; `None` if there is nothing to choose. Another process keeps its mode.
pub(crate) fn option(backing: &Backing, is_planning: bool) -> Option<Value> {
    let Backing::Local(handle) = backing else {
        return None;
    };
    let runtime = handle.runtime();
    let described = |mode: SandboxMode| {
        let (name, description) = match mode {
            SandboxMode::Off => (
                "No sandbox",
                "Tools and commands change what you can change",
            ),
            SandboxMode::Workspace => ("Workspace", "Write only in the workspace"),
            SandboxMode::Try => ("Try", "Keep or discard what a command has changed"),
            SandboxMode::ReadOnly => ("Read only", "Write nothing"),
        };
        json!({"value": mode.name(), "name": name, "description": description})
    };
    let mut options: Vec<Value> = sandbox_modes(runtime).into_iter().map(described).collect();
    if has_plan_mode(backing) {
        options.push(json!({
            "value": PLAN,
            "name": "Plan",
            "description": "Read and plan; /plan go carries the plan out",
        }));
    }
    if options.len() < 2 {
        return None;
    }
    let current = if is_planning {
        PLAN
    } else {
        runtime.workspace().sandbox_mode().name()
    };
    Some(json!({
        "type": "select",
        "id": MODE,
        "name": "Mode",
        "category": MODE,
        "currentValue": current,
        "options": options,
    }))
}

/// Whether the built-in extension `plan` is loaded.
fn has_plan_mode(backing: &Backing) -> bool {
    let commands = backing.commands();
    let mut own = commands
        .iter()
        .filter(|command| command.source_info.source == "builtin");
    own.any(|command| command.name == PLAN)
}

/// Selects a mode.
pub(crate) async fn select(session: &AcpSession, value: &str) -> Result<(), JsonRpcError> {
    let unknown = || JsonRpcError::invalid_params("value", "must be a mode of the session");
    let runtime = session.backing.own_runtime()?;
    let is_planning = session.is_planning();
    let sandbox = match value {
        PLAN if has_plan_mode(&session.backing) => None,
        other => {
            let mode = SandboxMode::from_name(other);
            let mode = mode.filter(|mode| sandbox_modes(runtime).contains(mode));
            Some(mode.ok_or_else(unknown)?)
        }
    };
    let is_change = sandbox != Some(runtime.workspace().sandbox_mode());
    if (is_change || is_planning) && !session.session().is_idle() {
        let problem = "the mode can be changed when the run has ended";
        return Err(JsonRpcError::invalid_request(problem));
    }
    if is_planning == sandbox.is_some() {
        let argument = if is_planning { " off" } else { "" };
        run_command(session, format!("/{PLAN}{argument}")).await?;
    }
    if let Some(mode) = sandbox {
        let changed = set_sandbox_mode(runtime, mode).await;
        changed.map_err(|error| JsonRpcError::invalid_request(error.to_string()))?;
    }
    Ok(())
}

async fn run_command(session: &AcpSession, message: String) -> Result<(), JsonRpcError> {
    let command = Command::Prompt {
        message,
        images: Vec::new(),
        streaming_behavior: None,
    };
    session.backing.prompt(command).await.map(drop)
}
