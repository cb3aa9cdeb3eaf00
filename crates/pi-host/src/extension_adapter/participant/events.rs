//! Forwards events and changes of the selection to extensions.

use std::sync::atomic::Ordering;

use futures_util::future::BoxFuture;
use pi_extensions::events::{
    AgentEnded, AgentSettled, AgentStarted, MessageStart, MessageUpdate, ModelSelect,
    SessionInfoChanged, ThinkingLevelSelect, ToolExecutionEnd, ToolExecutionStart,
    ToolExecutionUpdate, TurnStart,
};
use pi_protocol::{AgentEvent, AgentMessage, SessionEvent, ThinkingLevel};

use super::ExtensionParticipant;
use crate::participants::{EventHook, ModelSelected, ModelSource};

impl EventHook for ExtensionParticipant {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match event {
                SessionEvent::Agent(step) => self.handle_step(step).await,
                SessionEvent::AgentEnd { messages, .. } => {
                    self.extensions.emit(None, || AgentEnded { messages }).await;
                }
                SessionEvent::AgentSettled { aborted } => {
                    let aborted = *aborted;
                    self.extensions
                        .emit(None, || AgentSettled { aborted })
                        .await;
                }
                SessionEvent::SessionInfoChanged { name } => {
                    let name = name.as_deref();
                    self.extensions
                        .emit(None, || SessionInfoChanged { name })
                        .await;
                }
                _ => {}
            }
        })
    }

    fn model_selected(&self, selected: ModelSelected) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let event = || ModelSelect {
                model: selected.model,
                previous_model: selected.previous,
                source: match selected.source {
                    ModelSource::Set => "set",
                    ModelSource::Cycle => "cycle",
                    ModelSource::Restore => "restore",
                },
            };
            self.extensions.emit(None, event).await;
        })
    }

    fn thinking_level_selected(
        &self,
        level: ThinkingLevel,
        previous: ThinkingLevel,
    ) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let event = || ThinkingLevelSelect {
                level: level.as_str(),
                previous_level: previous.as_str(),
            };
            self.extensions.emit(None, event).await;
        })
    }
}

impl ExtensionParticipant {
    async fn handle_step(&self, step: &AgentEvent) {
        match step {
            AgentEvent::AgentStart => {
                self.turn.store(0, Ordering::Relaxed);
                self.extensions.emit(None, || AgentStarted {}).await;
            }
            AgentEvent::TurnStart => {
                let event = || TurnStart {
                    turn_index: self.turn.load(Ordering::Relaxed),
                    timestamp: self.extensions.now_ms(),
                };
                self.extensions.emit(None, event).await;
            }
            AgentEvent::TurnEnd { .. } => {
                self.turn.fetch_add(1, Ordering::Relaxed);
            }
            AgentEvent::MessageStart { message } => {
                self.extensions
                    .emit(None, || MessageStart { message })
                    .await;
            }
            AgentEvent::MessageUpdate {
                live: Some(message),
                assistant_message_event,
                ..
            } => {
                let event = || MessageUpdate {
                    message: AgentMessage::from(message.snapshot()),
                    assistant_message_event,
                };
                self.extensions.emit(None, event).await;
            }
            AgentEvent::ToolExecutionStart { .. } => {
                self.extensions
                    .emit(None, || ToolExecutionStart(step))
                    .await;
            }
            AgentEvent::ToolExecutionUpdate { .. } => {
                self.extensions
                    .emit(None, || ToolExecutionUpdate(step))
                    .await;
            }
            AgentEvent::ToolExecutionEnd { .. } => {
                self.extensions.emit(None, || ToolExecutionEnd(step)).await;
            }
            // The ends of messages and turns have their own hooks.
            _ => {}
        }
    }
}
