//! Messages and entries added by extensions and embedding programs.

use pi_core::{CustomInput, CustomMessageOptions, Input, InputSource, Prompt, PromptOutcome};
use pi_protocol::{Delivery, ImageContent, InputBlock, MessageContent};

use super::AgentSession;
use super::prompt::{PromptError, prompt_result};
use crate::participants::CustomMessageDraft;

impl AgentSession {
    /// Adds a message. It joins the current run, starts one, waits for the next prompt or the end
    /// of the turn, or is only appended.
    pub async fn send_custom_message(
        &self,
        draft: CustomMessageDraft,
        sending: CustomMessageOptions,
    ) -> Result<PromptOutcome, PromptError> {
        let message = self.intake().custom_message(draft);
        let input = CustomInput {
            message,
            options: sending,
        };
        let input = Input::SendCustom(input);
        let mut reply = pi_core::submit(self, input).reply().await;
        prompt_result(&mut reply)
    }

    /// Sends a message as the user; always calls the model.
    pub async fn send_user_message(
        &self,
        content: MessageContent,
        deliver_as: Option<Delivery>,
        expand: bool,
    ) -> Result<PromptOutcome, PromptError> {
        let (text, images) = split(content);
        self.prompt(Prompt {
            text,
            images,
            streaming_behavior: deliver_as,
            expand,
            source: InputSource::Extension,
        })
        .await
    }
}

fn split(content: MessageContent) -> (String, Vec<ImageContent>) {
    let blocks = match content {
        MessageContent::Text(text) => return (text, Vec::new()),
        MessageContent::Blocks(blocks) => blocks,
    };
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for block in blocks {
        match block {
            InputBlock::Text(text) => texts.push(text.text),
            InputBlock::Image(image) => images.push(image),
            InputBlock::Unknown(_) => {}
        }
    }
    (texts.join("\n"), images)
}
