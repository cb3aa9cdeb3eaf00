//! Plans the summary of a branch that is abandoned by tree navigation. As in [`crate::compaction`],
//! this is planning only: the abandoned entries, what of them fits into a request, and the entry
//! created from the response.

use std::collections::HashSet;
use std::sync::Arc;

use pi_protocol::{AgentMessage, Entry, EntryBody, EntryId, InputBlock, MessageContent, Model};
use pi_session::{BranchSummary, ContextEdits, EntrySource, ProjectedEntry};

use crate::compaction::SummaryAuthor;
use crate::compaction::files::TouchedFiles;
use crate::compaction::prompt::SummaryInstructions;
use crate::compaction::request::{Summarizer, Summary, SummaryInput, SummaryRequest};
use crate::estimate::message_tokens;

/// Context window of a model that does not declare one.
const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;

/// Fill level of the budget, in percent, below which a summary may still exceed it.
const ROOM_FOR_SUMMARY_PERCENT: u64 = 90;

/// Text before the summary of a branch.
const LEAD: &str = "The user explored another branch before returning to this point.\n\
    Summary of that branch:\n\n";

/// The entries abandoned by tree navigation.
#[derive(Debug, Clone, PartialEq)]
pub struct AbandonedBranch {
    /// The entries from below the common ancestor to the old leaf.
    pub entries: Vec<Arc<Entry>>,
    /// The last entry shared by both paths.
    pub common_ancestor_id: Option<EntryId>,
}

impl AbandonedBranch {
    /// Collects the entries that are abandoned when moving from a leaf to another entry.
    pub fn collect<Source: EntrySource>(
        source: &Source,
        old_leaf: Option<&EntryId>,
        target: &EntryId,
    ) -> Result<Self, Source::Error> {
        let old_path: Vec<&EntryId> = source.walk(old_leaf).map(|step| step.id).collect();
        let old_ids: HashSet<&EntryId> = old_path.iter().copied().collect();
        let common_ancestor_id = source
            .walk(Some(target))
            .map(|step| step.id)
            .find(|id| old_ids.contains(id));
        let left = old_path
            .into_iter()
            .take_while(|id| Some(*id) != common_ancestor_id);
        let entries: Result<Vec<_>, _> =
            left.filter_map(|id| source.entry(id).transpose()).collect();
        let mut entries = entries?;
        entries.reverse();
        Ok(Self {
            entries,
            common_ancestor_id: common_ancestor_id.cloned(),
        })
    }
}

/// The result of navigating to an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NavigationTarget {
    /// The new leaf, below which a summary is appended; `None` is the position before the first
    /// entry.
    pub leaf: Option<EntryId>,
    /// Text to put into the editor.
    pub editor_text: Option<String>,
}

impl NavigationTarget {
    /// Returns where navigating to an entry leads. User and extension messages can be edited and
    /// sent again, so the new leaf is their parent; any other entry becomes the leaf.
    pub fn of(target: &Entry) -> Self {
        let content = match &target.body {
            EntryBody::Message(AgentMessage::User(user)) => Some(&user.content),
            EntryBody::CustomMessage(custom) => Some(&custom.content),
            _ => None,
        };
        match content {
            Some(content) => Self {
                leaf: target.parent_id.clone(),
                editor_text: Some(concatenated(content)),
            },
            None => Self {
                leaf: Some(target.id.clone()),
                editor_text: None,
            },
        }
    }
}

fn concatenated(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => blocks.iter().filter_map(InputBlock::as_text).collect(),
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct BranchSummaryPlan {
    /// Files touched by the branch.
    pub files: TouchedFiles,
    /// Estimated tokens of the summarized messages.
    pub tokens: u64,
    entries: Vec<ProjectedEntry>,
}

impl BranchSummaryPlan {
    /// Default reserve for prompt and response.
    pub const DEFAULT_RESERVE_TOKENS: u64 = 16_384;

    /// Plans the summary of a branch: the newest entries that fit into the model's context window
    /// minus a reserve. Returns `None` if the branch has nothing to summarize.
    pub fn new(branch: &AbandonedBranch, model: &Model, reserve_tokens: u64) -> Option<Self> {
        let mut plan = Self {
            files: TouchedFiles::default(),
            tokens: 0,
            entries: Vec::new(),
        };
        for entry in &branch.entries {
            if let EntryBody::BranchSummary(earlier) = &entry.body {
                plan.files
                    .carry_over(earlier.details.as_ref(), earlier.from_hook);
            }
        }
        plan.take_newest(&branch.entries, token_budget(model, reserve_tokens));
        plan.entries.reverse();
        (!plan.entries.is_empty()).then_some(plan)
    }

    fn take_newest(&mut self, entries: &[Arc<Entry>], budget: u64) {
        let edits = ContextEdits::of(entries);
        for entry in entries.iter().rev() {
            let projected = edits.show(entry);
            let Some(message) = summarized_message(&projected) else {
                continue;
            };
            self.files.record_message(message);
            let tokens = message_tokens(message);
            let is_full = self.tokens.saturating_add(tokens) > budget;
            // A summary may exceed the budget because it covers everything before it.
            let is_summary = matches!(
                entry.body,
                EntryBody::Compaction(_) | EntryBody::BranchSummary(_)
            );
            let has_room =
                self.tokens.saturating_mul(100) < budget.saturating_mul(ROOM_FOR_SUMMARY_PERCENT);
            if !is_full || (is_summary && has_room) {
                self.tokens = self.tokens.saturating_add(tokens);
                self.entries.push(projected);
            }
            if is_full {
                break;
            }
        }
    }

    /// Returns the summarized messages in order.
    pub fn messages(&self) -> impl Iterator<Item = &AgentMessage> {
        self.entries.iter().filter_map(summarized_message)
    }

    pub fn request(
        &self,
        summarizer: &Summarizer<'_>,
        instructions: SummaryInstructions<'_>,
    ) -> SummaryRequest {
        let conversation = SummaryInput(self.messages().collect());
        SummaryRequest::branch(summarizer, &conversation, instructions)
    }

    /// Creates the summary to store with [`pi_session::Session::branch_with_summary`] below the
    /// [`NavigationTarget`]. A label set during navigation goes to that entry, or to the target if
    /// there is no summary.
    pub fn finish(&self, summary: &Summary) -> BranchSummary {
        let files = self.files.lists();
        BranchSummary {
            summary: format!("{LEAD}{}{}", summary.text, files.summary_suffix()),
            details: Some(files.details()),
            usage: Some(summary.usage.clone()),
            from_hook: Some(SummaryAuthor::Pi.from_hook()),
        }
    }
}

fn token_budget(model: &Model, reserve_tokens: u64) -> u64 {
    let window = match model.context_window {
        0 => DEFAULT_CONTEXT_WINDOW,
        window => window,
    };
    // A reserve as large as the window would leave nothing, so use half of the window.
    match window.saturating_sub(reserve_tokens) {
        0 => window / 2,
        budget => budget,
    }
}

/// Returns the message of an entry to include in the summary. Tool results are excluded: the calls
/// are sufficient.
fn summarized_message(entry: &ProjectedEntry) -> Option<&AgentMessage> {
    entry.messages().iter().find(|message| match message {
        AgentMessage::System(_) | AgentMessage::ToolResult(_) => false,
        AgentMessage::BashExecution(bash) => bash.exclude_from_context != Some(true),
        _ => true,
    })
}

#[cfg(test)]
mod tests;
