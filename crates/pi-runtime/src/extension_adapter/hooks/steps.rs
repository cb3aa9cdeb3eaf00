//! Forwards run events to extensions.

use std::sync::atomic::Ordering;

use pi_core::AgentEvent;
use pi_extensions::events::{
    AgentStarted, MessageStart, MessageUpdate, ToolExecutionEnd, ToolExecutionStart,
    ToolExecutionUpdate, TurnStart,
};
use pi_protocol::AgentMessage;

use super::ExtensionHooks;

impl ExtensionHooks {
    pub(super) async fn handle_step(&self, step: &AgentEvent) {
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
                message,
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
