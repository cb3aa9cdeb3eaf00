//! Entry kinds, as far as they are known without reading entry bodies.

use serde::{Deserialize, Serialize};

use super::EntryBody;
use crate::app_message::AgentMessage;

/// The type of an entry; for messages, also the role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryKind {
    Message(MessageRole),
    ModelChange,
    ThinkingLevelChange,
    /// Tokens used outside of assistant messages.
    Usage,
    /// A summary that replaces the preceding context.
    Compaction,
    /// A summary of an abandoned branch.
    BranchSummary,
    /// A change to what the model sees of an earlier entry.
    ContextEdit,
    /// Extension state.
    Custom,
    /// A message from an extension.
    CustomMessage,
    Label,
    SessionInfo,
    /// A type that this version does not know.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageRole {
    /// System prompt and tool declarations.
    System,
    User,
    Assistant,
    ToolResult,
    /// A shell command that the user ran.
    BashExecution,
    /// An extension message; only old files store it as a message entry.
    Custom,
    /// A role that this version does not know.
    Unknown,
}

impl EntryKind {
    pub const ASSISTANT: Self = Self::Message(MessageRole::Assistant);

    /// Returns the kind by the names in a file: the `type`, and the `role` of a message.
    pub fn from_names(type_name: &str, role: Option<&str>) -> Self {
        match type_name {
            "message" => Self::Message(MessageRole::from_name(role.unwrap_or_default())),
            "model_change" => Self::ModelChange,
            "thinking_level_change" => Self::ThinkingLevelChange,
            "usage" => Self::Usage,
            "compaction" => Self::Compaction,
            "branch_summary" => Self::BranchSummary,
            "context_edit" => Self::ContextEdit,
            "custom" => Self::Custom,
            "custom_message" => Self::CustomMessage,
            "label" => Self::Label,
            "session_info" => Self::SessionInfo,
            _ => Self::Unknown,
        }
    }
}

impl MessageRole {
    fn from_name(name: &str) -> Self {
        match name {
            "system" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::ToolResult,
            "bashExecution" => Self::BashExecution,
            "custom" => Self::Custom,
            _ => Self::Unknown,
        }
    }
}

impl EntryBody {
    pub fn kind(&self) -> EntryKind {
        match self {
            Self::Message(message) => EntryKind::Message(role_of(message)),
            Self::ModelChange(_) => EntryKind::ModelChange,
            Self::ThinkingLevelChange(_) => EntryKind::ThinkingLevelChange,
            Self::Usage(_) => EntryKind::Usage,
            Self::Compaction(_) => EntryKind::Compaction,
            Self::BranchSummary(_) => EntryKind::BranchSummary,
            Self::ContextEdit(_) => EntryKind::ContextEdit,
            Self::Custom(_) => EntryKind::Custom,
            Self::CustomMessage(_) => EntryKind::CustomMessage,
            Self::Label(_) => EntryKind::Label,
            Self::SessionInfo(_) => EntryKind::SessionInfo,
            Self::Unknown(_) => EntryKind::Unknown,
        }
    }
}

fn role_of(message: &AgentMessage) -> MessageRole {
    match message {
        AgentMessage::System(_) => MessageRole::System,
        AgentMessage::User(_) => MessageRole::User,
        AgentMessage::Assistant(_) => MessageRole::Assistant,
        AgentMessage::ToolResult(_) => MessageRole::ToolResult,
        AgentMessage::BashExecution(_) => MessageRole::BashExecution,
        AgentMessage::Custom(_) => MessageRole::Custom,
        // In every file pi writes, summaries are separate entry types, not messages.
        _ => MessageRole::Unknown,
    }
}
