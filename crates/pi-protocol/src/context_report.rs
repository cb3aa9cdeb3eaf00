//! What fills the context of a model, and what a compaction would do to it.

use serde::{Deserialize, Serialize};

use crate::EntryId;

/// What a part of the context consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ContextPart {
    /// The system prompt without context files.
    System,
    /// `AGENTS.md` and other context files.
    ContextFiles,
    /// Declarations of tools.
    Tools,
    /// Summaries of compactions and branches.
    Summaries,
    User,
    Assistant,
    ToolResults,
    /// Messages of extensions.
    Extensions,
}

impl ContextPart {
    pub const ALL: [Self; 8] = [
        Self::System,
        Self::ContextFiles,
        Self::Tools,
        Self::Summaries,
        Self::User,
        Self::Assistant,
        Self::ToolResults,
        Self::Extensions,
    ];

    pub const fn title(self) -> &'static str {
        match self {
            Self::System => "System prompt",
            Self::ContextFiles => "Context files",
            Self::Tools => "Tool declarations",
            Self::Summaries => "Summaries",
            Self::User => "Prompts",
            Self::Assistant => "Responses",
            Self::ToolResults => "Tool results",
            Self::Extensions => "Extensions",
        }
    }
}

/// Estimated tokens of the context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextReport {
    /// Parts that are not empty, in the order of a request.
    pub parts: Vec<ContextShare>,
    /// The largest entries, largest first.
    pub largest: Vec<ContextItem>,
    /// The sum of all parts. The usage that a provider reports may differ.
    pub estimated_tokens: u64,
    /// Zero if unknown.
    pub context_window: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextShare {
    pub part: ContextPart,
    pub tokens: u64,
}

/// An entry of the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextItem {
    pub entry_id: EntryId,
    pub part: ContextPart,
    pub tokens: u64,
    /// The name of the tool, or the start of the text, on one line.
    pub title: String,
}

/// What a compaction would summarize and keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionPreview {
    pub first_kept_entry_id: EntryId,
    /// Context size now, in tokens.
    pub tokens_before: u64,
    /// Estimated size after, with a summary of average length.
    pub estimated_tokens_after: u64,
    pub summarized_messages: usize,
    pub summarized_tokens: u64,
    pub kept_messages: usize,
    pub kept_tokens: u64,
    /// Whether a turn is cut, so that its start gets a separate summary.
    pub splits_turn: bool,
    /// Whether an earlier summary is updated.
    pub updates_summary: bool,
    /// Files that the summary names.
    pub read_files: Vec<String>,
    pub modified_files: Vec<String>,
    /// `provider/id` of the model that writes the summary.
    pub model: String,
    /// Estimated tokens of the requests for the summary.
    pub request_tokens: u64,
    /// Estimated cost of the summary, in US dollars.
    pub estimated_cost: f64,
}
