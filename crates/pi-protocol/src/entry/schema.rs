//! The JSON Schema of an entry: fields that all entries share, then the fields of its type.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{
    BranchSummaryEntry, CompactionEntry, ContextEditEntry, CustomEntry, CustomMessageEntry, Entry,
    LabelEntry, ModelChangeEntry, SessionInfoEntry, ThinkingLevelChangeEntry, UsageEntry,
};
use crate::app_message::AgentMessage;
use crate::id::EntryId;

/// One line of a session file after the header.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
struct EntryLine {
    id: EntryId,
    /// The preceding entry; null for a root.
    parent_id: Option<EntryId>,
    /// When it was appended, as ISO 8601 in UTC with milliseconds.
    timestamp: String,
    #[serde(flatten)]
    body: TypedBody,
}

#[derive(JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum TypedBody {
    /// A message of the conversation.
    Message {
        message: AgentMessage,
    },
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
}

impl JsonSchema for Entry {
    fn schema_name() -> Cow<'static, str> {
        "Entry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        EntryLine::json_schema(generator)
    }
}
