//! Connects the extensions with the session: implements what they need from a session and from the
//! runtime, and turns session hooks into events.

mod agents;
mod hooks;
mod runtime;
mod session;
mod trust;

use std::sync::Arc;

use crate::extensions::{ExtensionEnvironment, SessionExtensions, ToolRegistration};
use crate::hooks::SessionHooks;
use crate::toolset::{RegisteredTool, ToolOrigin};
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
    }
}

/// Returns the tools of the extensions.
pub(crate) fn tools(extensions: &SessionExtensions) -> Vec<RegisteredTool> {
    let tools = extensions.tools().into_iter();
    tools
        .map(|tool| registered(tool, ToolOrigin::Extension))
        .collect()
}

/// Returns the session hooks of the extensions.
pub(crate) fn hooks(extensions: &SessionExtensions) -> Arc<dyn SessionHooks> {
    Arc::new(hooks::ExtensionHooks::new(extensions.clone()))
}

fn registered(tool: ToolRegistration, origin: ToolOrigin) -> RegisteredTool {
    RegisteredTool {
        tool: tool.tool,
        origin,
        snippet: tool.snippet,
        guidelines: tool.guidelines,
    }
}
