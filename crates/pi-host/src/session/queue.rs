//! Queued messages: steering for the next turn, follow-ups for the point where the run would end.

use pi_config::SettingsError;
use pi_core::{Input, InputSource, PromptOutcome, Reply};
use pi_protocol::{
    AgentMessage, ConfigScope, Delivery, ImageContent, InputBlock, MessageContent, QueueMode,
    QueuedTexts, SessionEvent, UserMessage,
};

use super::prompt::{PromptError, prompt_result};
use super::{AgentSession, pending};

/// Messages that wait for their turn.
#[derive(Clone, Copy)]
pub struct SessionQueue<'session> {
    session: &'session AgentSession,
}

impl AgentSession {
    pub fn queue(&self) -> SessionQueue<'_> {
        SessionQueue { session: self }
    }
}

impl SessionQueue<'_> {
    /// Notifies the listeners of the queue. It is read when the event is numbered, so that the last event is never
    /// outdated.
    pub(super) async fn publish(self) {
        let event = || {
            let QueuedTexts {
                steering,
                follow_up,
            } = self.texts();
            SessionEvent::QueueUpdate {
                steering,
                follow_up,
            }
        };
        pending::keep_or_report(self.session);
        self.session.0.publish_with(event).await;
    }

    /// Queues a message for the next turn; if the session is idle, for the next run. Skills and
    /// templates are expanded.
    pub async fn steer(
        self,
        text: &str,
        images: Vec<ImageContent>,
        source: InputSource,
    ) -> Result<PromptOutcome, PromptError> {
        self.queue_input(text, images, Delivery::Steer, source)
            .await
    }

    /// Like [`SessionQueue::steer`], but queues the message for the point where the run would end.
    pub async fn follow_up(
        self,
        text: &str,
        images: Vec<ImageContent>,
        source: InputSource,
    ) -> Result<PromptOutcome, PromptError> {
        self.queue_input(text, images, Delivery::FollowUp, source)
            .await
    }

    async fn queue_input(
        self,
        text: &str,
        images: Vec<ImageContent>,
        delivery: Delivery,
        source: InputSource,
    ) -> Result<PromptOutcome, PromptError> {
        if let Some(name) = self.session.intake().command_of(text) {
            return Err(PromptError::CommandNotQueueable {
                name: name.to_owned(),
            });
        }
        let input =
            self.session
                .intake()
                .run_input_hook(text.to_owned(), images, source, Some(delivery));
        let Some((text, images)) = input.await else {
            return Ok(PromptOutcome::Handled);
        };
        let text = self.session.intake().expand(text);
        let message = self.user_message(&text, images);
        let input = Input::Enqueue {
            message,
            text,
            delivery,
        };
        let mut reply = pi_core::submit(self.session, input).reply().await;
        pending::keep_or_report(self.session);
        prompt_result(&mut reply)
    }

    pub(super) fn user_message(self, text: &str, images: Vec<ImageContent>) -> AgentMessage {
        let images = images.into_iter().map(InputBlock::Image);
        let blocks = std::iter::once(InputBlock::text(text)).chain(images);
        AgentMessage::from(UserMessage {
            content: MessageContent::Blocks(blocks.collect()),
            timestamp: self.session.0.env.now_ms(),
            ..UserMessage::default()
        })
    }

    /// Empties the queues and returns the texts of the messages that will not be delivered.
    pub async fn clear(self) -> QueuedTexts {
        match pi_core::submit(self.session, Input::ClearQueue)
            .reply()
            .await
            .reply
        {
            Reply::Cleared(texts) => texts,
            _ => QueuedTexts::default(),
        }
    }

    pub fn texts(self) -> QueuedTexts {
        self.session.0.machine().queue().texts()
    }

    /// Returns the number of queued messages that are shown.
    pub fn message_count(self) -> usize {
        let texts = self.texts();
        texts.steering.len() + texts.follow_up.len()
    }

    pub fn steering_mode(self) -> QueueMode {
        self.session.0.settings.settings().steering_mode()
    }

    pub fn follow_up_mode(self) -> QueueMode {
        self.session.0.settings.settings().follow_up_mode()
    }

    /// Sets the steering mode and saves the setting.
    pub fn set_steering_mode(self, mode: QueueMode) -> Result<(), SettingsError> {
        self.session
            .0
            .settings
            .update(ConfigScope::User, |settings| {
                settings.steering_mode = Some(mode);
            })?;
        self.log_queue_modes();
        Ok(())
    }

    /// Sets the follow-up mode and saves the setting.
    pub fn set_follow_up_mode(self, mode: QueueMode) -> Result<(), SettingsError> {
        self.session
            .0
            .settings
            .update(ConfigScope::User, |settings| {
                settings.follow_up_mode = Some(mode);
            })?;
        self.log_queue_modes();
        Ok(())
    }

    fn log_queue_modes(self) {
        self.session.0.log_change(SessionEvent::QueueModesChanged {
            steering_mode: self.steering_mode(),
            follow_up_mode: self.follow_up_mode(),
        });
    }
}

/// Returns the concatenated text of a message, without separators.
pub(super) fn concatenated(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => blocks.iter().filter_map(InputBlock::as_text).collect(),
    }
}
