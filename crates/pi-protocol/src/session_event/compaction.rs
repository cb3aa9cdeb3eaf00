//! Why a context was compacted, and what came of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::EntryId;
use crate::json::present;
use crate::usage::Usage;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CompactionReason {
    Manual,
    /// The context exceeds the threshold.
    Threshold,
    /// The context was too large for the model.
    Overflow,
}

impl CompactionReason {
    /// Returns the reason as used in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
        }
    }
}

/// Purpose of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "source", rename_all = "camelCase")]
pub enum SummarySource {
    Compaction {
        reason: CompactionReason,
    },
    /// Summary of a branch that was left.
    BranchSummary,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompactionOutcome {
    pub summary: String,
    /// The first entry that stays in the context.
    pub first_kept_entry_id: Option<EntryId>,
    /// Context tokens before.
    pub tokens_before: u64,
    /// Estimated context tokens after.
    pub estimated_tokens_after: u64,
    /// Tokens used to write the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Data of the extension that wrote the summary.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub details: Option<Value>,
}
