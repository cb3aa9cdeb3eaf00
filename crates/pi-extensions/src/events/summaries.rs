//! Events about compaction and moves in the session tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use pi_protocol::{AgentMessage, Entry, Usage};
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
pub struct BeforeCompact<'a> {
    pub preparation: CompactionPreparation<'a>,
    pub branch_entries: Vec<Arc<Entry>>,
    pub custom_instructions: Option<&'a str>,
    pub reason: &'static str,
    pub will_retry: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionPreparation<'a> {
    pub first_kept_entry_id: String,
    pub messages_to_summarize: Vec<&'a AgentMessage>,
    pub turn_prefix_messages: Vec<&'a AgentMessage>,
    pub is_split_turn: bool,
    pub tokens_before: u64,
    pub previous_summary: Option<&'a str>,
    pub file_ops: FileLists<'a>,
    pub settings: SummarySettings,
}

/// The files that the summarized conversation touched.
#[derive(Serialize)]
pub struct FileLists<'a> {
    pub read: &'a BTreeSet<String>,
    pub written: &'a BTreeSet<String>,
    pub edited: &'a BTreeSet<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SummarySettings {
    pub enabled: bool,
    pub reserve_tokens: u64,
    pub keep_recent_tokens: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionDone<'a> {
    pub compaction_entry: &'a Arc<Entry>,
    pub from_extension: bool,
    pub reason: &'static str,
    pub will_retry: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionFailure<'a> {
    pub reason: &'static str,
    pub error_message: Option<&'a str>,
    pub aborted: bool,
    pub from_extension: bool,
}

#[derive(Serialize)]
pub struct BeforeTree<'a> {
    pub preparation: TreePreparation<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreePreparation<'a> {
    pub target_id: String,
    pub old_leaf_id: Option<String>,
    pub common_ancestor_id: Option<String>,
    pub entries_to_summarize: &'a [Arc<Entry>],
    pub user_wants_summary: bool,
    pub custom_instructions: Option<&'a str>,
    pub replace_instructions: bool,
    pub label: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeNavigated<'a> {
    pub new_leaf_id: Option<String>,
    pub old_leaf_id: Option<String>,
    pub summary_entry: Option<&'a Arc<Entry>>,
    pub from_extension: Option<bool>,
}

/// Whether to cancel a compaction, or its summary.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct CompactResult {
    #[serde(deserialize_with = "lenient")]
    pub cancel: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub compaction: Option<CompactionData>,
}

/// A compaction summary that an extension wrote.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionData {
    pub summary: String,
    pub first_kept_entry_id: Option<String>,
    pub tokens_before: Option<u64>,
    pub details: Option<Value>,
    pub usage: Option<Usage>,
}

/// Changes of a move in the tree.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct TreeResult {
    pub cancel: bool,
    pub summary: Option<SummaryData>,
    pub custom_instructions: Option<String>,
    pub replace_instructions: Option<bool>,
    pub label: Option<String>,
}

/// A branch summary that an extension wrote.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct SummaryData {
    pub summary: String,
    pub details: Option<Value>,
    pub usage: Option<Usage>,
}

impl EventResult for CompactResult {
    fn from_json(value: Value) -> Option<Self> {
        parse(&value)
    }
}

impl EventResult for TreeResult {
    fn from_json(value: Value) -> Option<Self> {
        parse(&value)
    }
}
