//! Slash commands of resources, in addition to those of the front end: prompt templates and skills.

use pi_protocol::{CommandInfo, CommandSource};

use super::Resources;

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
