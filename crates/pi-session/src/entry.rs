//! The entries of a session and their JSON form.
//!
//! Key order and the omission of absent keys are the file format's: `type`, `id`, `parentId`,
//! `timestamp`, then the fields of the type. Fields and types of a newer pi survive a round trip. How
//! they are read is in [`read`]. Where entries live and how they hang together is the business of the store.

use pi_ai::json::{JsonObject, lenient_u64, null_as_default, present};
use pi_ai::{AgentMessage, MessageContent, SystemMessage, Usage};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

mod id;
mod read;

pub use id::EntryId;

/// One line of a session after its header.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub id: EntryId,
    /// The entry it follows; none for a root.
    pub parent_id: Option<EntryId>,
    /// When it was appended, as ISO 8601 in UTC with milliseconds.
    pub timestamp: String,
    pub body: EntryBody,
    /// Fields of a known type that this version does not know.
    pub extra: JsonObject,
}

/// What an entry holds, by its type.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum EntryBody {
    /// `message`: a message of the conversation.
    #[serde(serialize_with = "serialize_message")]
    Message(AgentMessage),
    /// `model_change`: the model answers from here on.
    ModelChange(ModelChangeEntry),
    /// `thinking_level_change`: the effort asked for from here on.
    ThinkingLevelChange(ThinkingLevelChangeEntry),
    /// `usage`: tokens used outside of assistant messages.
    Usage(UsageEntry),
    /// `compaction`: a summary that stands for what came before.
    Compaction(CompactionEntry),
    /// `branch_summary`: a summary of a branch that was left.
    BranchSummary(BranchSummaryEntry),
    /// `context_edit`: an earlier entry is left out or replaced for the model.
    ContextEdit(ContextEditEntry),
    /// `custom`: state of an extension.
    Custom(CustomEntry),
    /// `custom_message`: a message an extension put in.
    CustomMessage(CustomMessageEntry),
    /// `label`: a bookmark on an entry.
    Label(LabelEntry),
    /// `session_info`: the session's name.
    SessionInfo(SessionInfoEntry),
    /// A type this version does not know, or a known one of an unexpected shape; kept as it is.
    Unknown(UnknownEntry),
}

impl EntryBody {
    /// Returns the type as the file spells it.
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

/// The model answers from here on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelChangeEntry {
    pub provider: String,
    /// The model's id at that provider.
    pub model_id: String,
}

/// The effort asked for from here on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingLevelChangeEntry {
    /// The level's name; a newer pi may know more of them.
    pub thinking_level: String,
}

/// Tokens used outside of assistant messages; they count in the totals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageEntry {
    /// What they were used for, such as `cache_warm`.
    pub kind: String,
    /// The provider that was asked.
    pub provider: String,
    /// The model that was asked.
    pub model: String,
    pub usage: Usage,
    /// A remark for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A summary that stands for everything before [`CompactionEntry::first_kept_entry_id`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEntry {
    pub summary: String,
    /// The first entry that stays in the context; the compaction's own id keeps none. A file of the
    /// first format may lack it, which also keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<EntryId>,
    /// The size of the context before.
    #[serde(default, deserialize_with = "lenient_u64")]
    pub tokens_before: u64,
    /// Data of whoever wrote the summary, such as the files read and changed.
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
    /// The whole system prompt and tool set at this point; old files have none.
    #[serde(
        default,
        with = "tagged_system_message",
        skip_serializing_if = "Option::is_none"
    )]
    pub system_message: Option<SystemMessage>,
}

/// A summary of a branch that was left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryEntry {
    /// The leaf of the branch that was left, or [`BranchSummaryEntry::FROM_ROOT`].
    pub from_id: EntryId,
    /// The summary; an empty one stays out of the context.
    #[serde(default, deserialize_with = "null_as_default")]
    pub summary: String,
    /// Data of whoever wrote the summary, such as the files read and changed.
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
    /// What `from_id` says when nothing had been appended on the branch that was left.
    pub const FROM_ROOT: &'static str = "root";
}

/// An earlier entry is left out of the model's context, or says something else there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextEditEntry {
    /// The entry that is edited.
    pub target_id: EntryId,
    /// What it says instead; none leaves it out.
    pub replacement: Option<ContextReplacement>,
}

/// The content an edited entry shows to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextReplacement {
    /// Text, or blocks of the target's role.
    pub content: Value,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// State of an extension; the model does not see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// A message an extension put in; the model sees it as the user's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessageEntry {
    /// The extension's name for this kind of message.
    pub custom_type: String,
    /// What the model sees.
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

/// A bookmark on an entry; the last one of a target counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelEntry {
    /// The entry that is marked.
    pub target_id: EntryId,
    /// The label; none or an empty one clears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The session's name; the last one in the file counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionInfoEntry {
    /// The name; none or an empty one clears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An entry this version cannot read as any type it knows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnknownEntry {
    /// The type as the file spells it.
    #[serde(skip)]
    pub type_name: String,
    /// Everything beside `type`, `id`, `parentId` and `timestamp`.
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
    /// Returns the timestamp in milliseconds since the epoch, if it is one.
    pub fn timestamp_ms(&self) -> Option<i64> {
        crate::moment::parse_iso(&self.timestamp)
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Line<'entry> {
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
        Line {
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

/// The system message of a compaction carries its role like any other message.
mod tagged_system_message {
    use std::sync::Arc;

    use pi_ai::{Message, SystemMessage};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde hands the field over as it stands")]
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
