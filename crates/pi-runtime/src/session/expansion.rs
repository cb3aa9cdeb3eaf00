//! Turning what somebody typed into what is said: skills and prompt templates.

use std::error::Error;

/// Knows the skills and prompt templates that a text may call.
pub trait PromptExpansion: Send + Sync {
    /// Expands `/skill:name arguments`; none where the text calls no skill that is known.
    fn expand_skill(&self, text: &str) -> Option<Result<String, Box<dyn Error + Send + Sync>>>;

    /// Expands `/name arguments`; none where the text calls no template that is known.
    fn expand_template(&self, text: &str) -> Option<String>;
}

/// Knows none.
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
