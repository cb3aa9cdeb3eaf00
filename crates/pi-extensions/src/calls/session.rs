//! Calls about the history of the current session.

use std::path::PathBuf;
use std::sync::Arc;

use pi_protocol::{AgentMessage, Entry, SessionHeader, SharedMessage};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::group::calls;
use super::replacement::Replacement;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionInfo {
    pub(crate) id: String,
    pub(crate) file: Option<PathBuf>,
    pub(crate) directory: PathBuf,
    pub(crate) leaf_id: Option<String>,
}

/// The model's context of a session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionContext {
    pub(crate) messages: Vec<SharedMessage>,
    pub(crate) thinking_level: &'static str,
    pub(crate) model: Option<ContextModelInfo>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextModelInfo {
    pub(crate) provider: String,
    pub(crate) model_id: String,
}

/// An entry and the messages the model sees for it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryMessages {
    pub(crate) source_entry: Arc<Entry>,
    pub(crate) messages: Vec<AgentMessage>,
}

/// A custom entry to append.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AppendedEntry {
    pub(crate) custom_type: String,
    /// Null is stored; only absent data is not.
    #[serde(default, deserialize_with = "present")]
    pub(crate) data: Option<Value>,
}

fn present<'de, Source: Deserializer<'de>>(source: Source) -> Result<Option<Value>, Source::Error> {
    Value::deserialize(source).map(Some)
}

calls! {
    trait SessionCalls {
        call "session.name" => name() -> Option<String>;
        call "session.setName" => set_name(name: String);
        call "session.info" => info() -> SessionInfo;
        call "session.header" => header() -> SessionHeader;
        call "session.entry" => entry(id: Option<String>) -> Option<Arc<Entry>>;
        call "session.entries" => entries() -> Vec<Arc<Entry>>;
        call "session.entryCount" => entry_count() -> usize;
        /// Returns the entries from the root to an entry, by default to the leaf.
        call "session.branch" => branch(from as "fromId": Option<String>) -> Vec<Arc<Entry>>;
        call "session.label" => label(id: Option<String>) -> Option<String>;
        call "session.setLabel" => set_label(entry as "entryId": String, label: Option<String>);
        call "session.appendEntry" => append_entry(entry as "...": AppendedEntry);
        call "session.context" => context() -> SessionContext;
        /// Returns the model's context, entry by entry.
        call "session.projection" => projection() -> Vec<EntryMessages>;
        /// Moves to another entry of the tree.
        request "session.navigate" => navigate(
            target as "targetId": String,
            summarize: bool = false,
            instructions as "customInstructions": Option<String>,
            replace_instructions as "replaceInstructions": bool = false,
            label: Option<String>,
        ) -> Replacement;
    }
}
