//! Slash commands of resources, in addition to those of the front end: prompt templates and skills.

use serde::Serialize;

use super::{Resources, SourceInfo};

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

impl Resources {
    /// Lists the commands: templates, then skills.
    pub fn commands(&self) -> Vec<CommandInfo> {
        let templates = self.prompt_templates.iter().map(|template| CommandInfo {
            name: template.name.clone(),
            description: Some(template.description.clone()),
            source: CommandSource::Prompt,
            source_info: template.source_info.clone(),
        });
        let skills = self.skills.iter().map(|skill| CommandInfo {
            name: format!("skill:{}", skill.name),
            description: Some(skill.description.clone()),
            source: CommandSource::Skill,
            source_info: skill.source_info.clone(),
        });
        templates.chain(skills).collect()
    }
}
