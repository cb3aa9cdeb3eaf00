//! The compatibility wire: events as clients of the TypeScript pi expect them.
//!
//! RPC, JSON mode and extensions use it. It omits events that the TypeScript pi does not have, because its clients
//! compare complete streams. There are three exceptions. Approvals only occur if the embedding program has a policy that
//! asks, and then a client must be able to answer. Warnings only occur in situations that the TypeScript pi does not
//! detect, and a client must be able to show them. Sub-agents only occur if the user turned them on. Everything else serializes events as they are.

use serde::Serialize;

use super::SessionEvent;
use crate::agent_event::AgentEvent;
use crate::assistant_event::AssistantMessageEvent;
use crate::message::AssistantMessage;
use crate::usage::Usage;

/// How much of a growing message an update repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpdateFormat {
    /// Only the new part.
    #[default]
    Delta,
    /// The new part, and the message so far as `message` and `partial`, for older clients.
    Full,
}

impl SessionEvent {
    /// Serializes the event as one line of JSON for clients of the TypeScript pi, without the line feed; `None` if they
    /// do not know the event.
    pub fn to_compatible_json(&self, form: UpdateFormat) -> serde_json::Result<Option<String>> {
        if !self.is_compatible() {
            return Ok(None);
        }
        let line = match (self, form) {
            (
                Self::Agent(AgentEvent::MessageUpdate {
                    live: Some(live),
                    assistant_message_event,
                    ..
                }),
                UpdateFormat::Full,
            ) => {
                let message = live.snapshot();
                let update = FullUpdate {
                    r#type: "message_update",
                    usage: &message.usage,
                    message: Assistant::of(&message),
                    assistant_message_event: FullAssistantEvent {
                        event: assistant_message_event,
                        partial: Assistant::of(&message),
                    },
                };
                crate::json::to_string(&update)
            }
            _ => crate::json::to_string(self),
        };
        line.map(Some)
    }

    /// Whether clients of the TypeScript pi may receive the event. It sends dialogs as `extension_ui_request` lines.
    fn is_compatible(&self) -> bool {
        !matches!(
            self,
            Self::ModelChanged { .. }
                | Self::LabelChanged { .. }
                | Self::LeafMoved { .. }
                | Self::ActiveToolsChanged { .. }
                | Self::QueueModesChanged { .. }
                | Self::BashExecutionStart { .. }
                | Self::BashExecutionEnd { .. }
                | Self::DialogRequested { .. }
                | Self::DialogResolved { .. }
                | Self::McpStatus { .. }
                | Self::ObserversChanged { .. }
                | Self::SessionReplaced { .. }
        )
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FullUpdate<'event> {
    r#type: &'static str,
    usage: &'event Usage,
    message: Assistant<'event>,
    assistant_message_event: FullAssistantEvent<'event>,
}

#[derive(Serialize)]
struct FullAssistantEvent<'event> {
    #[serde(flatten)]
    event: &'event AssistantMessageEvent,
    partial: Assistant<'event>,
}

/// An assistant message with its role.
#[derive(Serialize)]
struct Assistant<'event> {
    role: &'static str,
    #[serde(flatten)]
    message: &'event AssistantMessage,
}

impl<'event> Assistant<'event> {
    fn of(message: &'event AssistantMessage) -> Self {
        Self {
            role: "assistant",
            message,
        }
    }
}
