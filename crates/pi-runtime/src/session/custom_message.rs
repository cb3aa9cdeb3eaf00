//! Messages and entries added by extensions and embedding programs.

use std::sync::Arc;

use pi_agent::AgentEvent;
use pi_ai::{AgentMessage, ImageContent, InputBlock, MessageContent};
use pi_session::{CustomEntry, Entry, EntryId, SessionError};
use serde_json::Value;

use super::AgentSession;
use super::prompt::{InputSource, Prompt, PromptError, PromptOutcome};
use super::queue::Delivery;
use super::state::Deferred;
use crate::event::SessionEvent;
use crate::hooks::CustomMessageDraft;

/// When an extension's message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomDelivery {
    /// With the next turn.
    Steer,
    /// When the run would end.
    FollowUp,
    /// With the next prompt.
    NextTurn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CustomMessageOptions {
    /// Whether to call the model. If unset, the message joins the current run but starts none.
    pub trigger_turn: Option<bool>,
    pub deliver_as: Option<CustomDelivery>,
}

impl AgentSession {
    /// Adds a message. It joins the current run, starts one, waits for the next prompt or the end
    /// of the turn, or is only appended.
    pub async fn send_custom_message(
        &self,
        draft: CustomMessageDraft,
        sending: CustomMessageOptions,
    ) -> Result<PromptOutcome, PromptError> {
        let message = self.custom_message(draft);
        if sending.deliver_as == Some(CustomDelivery::NextTurn) {
            self.state().next_turn.push(message);
            return Ok(PromptOutcome::Queued);
        }
        if self.is_streaming() {
            match (sending.trigger_turn, sending.deliver_as) {
                (Some(false), _) => self.state().pending_custom.push(message),
                (_, Some(CustomDelivery::FollowUp)) => self.0.agent.follow_up(message),
                _ => self.0.agent.steer(message),
            }
            return Ok(PromptOutcome::Queued);
        }
        if sending.trigger_turn != Some(true) {
            self.append_custom(message).await?;
            return Ok(PromptOutcome::Handled);
        }
        if self.state().run.settling {
            self.state().deferred.push(Deferred::Message(message));
            return Ok(PromptOutcome::Queued);
        }
        self.load_context()?;
        let claim = self.claim_run().ok_or(PromptError::Busy)?;
        self.spawn_run(claim, self.with_system_update(message));
        Ok(PromptOutcome::Started)
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
        let entry = self.transcript().append(CustomEntry {
            custom_type: custom_type.to_owned(),
            data,
        })?;
        let published = Arc::clone(&entry);
        self.publish(SessionEvent::EntryAppended { entry: published })
            .await;
        Ok(entry)
    }

    /// Sets the session's name; an empty name removes it.
    pub async fn set_session_name(&self, name: &str) -> Result<(), SessionError> {
        self.transcript().set_name(name)?;
        let name = self.session_name();
        self.publish_with_hooks(SessionEvent::SessionInfoChanged { name })
            .await;
        Ok(())
    }

    /// Sets the label of an entry; `None` removes it.
    pub fn set_label(&self, target: &EntryId, label: Option<&str>) -> Result<(), SessionError> {
        self.transcript().set_label(target, label)?;
        Ok(())
    }

    async fn append_custom(&self, message: AgentMessage) -> Result<(), SessionError> {
        self.transcript().append_message(message.clone())?;
        let message = Arc::new(message);
        self.extend_context(Arc::clone(&message));
        self.publish_step(AgentEvent::MessageStart {
            message: Arc::clone(&message),
        })
        .await;
        self.publish_step(AgentEvent::MessageEnd { message }).await;
        Ok(())
    }

    /// Appends the messages that waited for the end of the turn.
    pub(super) async fn flush_custom_messages(&self) {
        let pending = std::mem::take(&mut self.state().pending_custom);
        for message in pending {
            if let Err(error) = self.append_custom(message).await {
                self.report("message", None, &error);
            }
        }
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
