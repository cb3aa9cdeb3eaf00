//! Options of an extension's agent, and of prompts to it.

use std::path::PathBuf;
use std::sync::Arc;

use pi_config::{AgentDir, ResourceFlags};
use pi_core::{InputSource, Prompt, ToolRegistry};
use pi_protocol::{ImageContent, ThinkingLevel};
use serde::Deserialize;

use super::super::bridge::ExtensionBridge;
use super::super::jobs::JobCallback;
use super::super::registration::ToolData;
use super::super::send_message::parse_delivery;
use super::tool;
use crate::model_choice::ModelFlags;
use crate::runtime::RuntimeOptions;
use crate::session_choice::SessionChoice;
use crate::toolset::{DefaultTools, ToolSelection};

#[derive(Deserialize)]
pub(super) struct ModelName {
    provider: String,
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExtensionAgentOptions {
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
    session_file: Option<PathBuf>,
    session_dir: Option<String>,
    #[serde(default)]
    is_in_memory: bool,
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
            // Agents of extensions run without extensions.
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
    /// Returns the runtime options of the agent.
    pub(super) fn runtime(
        self,
        bridge: &ExtensionBridge,
        callback: &JobCallback,
    ) -> RuntimeOptions {
        let agent_dir = match self.agent_dir {
            Some(agent_dir) => AgentDir::at(agent_dir),
            None => bridge.agent_dir.clone(),
        };
        let cwd = self.cwd.unwrap_or_else(|| bridge.cwd.clone());
        let session = match self.session_file {
            Some(file) => SessionChoice::Open(file),
            None if self.is_in_memory => SessionChoice::InMemory { id: None },
            None => SessionChoice::New {
                id: None,
                parent: None,
            },
        };
        let own = self.custom_tools.iter();
        let own_tools = own
            .clone()
            .map(|data| tool::registered(callback, data))
            .collect();
        let own_names = own.clone().map(|tool| tool.name.clone());
        let defaults = match self.no_tools.as_deref() {
            Some("all") => DefaultTools::None,
            Some(_) => DefaultTools::NoBuiltin,
            None => DefaultTools::All,
        };
        let allow = match (self.tools, defaults) {
            (Some(names), _) => Some(names),
            // Only the resources the extension supplies.
            (None, DefaultTools::None) => Some(own_names.collect()),
            (None, DefaultTools::All | DefaultTools::NoBuiltin) => None,
        };
        RuntimeOptions {
            session,
            session_dir: self.session_dir,
            trust: Some(bridge.is_trusted),
            models: ModelFlags {
                provider: self.model.as_ref().map(|model| model.provider.clone()),
                model: self.model.map(|model| model.id),
                thinking: self.thinking_level,
                ..ModelFlags::default()
            },
            tools: ToolSelection {
                allow,
                exclude: self.exclude_tools,
                defaults,
            },
            tool_sources: vec![Arc::new(ToolRegistry::new(own_tools))],
            resources: self.resources.into(),
            model_collection: Some(bridge.models.clone()),
            ..RuntimeOptions::new(agent_dir, cwd, bridge.env.clone())
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptOptions {
    text: String,
    #[serde(default)]
    images: Vec<ImageContent>,
    streaming_behavior: Option<String>,
    expand_prompt_templates: Option<bool>,
}

impl From<PromptOptions> for Prompt {
    fn from(options: PromptOptions) -> Self {
        Self {
            text: options.text,
            images: options.images,
            streaming_behavior: parse_delivery(options.streaming_behavior.as_deref()),
            expand: options.expand_prompt_templates.unwrap_or(true),
            source: InputSource::Extension,
        }
    }
}
