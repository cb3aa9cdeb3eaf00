//! Slash commands of a session, in addition to those of the front end: prompt templates and skills.

use std::error::Error;

use pi_config::{Resources, SourceInfo, expand_prompt_template, expand_skill_command};
use serde::Serialize;

use crate::session::PromptExpansion;

/// A command and its source; serialized as in `get_commands` of the line protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandInfo {
    /// The name without the slash.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub source: CommandSource,
    pub source_info: SourceInfo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandSource {
    Extension,
    Prompt,
    Skill,
}

/// Lists the commands of resources: templates, then skills.
pub(crate) fn resource_commands(resources: &Resources) -> Vec<CommandInfo> {
    let templates = resources
        .prompt_templates
        .iter()
        .map(|template| CommandInfo {
            name: template.name.clone(),
            description: Some(template.description.clone()),
            source: CommandSource::Prompt,
            source_info: template.source_info.clone(),
        });
    let skills = resources.skills.iter().map(|skill| CommandInfo {
        name: format!("skill:{}", skill.name),
        description: Some(skill.description.clone()),
        source: CommandSource::Skill,
        source_info: skill.source_info.clone(),
    });
    templates.chain(skills).collect()
}

impl PromptExpansion for Resources {
    fn expand_skill(&self, text: &str) -> Option<Result<String, Box<dyn Error + Send + Sync>>> {
        let expanded = expand_skill_command(text, &self.skills)?;
        Some(expanded.map_err(Into::into))
    }

    fn expand_template(&self, text: &str) -> Option<String> {
        expand_prompt_template(text, &self.prompt_templates)
    }
}
