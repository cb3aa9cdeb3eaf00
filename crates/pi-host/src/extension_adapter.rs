//! Connects the extensions with the session: implements what they need from a session and from the
//! runtime, and turns what participants receive into events.

mod agents;
mod participant;
mod runtime;
mod session;
mod trust;

use std::sync::Arc;

use pi_core::{RegisteredTool, ToolOrigin};
use pi_extensions::{ExtensionEnvironment, SessionExtensions, ToolRegistration};

use crate::native_extensions::RegisteredNames;
use crate::participants::Participants;
use crate::workspace::Workspace;

pub(crate) use trust::ExtensionTrustResolver;

/// Returns the parts of the workspace that extensions use.
pub(crate) fn environment(workspace: &Workspace) -> ExtensionEnvironment {
    ExtensionEnvironment {
        files: workspace.resources.extensions.clone(),
        settings: workspace.settings.settings(),
        models: workspace.models.clone(),
        cwd: workspace.cwd.clone(),
        is_trusted: workspace.project.is_trusted(),
        agent_dir: workspace.agent_dir.clone(),
        env: workspace.env.clone(),
        services: Arc::new(agents::RuntimeServices),
        sandbox: workspace.sandbox().ok().flatten(),
    }
}

/// Returns the tools of the extensions.
pub(crate) fn tools(extensions: &SessionExtensions) -> Vec<RegisteredTool> {
    let tools = extensions.tools().into_iter();
    tools
        .map(|tool| registered(tool, ToolOrigin::Extension))
        .collect()
}

/// Returns the names of the tools and commands of the extensions.
pub(crate) fn registered_names(extensions: &SessionExtensions) -> RegisteredNames {
    let commands = extensions.commands().into_iter();
    RegisteredNames {
        tools: extensions.tool_sources(),
        commands: commands
            .map(|command| (command.name, command.source_info))
            .collect(),
    }
}

/// Returns the extensions as participants of a session.
pub(crate) fn participants(extensions: &SessionExtensions) -> Participants {
    participant::register(extensions.clone())
}

fn registered(tool: ToolRegistration, origin: ToolOrigin) -> RegisteredTool {
    RegisteredTool {
        tool: tool.tool,
        origin,
        snippet: tool.snippet,
        guidelines: tool.guidelines,
        is_default_active: tool.is_default_active,
        metadata: tool.metadata,
    }
}
