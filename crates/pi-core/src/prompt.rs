//! A prompt, as clients submit it.

use pi_protocol::{Delivery, ImageContent};

/// A message to send to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub text: String,
    pub images: Vec<ImageContent>,
    /// How to queue the prompt if a run is in progress; with `None` it is rejected.
    pub streaming_behavior: Option<Delivery>,
    /// Whether to run commands and expand skills and templates.
    pub expand: bool,
    pub source: InputSource,
}

impl Prompt {
    /// Creates a text prompt that is expanded, and is rejected if a run is in progress.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            images: Vec::new(),
            streaming_behavior: None,
            expand: true,
            source: InputSource::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputSource {
    /// A user at the terminal.
    #[default]
    Interactive,
    /// An RPC client.
    Rpc,
    Extension,
    Cli,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptOutcome {
    /// A run has started.
    Started,
    /// The prompt is queued, or deferred until the session has settled.
    Queued,
    /// A command or a hook handled it.
    Handled,
}
