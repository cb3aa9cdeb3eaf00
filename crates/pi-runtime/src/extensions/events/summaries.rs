//! Events about compaction and moves in the session tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use pi_protocol::{AgentMessage, Usage};
use pi_session::Entry;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::results::lenient;
use super::{EventResult, events, parse};

events! {
    BeforeCompact<'_> => "session_before_compact" -> CompactResult;
    CompactionDone<'_> => "session_compact";
    CompactionFailure<'_> => "session_compact_failed";
    BeforeTree<'_> => "session_before_tree" -> TreeResult;
    TreeNavigated<'_> => "session_tree";
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BeforeCompact<'a> {
    pub(crate) preparation: CompactionPreparation<'a>,
    pub(crate) branch_entries: Vec<Arc<Entry>>,
    pub(crate) custom_instructions: Option<&'a str>,
    pub(crate) reason: &'static str,
    pub(crate) will_retry: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompactionPreparation<'a> {
    pub(crate) first_kept_entry_id: String,
    pub(crate) messages_to_summarize: Vec<&'a AgentMessage>,
    pub(crate) turn_prefix_messages: Vec<&'a AgentMessage>,
    pub(crate) is_split_turn: bool,
    pub(crate) tokens_before: u64,
    pub(crate) previous_summary: Option<&'a str>,
    pub(crate) file_ops: FileLists<'a>,
    pub(crate) settings: SummarySettings,
}

/// The files that the summarized conversation touched.
#[derive(Serialize)]
pub(crate) struct FileLists<'a> {
    pub(crate) read: &'a BTreeSet<String>,
    pub(crate) written: &'a BTreeSet<String>,
    pub(crate) edited: &'a BTreeSet<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SummarySettings {
    pub(crate) enabled: bool,
    pub(crate) reserve_tokens: u64,
    pub(crate) keep_recent_tokens: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompactionDone<'a> {
    pub(crate) compaction_entry: &'a Arc<Entry>,
    pub(crate) from_extension: bool,
    pub(crate) reason: &'static str,
    pub(crate) will_retry: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompactionFailure<'a> {
    pub(crate) reason: &'static str,
    pub(crate) error_message: Option<&'a str>,
    pub(crate) aborted: bool,
    pub(crate) from_extension: bool,
}

#[derive(Serialize)]
pub(crate) struct BeforeTree<'a> {
    pub(crate) preparation: TreePreparation<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TreePreparation<'a> {
    pub(crate) target_id: String,
    pub(crate) old_leaf_id: Option<String>,
    pub(crate) common_ancestor_id: Option<String>,
    pub(crate) entries_to_summarize: &'a [Arc<Entry>],
    pub(crate) user_wants_summary: bool,
    pub(crate) custom_instructions: Option<&'a str>,
    pub(crate) replace_instructions: bool,
    pub(crate) label: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TreeNavigated<'a> {
    pub(crate) new_leaf_id: Option<String>,
    pub(crate) old_leaf_id: Option<String>,
    pub(crate) summary_entry: Option<&'a Arc<Entry>>,
    pub(crate) from_extension: Option<bool>,
}

/// Whether to cancel a compaction, or its summary.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct CompactResult {
    #[serde(deserialize_with = "lenient")]
    pub(crate) cancel: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) compaction: Option<CompactionData>,
}

/// A compaction summary that an extension wrote.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CompactionData {
    pub(crate) summary: String,
    pub(crate) first_kept_entry_id: Option<String>,
    pub(crate) tokens_before: Option<u64>,
    pub(crate) details: Option<Value>,
    pub(crate) usage: Option<Usage>,
}

/// Changes of a move in the tree.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TreeResult {
    pub(crate) cancel: bool,
    pub(crate) summary: Option<SummaryData>,
    pub(crate) custom_instructions: Option<String>,
    pub(crate) replace_instructions: Option<bool>,
    pub(crate) label: Option<String>,
}

/// A branch summary that an extension wrote.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct SummaryData {
    pub(crate) summary: String,
    pub(crate) details: Option<Value>,
    pub(crate) usage: Option<Usage>,
}

impl EventResult for CompactResult {
    fn from_json(value: Value) -> Option<Self> {
        parse(value)
    }
}

impl EventResult for TreeResult {
    fn from_json(value: Value) -> Option<Self> {
        parse(value)
    }
}
