//! What sort of entry a line holds, as far as the index knows without reading its body.

use pi_ai::AgentMessage;

use crate::entry::EntryBody;

/// The type of an entry; for messages, also whose they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// A message of the conversation.
    Message(MessageRole),
    /// A change of the model.
    ModelChange,
    /// A change of the thinking level.
    ThinkingLevelChange,
    /// Tokens used outside of assistant messages.
    Usage,
    /// A summary that stands for what came before.
    Compaction,
    /// A summary of a branch that was left.
    BranchSummary,
    /// An edit of what the model sees.
    ContextEdit,
    /// State of an extension.
    Custom,
    /// A message of an extension.
    CustomMessage,
    Label,
    SessionInfo,
    /// A type this version does not know.
    Unknown,
}

/// Whose a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageRole {
    /// Instructions and tool declarations.
    System,
    User,
    Assistant,
    ToolResult,
    /// A shell command of the user.
    BashExecution,
    /// An extension's; only old files store it as a message.
    Custom,
    /// A role this version does not know.
    Unknown,
}

impl EntryKind {
    /// The kind of an assistant's message.
    pub(crate) const ASSISTANT: Self = Self::Message(MessageRole::Assistant);

    /// Returns whether an entry of this kind makes a session worth a file: once something has been said to
    /// a model, listeners hear of it, and a process that dies must not take it along.
    pub(crate) fn is_said(self) -> bool {
        let Self::Message(role) = self else {
            return false;
        };
        match role {
            MessageRole::System
            | MessageRole::User
            | MessageRole::Assistant
            | MessageRole::ToolResult => true,
            MessageRole::BashExecution | MessageRole::Custom | MessageRole::Unknown => false,
        }
    }

    pub(crate) fn from_names(type_name: &str, role: Option<&str>) -> Self {
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
    /// Returns the kind of this body.
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
        // Summaries are entries of their own, not messages, in every file pi writes.
        _ => MessageRole::Unknown,
    }
}
