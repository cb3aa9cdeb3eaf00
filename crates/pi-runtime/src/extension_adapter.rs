//! Connects the extensions with the session: implements what they need from a session and from the
//! runtime, and turns what participants receive into events.

mod agents;
mod participant;
mod runtime;
mod session;
mod trust;

use std::sync::Arc;

use pi_extensions::{ExtensionEnvironment, SessionExtensions, ToolRegistration};

use crate::participants::Participants;
use crate::services::Services;
use crate::toolset::{RegisteredTool, ToolOrigin};

pub(crate) use trust::ExtensionTrustResolver;

/// Returns the parts of the services that extensions use.
pub(crate) fn environment(services: &Services) -> ExtensionEnvironment {
    ExtensionEnvironment {
        files: services.resources.extensions.clone(),
        settings: services.settings.settings(),
        models: services.models.clone(),
        cwd: services.cwd.clone(),
        is_trusted: services.project.is_trusted(),
        agent_dir: services.agent_dir.clone(),
        env: services.env.clone(),
        services: Arc::new(agents::RuntimeServices),
    }
}

/// Returns the tools of the extensions.
pub(crate) fn tools(extensions: &SessionExtensions) -> Vec<RegisteredTool> {
    let tools = extensions.tools().into_iter();
    tools
        .map(|tool| registered(tool, ToolOrigin::Extension))
        .collect()
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
    }
}
