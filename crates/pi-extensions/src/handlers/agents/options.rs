//! Options of an extension's agent.

use std::path::PathBuf;

use pi_config::{AgentDir, ResourceFlags};
use pi_ext::HostError;
use pi_protocol::ThinkingLevel;
use serde::Deserialize;

use super::tool;
use crate::agent_extensions::{self, AgentExtensionData};
use crate::bridge::ExtensionBridge;
use crate::control::{AgentDefaultTools, AgentOptions, AgentSessionChoice, AgentTools};
use crate::jobs::JobCallback;
use crate::registration::ToolData;

#[derive(Deserialize)]
pub(super) struct ModelName {
    provider: String,
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExtensionAgentOptions {
    pub(super) number: u64,
    cwd: Option<PathBuf>,
    agent_dir: Option<PathBuf>,
    model: Option<ModelName>,
    thinking_level: Option<ThinkingLevel>,
    tools: Option<Vec<String>>,
    #[serde(default)]
    exclude_tools: Vec<String>,
    no_tools: Option<String>,
    #[serde(default)]
    custom_tools: Vec<ToolData>,
    /// A session that the extension opened.
    session: Option<u64>,
    session_dir: Option<String>,
    #[serde(default)]
    extensions: Vec<AgentExtensionData>,
    #[serde(default)]
    resources: AgentResources,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct AgentResources {
    no_skills: bool,
    skills: Vec<String>,
    no_prompt_templates: bool,
    prompt_templates: Vec<String>,
    no_context_files: bool,
    system_prompt: Option<String>,
    append_system_prompt: Vec<String>,
}

impl From<AgentResources> for ResourceFlags {
    fn from(resources: AgentResources) -> Self {
        Self {
            // The extensions of an agent are those that its creator loaded.
            no_extensions: true,
            no_skills: resources.no_skills,
            skills: resources.skills,
            no_prompt_templates: resources.no_prompt_templates,
            prompt_templates: resources.prompt_templates,
            no_context_files: resources.no_context_files,
            system_prompt: resources.system_prompt,
            append_system_prompt: resources.append_system_prompt,
            ..Self::default()
        }
    }
}

impl ExtensionAgentOptions {
    /// Completes the options with those of the program.
    pub(super) fn resolve(
        self,
        bridge: &ExtensionBridge,
        callback: &JobCallback,
    ) -> Result<AgentOptions, HostError> {
        let cwd = self.cwd.unwrap_or_else(|| bridge.cwd.clone());
        let session = match self.session {
            Some(session) => {
                let session = bridge
                    .open_sessions
                    .lock()
                    .hand_over(session, self.number)?;
                AgentSessionChoice::Opened(Box::new(session))
            }
            None => AgentSessionChoice::New,
        };
        let extensions = agent_extensions::create(bridge, callback, &cwd, self.extensions)?;
        let own = self.custom_tools.iter();
        let own_names = own.clone().map(|tool| tool.name.clone());
        let (allow, defaults) = match (self.tools, self.no_tools.as_deref()) {
            // Only the tools the extension supplies.
            (None, Some("all")) => (Some(own_names.collect()), AgentDefaultTools::None),
            (allow, Some("all")) => (allow, AgentDefaultTools::None),
            (allow, Some(_)) => (allow, AgentDefaultTools::NoBuiltin),
            (allow, None) => (allow, AgentDefaultTools::All),
        };
        Ok(AgentOptions {
            agent_dir: match self.agent_dir {
                Some(agent_dir) => AgentDir::at(agent_dir),
                None => bridge.agent_dir.clone(),
            },
            cwd,
            env: bridge.env.clone(),
            models: bridge.models.clone(),
            is_trusted: bridge.is_trusted,
            session,
            session_dir: self.session_dir,
            model: self.model.map(|model| (model.provider, model.id)),
            thinking_level: self.thinking_level,
            tools: AgentTools {
                allow,
                exclude: self.exclude_tools,
                defaults,
                custom: own.map(|data| tool::registered(callback, data)).collect(),
            },
            resources: self.resources.into(),
            extensions: Some(extensions),
        })
    }
}
