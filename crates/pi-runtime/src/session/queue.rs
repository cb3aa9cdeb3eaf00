//! What waits to be said: steering for the next turn, follow-ups for when the run would end.
//!
//! The agent holds the messages; the session holds their texts, for people to see and take back.

use pi_agent::QueueMode;
use pi_ai::{AgentMessage, Content, ImageContent, InputBlock, UserMessage};
use pi_config::{ConfigScope, SettingsError};
use serde::{Deserialize, Serialize};

use super::prompt::{InputSource, PromptRefused, Run};
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

/// The texts of queued messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedTexts {
    /// For the next turn.
    pub steering: Vec<String>,
    /// For when the run would end.
    pub follow_up: Vec<String>,
}

/// The way of a message into a queue. People are told of it before the agent has it, and a run that
/// is about to end waits for it.
pub(super) struct Entrance(AgentSession);

impl Entrance {
    fn open(session: &AgentSession) -> Self {
        session.live().enqueuing += 1;
        Self(session.clone())
    }

    /// Opens only while a run is under way.
    pub(super) fn open_in_run(session: &AgentSession) -> Option<Self> {
        let mut live = session.live();
        if !live.run.active {
            return None;
        }
        live.enqueuing += 1;
        drop(live);
        Some(Self(session.clone()))
    }
}

impl Drop for Entrance {
    fn drop(&mut self) {
        self.0.live().enqueuing -= 1;
        self.0.0.busy.send_modify(|_| {});
    }
}

impl AgentSession {
    /// Queues a message for the next turn; it waits for the next run where the session is idle.
    /// Skills and templates are expanded.
    pub async fn steer(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        source: InputSource,
    ) -> Result<Run, PromptRefused> {
        self.queue_input(text, images, Delivery::Steer, source)
            .await
    }

    /// Queues a message for when the run would end, as [`AgentSession::steer`] does.
    pub async fn follow_up(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        source: InputSource,
    ) -> Result<Run, PromptRefused> {
        self.queue_input(text, images, Delivery::FollowUp, source)
            .await
    }

    async fn queue_input(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        delivery: Delivery,
        source: InputSource,
    ) -> Result<Run, PromptRefused> {
        if let Some(name) = self.command_of(text) {
            return Err(PromptRefused::CommandNotQueueable {
                name: name.to_owned(),
            });
        }
        let input = self.ask_input_hook(text.to_owned(), images, source, Some(delivery));
        let Some((text, images)) = input.await else {
            return Ok(Run::Handled);
        };
        let text = self.expand(text);
        let entrance = Entrance::open(self);
        self.enqueue(entrance, text, images, delivery).await;
        Ok(Run::Queued)
    }

    /// Queues a message that is fully expanded.
    pub(super) async fn enqueue(
        &self,
        entrance: Entrance,
        text: String,
        images: Vec<ImageContent>,
        delivery: Delivery,
    ) {
        let message = self.user_message(&text, images);
        {
            let mut live = self.live();
            match delivery {
                Delivery::Steer => live.steering.push(text),
                Delivery::FollowUp => live.follow_ups.push(text),
            }
        }
        self.publish_queue().await;
        match delivery {
            Delivery::Steer => self.0.agent.steer(message),
            Delivery::FollowUp => self.0.agent.follow_up(message),
        }
        drop(entrance);
    }

    /// Waits until nothing is on its way into a queue.
    pub(super) async fn wait_for_entrances(&self) {
        let mut busy = self.0.busy.subscribe();
        let over = busy.wait_for(|_| self.live().enqueuing == 0);
        if over.await.is_err() {
            tracing::debug!("the session is gone while waited for");
        }
    }

    pub(super) fn user_message(&self, text: &str, images: Vec<ImageContent>) -> AgentMessage {
        let images = images.into_iter().map(InputBlock::Image);
        let blocks = std::iter::once(InputBlock::text(text)).chain(images);
        AgentMessage::from(UserMessage {
            content: Content::Blocks(blocks.collect()),
            timestamp: self.0.env.now_ms(),
            ..UserMessage::default()
        })
    }

    /// Takes back everything that waits.
    pub async fn clear_queue(&self) -> QueuedTexts {
        let texts = {
            let mut live = self.live();
            QueuedTexts {
                steering: std::mem::take(&mut live.steering),
                follow_up: std::mem::take(&mut live.follow_ups),
            }
        };
        self.0.agent.clear_queues();
        self.publish_queue().await;
        texts
    }

    /// Returns the texts that wait.
    pub fn queued_texts(&self) -> QueuedTexts {
        let live = self.live();
        QueuedTexts {
            steering: live.steering.clone(),
            follow_up: live.follow_ups.clone(),
        }
    }

    /// Returns how many messages with a text wait.
    pub fn pending_message_count(&self) -> usize {
        let live = self.live();
        live.steering.len() + live.follow_ups.len()
    }

    /// Takes the text of a message that is being delivered off the list.
    pub(super) async fn unqueue(&self, content: &Content) {
        let text = concatenated(content);
        if text.is_empty() {
            return;
        }
        let was_queued = {
            let mut live = self.live();
            let live = &mut *live;
            [&mut live.steering, &mut live.follow_ups]
                .into_iter()
                .any(|texts| match texts.iter().position(|one| *one == text) {
                    Some(place) => {
                        texts.remove(place);
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

    /// Returns how steering is delivered.
    pub fn steering_mode(&self) -> QueueMode {
        preferences::queue_mode(self.0.settings.settings().steering_mode())
    }

    /// Returns how follow-ups are delivered.
    pub fn follow_up_mode(&self) -> QueueMode {
        preferences::queue_mode(self.0.settings.settings().follow_up_mode())
    }

    /// Changes how steering is delivered; the user's settings remember it.
    pub fn set_steering_mode(&self, mode: QueueMode) -> Result<(), SettingsError> {
        self.0.agent.set_steering_mode(mode);
        let mode = preferences::delivery_mode(mode);
        self.0.settings.update(ConfigScope::User, |settings| {
            settings.steering_mode = Some(mode);
        })
    }

    /// Changes how follow-ups are delivered; the user's settings remember it.
    pub fn set_follow_up_mode(&self, mode: QueueMode) -> Result<(), SettingsError> {
        self.0.agent.set_follow_up_mode(mode);
        let mode = preferences::delivery_mode(mode);
        self.0.settings.update(ConfigScope::User, |settings| {
            settings.follow_up_mode = Some(mode);
        })
    }
}

/// Returns the text of a message without anything between its parts.
pub(super) fn concatenated(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => blocks.iter().filter_map(InputBlock::as_text).collect(),
    }
}
