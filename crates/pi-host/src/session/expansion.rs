//! Expansion of skills and prompt templates in user input.

use std::error::Error;

use pi_config::{Resources, expand_prompt_template, expand_skill_command};

/// The skills and prompt templates a text may invoke.
pub trait PromptExpansion: Send + Sync {
    /// Expands `/skill:name arguments`; `None` if the text invokes no known skill.
    fn expand_skill(&self, text: &str) -> Option<Result<String, Box<dyn Error + Send + Sync>>>;

    /// Expands `/name arguments`; `None` if the text invokes no known template.
    fn expand_template(&self, text: &str) -> Option<String>;
}

/// Expands nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoExpansion;

impl PromptExpansion for NoExpansion {
    fn expand_skill(&self, _text: &str) -> Option<Result<String, Box<dyn Error + Send + Sync>>> {
        None
    }

    fn expand_template(&self, _text: &str) -> Option<String> {
        None
    }
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
