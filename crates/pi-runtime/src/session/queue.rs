//! Queued messages: steering for the next turn, follow-ups for the point where the run would end.
//!
//! The agent holds the messages; the session holds their texts, so users can see and take them
//! back.

use pi_agent::QueueMode;
use pi_config::{ConfigScope, SettingsError};
use pi_protocol::{AgentMessage, ImageContent, InputBlock, MessageContent, UserMessage};
use serde::{Deserialize, Serialize};

use super::prompt::{InputSource, PromptError, PromptOutcome};
use super::{AgentSession, preferences};
use crate::event::SessionEvent;

/// When a queued message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Delivery {
    /// With the next turn.
    Steer,
    /// When the run would end.
    FollowUp,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedTexts {
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
}

/// Held while a message is added to a queue. Its text is published before the agent has the
/// message, and a run that is about to end waits for it.
pub(super) struct EnqueueGuard(AgentSession);

impl EnqueueGuard {
    fn open(session: &AgentSession) -> Self {
        session.state().enqueuing += 1;
        Self(session.clone())
    }

    /// Returns a guard only during a run.
    pub(super) fn open_in_run(session: &AgentSession) -> Option<Self> {
        let mut state = session.state();
        if !state.run.active {
            return None;
        }
        state.enqueuing += 1;
        drop(state);
        Some(Self(session.clone()))
    }
}

impl Drop for EnqueueGuard {
    fn drop(&mut self) {
        self.0.state().enqueuing -= 1;
        self.0.0.busy.send_modify(|_| {});
    }
}

impl AgentSession {
    /// Queues a message for the next turn; if the session is idle, for the next run. Skills and
    /// templates are expanded.
    pub async fn steer(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        source: InputSource,
    ) -> Result<PromptOutcome, PromptError> {
        self.queue_input(text, images, Delivery::Steer, source)
            .await
    }

    /// Like [`AgentSession::steer`], but queues the message for the point where the run would end.
    pub async fn follow_up(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        source: InputSource,
    ) -> Result<PromptOutcome, PromptError> {
        self.queue_input(text, images, Delivery::FollowUp, source)
            .await
    }

    async fn queue_input(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        delivery: Delivery,
        source: InputSource,
    ) -> Result<PromptOutcome, PromptError> {
        if let Some(name) = self.command_of(text) {
            return Err(PromptError::CommandNotQueueable {
                name: name.to_owned(),
            });
        }
        let input = self.run_input_hook(text.to_owned(), images, source, Some(delivery));
        let Some((text, images)) = input.await else {
            return Ok(PromptOutcome::Handled);
        };
        let text = self.expand(text);
        let guard = EnqueueGuard::open(self);
        self.enqueue(guard, text, images, delivery).await;
        Ok(PromptOutcome::Queued)
    }

    /// Queues a message that is already expanded.
    pub(super) async fn enqueue(
        &self,
        guard: EnqueueGuard,
        text: String,
        images: Vec<ImageContent>,
        delivery: Delivery,
    ) {
        let message = self.user_message(&text, images);
        {
            let mut state = self.state();
            match delivery {
                Delivery::Steer => state.steering.push(text),
                Delivery::FollowUp => state.follow_ups.push(text),
            }
        }
        self.publish_queue().await;
        match delivery {
            Delivery::Steer => self.0.agent.steer(message),
            Delivery::FollowUp => self.0.agent.follow_up(message),
        }
        drop(guard);
    }

    /// Waits until no message is being added to a queue.
    pub(super) async fn wait_for_enqueues(&self) {
        let mut busy = self.0.busy.subscribe();
        let over = busy.wait_for(|_| self.state().enqueuing == 0);
        if over.await.is_err() {
            tracing::debug!("session dropped while waiting for queued messages");
        }
    }

    pub(super) fn user_message(&self, text: &str, images: Vec<ImageContent>) -> AgentMessage {
        let images = images.into_iter().map(InputBlock::Image);
        let blocks = std::iter::once(InputBlock::text(text)).chain(images);
        AgentMessage::from(UserMessage {
            content: MessageContent::Blocks(blocks.collect()),
            timestamp: self.0.env.now_ms(),
            ..UserMessage::default()
        })
    }

    /// Empties the queues and returns their texts.
    pub async fn clear_queue(&self) -> QueuedTexts {
        let texts = {
            let mut state = self.state();
            QueuedTexts {
                steering: std::mem::take(&mut state.steering),
                follow_up: std::mem::take(&mut state.follow_ups),
            }
        };
        self.0.agent.clear_queues();
        self.publish_queue().await;
        texts
    }

    pub fn queued_texts(&self) -> QueuedTexts {
        let state = self.state();
        QueuedTexts {
            steering: state.steering.clone(),
            follow_up: state.follow_ups.clone(),
        }
    }

    /// Returns the number of queued messages with a text.
    pub fn pending_message_count(&self) -> usize {
        let state = self.state();
        state.steering.len() + state.follow_ups.len()
    }

    /// Removes the text of a message that is being delivered.
    pub(super) async fn unqueue(&self, content: &MessageContent) {
        let text = concatenated(content);
        if text.is_empty() {
            return;
        }
        let was_queued = {
            let mut state = self.state();
            let state = &mut *state;
            [&mut state.steering, &mut state.follow_ups]
                .into_iter()
                .any(|texts| match texts.iter().position(|one| *one == text) {
                    Some(index) => {
                        texts.remove(index);
                        true
                    }
                    None => false,
                })
        };
        if was_queued {
            self.publish_queue().await;
        }
    }

    async fn publish_queue(&self) {
        let QueuedTexts {
            steering,
            follow_up,
        } = self.queued_texts();
        self.publish(SessionEvent::QueueUpdate {
            steering,
            follow_up,
        })
        .await;
    }

    pub fn steering_mode(&self) -> QueueMode {
        preferences::queue_mode(self.0.settings.settings().steering_mode())
    }

    pub fn follow_up_mode(&self) -> QueueMode {
        preferences::queue_mode(self.0.settings.settings().follow_up_mode())
    }

    /// Sets the steering mode and saves the setting.
    pub fn set_steering_mode(&self, mode: QueueMode) -> Result<(), SettingsError> {
        self.0.agent.set_steering_mode(mode);
        let mode = preferences::delivery_mode(mode);
        self.0.settings.update(ConfigScope::User, |settings| {
            settings.steering_mode = Some(mode);
        })
    }

    /// Sets the follow-up mode and saves the setting.
    pub fn set_follow_up_mode(&self, mode: QueueMode) -> Result<(), SettingsError> {
        self.0.agent.set_follow_up_mode(mode);
        let mode = preferences::delivery_mode(mode);
        self.0.settings.update(ConfigScope::User, |settings| {
            settings.follow_up_mode = Some(mode);
        })
    }
}

/// Returns the concatenated text of a message, without separators.
pub(super) fn concatenated(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => blocks.iter().filter_map(InputBlock::as_text).collect(),
    }
}
