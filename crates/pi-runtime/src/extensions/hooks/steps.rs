//! Forwards run events to extensions.

use std::sync::atomic::Ordering;

use pi_protocol::{AgentEvent, AgentMessage};
use serde_json::json;

use super::ExtensionHooks;

impl ExtensionHooks {
    pub(super) async fn handle_step(&self, step: &AgentEvent) {
        match step {
            AgentEvent::AgentStart => {
                self.turn.store(0, Ordering::Relaxed);
                self.emit("agent_start", || json!({})).await;
            }
            AgentEvent::TurnStart => {
                let index = self.turn.load(Ordering::Relaxed);
                let now = self.shared.bridge.env.now_ms();
                let event = || json!({ "turnIndex": index, "timestamp": now });
                self.emit("turn_start", event).await;
            }
            AgentEvent::TurnEnd { .. } => {
                self.turn.fetch_add(1, Ordering::Relaxed);
            }
            AgentEvent::MessageStart { message } => {
                self.emit("message_start", || json!({ "message": message }))
                    .await;
            }
            AgentEvent::MessageUpdate {
                live: Some(message),
                assistant_message_event,
                ..
            } => {
                self.emit("message_update", || {
                    json!({
                        "message": AgentMessage::from(message.snapshot()),
                        "assistantMessageEvent": assistant_message_event,
                    })
                })
                .await;
            }
            AgentEvent::ToolExecutionStart { .. } => {
                self.emit("tool_execution_start", || json!(step)).await;
            }
            AgentEvent::ToolExecutionUpdate { .. } => {
                self.emit("tool_execution_update", || json!(step)).await;
            }
            AgentEvent::ToolExecutionEnd { .. } => {
                self.emit("tool_execution_end", || json!(step)).await;
            }
            // The ends of messages and turns have their own hooks.
            _ => {}
        }
    }
}
