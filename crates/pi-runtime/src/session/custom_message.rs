//! Messages and entries added by extensions and embedding programs.

use std::sync::Arc;

use pi_core::{CustomInput, CustomMessageOptions, Input, InputSource, Prompt, PromptOutcome};
use pi_protocol::{
    AgentEvent, AgentMessage, CustomEntry, Delivery, Entry, EntryId, ImageContent, InputBlock,
    MessageContent, SessionEvent,
};
use pi_session::SessionError;
use serde_json::Value;

use super::AgentSession;
use super::prompt::PromptError;
use crate::participants::CustomMessageDraft;

impl AgentSession {
    /// Adds a message. It joins the current run, starts one, waits for the next prompt or the end
    /// of the turn, or is only appended.
    pub async fn send_custom_message(
        &self,
        draft: CustomMessageDraft,
        sending: CustomMessageOptions,
    ) -> Result<PromptOutcome, PromptError> {
        let message = self.custom_message(draft);
        let input = CustomInput {
            message,
            options: sending,
        };
        let input = Input::SendCustom(input);
        let mut reply = pi_core::submit(self, input).reply().await;
        Self::prompt_result(&mut reply)
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

    /// Stores extension state in the session.
    pub async fn append_custom_entry(
        &self,
        custom_type: &str,
        data: Option<Value>,
    ) -> Result<Arc<Entry>, SessionError> {
        let entry = CustomEntry {
            custom_type: custom_type.to_owned(),
            data,
        };
        let mut writer = self.writer().await;
        let entry = writer.write(|transcript| transcript.append(entry)).await?;
        drop(writer);
        let published = Arc::clone(&entry);
        self.publish(SessionEvent::EntryAppended { entry: published })
            .await;
        Ok(entry)
    }

    /// Sets the session's name; an empty name removes it.
    pub async fn set_session_name(&self, name: &str) -> Result<(), SessionError> {
        let name = name.to_owned();
        let mut writer = self.writer().await;
        writer
            .write(move |transcript| transcript.set_name(&name))
            .await?;
        drop(writer);
        let name = self.session_name();
        self.publish_with_hooks(SessionEvent::SessionInfoChanged { name })
            .await;
        Ok(())
    }

    /// Sets the label of an entry; `None` removes it. Blocking; extensions call it on their own thread.
    pub fn set_label(&self, target: &EntryId, label: Option<&str>) -> Result<(), SessionError> {
        self.transcript().set_label(target, label)?;
        self.log_label(target, label);
        Ok(())
    }

    pub(super) fn log_label(&self, target: &EntryId, label: Option<&str>) {
        let label = label.filter(|label| !label.is_empty());
        self.log_change(SessionEvent::LabelChanged {
            target_id: target.clone(),
            label: label.map(str::to_owned),
        });
    }

    /// Stores a message outside of a turn, and publishes it if it is one of an extension.
    pub(super) async fn append_message(&self, message: AgentMessage) -> Result<(), SessionError> {
        let message = Arc::new(message);
        let stored = Arc::clone(&message);
        let mut writer = self.writer().await;
        writer
            .write(move |transcript| transcript.append_message(&stored))
            .await?;
        drop(writer);
        if !matches!(*message, AgentMessage::Custom(_)) {
            return Ok(());
        }
        let start = AgentEvent::MessageStart {
            message: Arc::clone(&message),
        };
        self.publish(SessionEvent::Agent(start)).await;
        let end = AgentEvent::MessageEnd { message };
        self.publish(SessionEvent::Agent(end)).await;
        Ok(())
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
