//! Session entries and their JSON form. Key order and the omission of absent keys are part of the
//! file format: `type`, `id`, `parentId`, `timestamp`, then the fields of the type. Unknown fields
//! and types from newer versions survive a round trip. Parsing is in [`read`].

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::app_message::AgentMessage;
use crate::content::MessageContent;
use crate::id::EntryId;
use crate::json::{JsonObject, lenient_u64, null_as_default, present};
use crate::message::SystemMessage;
use crate::usage::Usage;

mod kind;
mod read;
#[cfg(feature = "schema")]
mod schema;

pub use kind::{EntryKind, MessageRole};

/// One line of a session file after the header.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub id: EntryId,
    /// The preceding entry; `None` for a root.
    pub parent_id: Option<EntryId>,
    /// When it was appended, as ISO 8601 in UTC with milliseconds.
    pub timestamp: String,
    pub body: EntryBody,
    /// Fields of a known type that this version does not know.
    pub extra: JsonObject,
}

/// The type-specific content of an entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum EntryBody {
    /// `message`: a message of the conversation.
    #[serde(serialize_with = "serialize_message")]
    Message(AgentMessage),
    /// `model_change`: the model used from here on.
    ModelChange(ModelChangeEntry),
    /// `thinking_level_change`: the reasoning effort used from here on.
    ThinkingLevelChange(ThinkingLevelChangeEntry),
    /// `usage`: tokens used outside of assistant messages.
    Usage(UsageEntry),
    /// `compaction`: a summary that replaces the preceding context.
    Compaction(CompactionEntry),
    /// `branch_summary`: a summary of an abandoned branch.
    BranchSummary(BranchSummaryEntry),
    /// `context_edit`: omits or replaces an earlier entry for the model.
    ContextEdit(ContextEditEntry),
    /// `custom`: extension state.
    Custom(CustomEntry),
    /// `custom_message`: a message added by an extension.
    CustomMessage(CustomMessageEntry),
    /// `label`: a bookmark on an entry.
    Label(LabelEntry),
    /// `session_info`: the session name.
    SessionInfo(SessionInfoEntry),
    /// An unknown type, or a known type with an unexpected shape; kept unchanged.
    Unknown(UnknownEntry),
}

impl EntryBody {
    /// Returns the `type` value used in the file.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Message(_) => "message",
            Self::ModelChange(_) => "model_change",
            Self::ThinkingLevelChange(_) => "thinking_level_change",
            Self::Usage(_) => "usage",
            Self::Compaction(_) => "compaction",
            Self::BranchSummary(_) => "branch_summary",
            Self::ContextEdit(_) => "context_edit",
            Self::Custom(_) => "custom",
            Self::CustomMessage(_) => "custom_message",
            Self::Label(_) => "label",
            Self::SessionInfo(_) => "session_info",
            Self::Unknown(entry) => &entry.type_name,
        }
    }

    /// Returns the message of a `message` entry.
    pub fn as_message(&self) -> Option<&AgentMessage> {
        match self {
            Self::Message(message) => Some(message),
            _ => None,
        }
    }
}

/// Selects the model used from here on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelChangeEntry {
    pub provider: String,
    /// The model ID at that provider.
    pub model_id: String,
}

/// Selects the reasoning effort used from here on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThinkingLevelChangeEntry {
    /// Level name; newer versions may define more levels.
    pub thinking_level: String,
}

/// Tokens used outside of assistant messages; included in the totals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageEntry {
    /// What the tokens were used for, such as `cache_warm`.
    pub kind: String,
    pub provider: String,
    pub model: String,
    pub usage: Usage,
    /// A note for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A summary that replaces everything before [`CompactionEntry::first_kept_entry_id`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompactionEntry {
    pub summary: String,
    /// The first entry kept in the context; the compaction's own ID keeps none. Files of the first
    /// format may lack it, which also keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<EntryId>,
    /// Context size before the compaction, in tokens.
    #[serde(default, deserialize_with = "lenient_u64")]
    pub tokens_before: u64,
    /// Data from the author of the summary, such as the files read and changed.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
    /// Tokens spent on the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether an extension wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
    /// The full system prompt and tool set at this point; absent in old files.
    #[serde(
        default,
        with = "tagged_system_message",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::Message>"))]
    pub system_message: Option<SystemMessage>,
}

/// A summary of an abandoned branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryEntry {
    /// The leaf of the abandoned branch, or [`BranchSummaryEntry::FROM_ROOT`].
    pub from_id: EntryId,
    /// An empty summary is left out of the context.
    #[serde(default, deserialize_with = "null_as_default")]
    pub summary: String,
    /// Data from the author of the summary, such as the files read and changed.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
    /// Tokens spent on the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether an extension wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
}

impl BranchSummaryEntry {
    /// The `from_id` used if nothing was appended on the abandoned branch.
    pub const FROM_ROOT: &'static str = "root";
}

/// Omits an earlier entry from the model's context, or replaces its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextEditEntry {
    pub target_id: EntryId,
    /// `None` omits the target.
    pub replacement: Option<ContextReplacement>,
}

/// The content that an edited entry contributes to the context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextReplacement {
    /// Text, or content blocks that fit the target's role.
    pub content: Value,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// Extension state; not visible to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CustomEntry {
    /// The extension's name for this kind of entry.
    pub custom_type: String,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Value>,
}

/// A message added by an extension; the model sees it as a user message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CustomMessageEntry {
    /// The extension's name for this kind of message; empty if it gave none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub custom_type: String,
    #[serde(default)]
    pub content: MessageContent,
    /// Whether the user sees it.
    #[serde(default, deserialize_with = "null_as_default")]
    pub display: bool,
    /// Data for the extension.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
}

/// A bookmark on an entry; the last label of a target is the current one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LabelEntry {
    pub target_id: EntryId,
    /// `None` or an empty label clears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The session name; the last one in the file is the current one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionInfoEntry {
    /// `None` or an empty name clears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An entry that does not match any type this version knows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnknownEntry {
    /// The `type` value used in the file.
    #[serde(skip)]
    pub type_name: String,
    /// All fields except `type`, `id`, `parentId` and `timestamp`.
    #[serde(flatten)]
    pub fields: JsonObject,
}

macro_rules! body_from {
    ($($variant:ident($body:ty)),+ $(,)?) => {
        $(impl From<$body> for EntryBody {
            fn from(body: $body) -> Self {
                Self::$variant(body)
            }
        })+
    };
}

body_from!(
    Message(AgentMessage),
    ModelChange(ModelChangeEntry),
    ThinkingLevelChange(ThinkingLevelChangeEntry),
    Usage(UsageEntry),
    Compaction(CompactionEntry),
    BranchSummary(BranchSummaryEntry),
    ContextEdit(ContextEditEntry),
    Custom(CustomEntry),
    CustomMessage(CustomMessageEntry),
    Label(LabelEntry),
    SessionInfo(SessionInfoEntry),
    Unknown(UnknownEntry),
);

impl Entry {
    /// Returns the timestamp in milliseconds since the epoch, if it is valid.
    pub fn timestamp_ms(&self) -> Option<i64> {
        crate::timestamp::parse_iso(&self.timestamp)
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct EntryLine<'entry> {
            #[serde(rename = "type")]
            type_name: &'entry str,
            id: &'entry EntryId,
            parent_id: Option<&'entry EntryId>,
            timestamp: &'entry str,
            #[serde(flatten)]
            body: &'entry EntryBody,
            #[serde(flatten)]
            extra: &'entry JsonObject,
        }
        EntryLine {
            type_name: self.body.type_name(),
            id: &self.id,
            parent_id: self.parent_id.as_ref(),
            timestamp: &self.timestamp,
            body: &self.body,
            extra: &self.extra,
        }
        .serialize(serializer)
    }
}

fn serialize_message<S: Serializer>(
    message: &AgentMessage,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct("Message", 1)?;
    fields.serialize_field("message", message)?;
    fields.end()
}

/// The system message of a compaction is tagged with its role, like any other message.
mod tagged_system_message {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::message::{Message, SystemMessage};

    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub(super) fn serialize<S: Serializer>(
        message: &Option<SystemMessage>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        message.clone().map(Message::from).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SystemMessage>, D::Error> {
        match Option::<Message>::deserialize(deserializer)? {
            Some(Message::System(message)) => Ok(Some(Arc::unwrap_or_clone(message))),
            Some(Message::User(_) | Message::Assistant(_) | Message::ToolResult(_)) => {
                Err(serde::de::Error::custom("expected a system message"))
            }
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
