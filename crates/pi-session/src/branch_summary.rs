//! What is told of a branch when the user leaves it for another place in the tree.
//!
//! Planning only, as in [`crate::compaction`]: the entries that are left, what of them fits into a
//! request, and the entry that comes of the answer.

use std::collections::HashSet;
use std::sync::Arc;

use pi_ai::{AgentMessage, MessageContent, InputBlock, Model};

use crate::compaction::SummaryAuthor;
use crate::compaction::estimate::message_tokens;
use crate::compaction::files::FileOperations;
use crate::compaction::prompt::SummaryInstructions;
use crate::compaction::request::{Conversation, Summarizer, Summary, SummaryRequest};
use crate::context::{Edits, EntrySource, ProjectedEntry};
use crate::entry::{Entry, EntryBody, EntryId};
use crate::tree::BranchSummary;

/// The most tokens a branch summary may have.
const SUMMARY_TOKENS: u64 = 4096;

/// The window of a model that does not tell.
const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;

/// How much of the budget, in percent, may be full when a summary is still let in beyond it.
const ROOM_FOR_SUMMARY_PERCENT: u64 = 90;

/// What stands before the summary of a branch.
const LEAD: &str = "The user tried another direction before coming back to this point.\n\
    What happened there:\n\n";

/// The entries that a move in the tree leaves behind.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftBranch {
    /// The entries from below the common ancestor to the old leaf.
    pub entries: Vec<Arc<Entry>>,
    /// The last entry that both paths share.
    pub common_ancestor_id: Option<EntryId>,
}

impl LeftBranch {
    /// Collects the entries that going from a leaf to another entry leaves behind.
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

/// Where a move in the tree ends up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The new leaf, below which the summary goes; none is the place before the first entry.
    pub leaf: Option<EntryId>,
    /// What comes back into the editor.
    pub editor_text: Option<String>,
}

impl Landing {
    /// Returns where going to an entry ends up: what the user or an extension said can be said
    /// anew, so one lands before it; at anything else one lands on it.
    pub fn of(target: &Entry) -> Self {
        let said = match &target.body {
            EntryBody::Message(AgentMessage::User(user)) => Some(&user.content),
            EntryBody::CustomMessage(custom) => Some(&custom.content),
            _ => None,
        };
        match said {
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

/// What a branch summary would cover.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSummaryPlan {
    /// The files that the branch touched.
    pub files: FileOperations,
    /// The tokens of what is summarized.
    pub tokens: u64,
    entries: Vec<ProjectedEntry>,
}

impl BranchSummaryPlan {
    /// The room kept for prompt and answer where the settings say nothing else.
    pub const DEFAULT_RESERVE_TOKENS: u64 = 16_384;

    /// Plans the summary of a branch: the newest entries that fit the model's window less a reserve.
    /// Returns none where the branch has nothing to tell.
    pub fn new(branch: &LeftBranch, model: &Model, reserve_tokens: u64) -> Option<Self> {
        let mut plan = Self {
            files: FileOperations::default(),
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
        let edits = Edits::of(entries);
        for entry in entries.iter().rev() {
            let shown = edits.show(entry);
            let Some(message) = told(&shown) else {
                continue;
            };
            self.files.note_message(message);
            let tokens = message_tokens(message);
            let is_full = self.tokens.saturating_add(tokens) > budget;
            // A summary is worth more than its size: it stands for everything before it.
            let is_summary = matches!(
                entry.body,
                EntryBody::Compaction(_) | EntryBody::BranchSummary(_)
            );
            let has_room =
                self.tokens.saturating_mul(100) < budget.saturating_mul(ROOM_FOR_SUMMARY_PERCENT);
            if !is_full || (is_summary && has_room) {
                self.tokens = self.tokens.saturating_add(tokens);
                self.entries.push(shown);
            }
            if is_full {
                break;
            }
        }
    }

    /// Returns what is summarized, in order.
    pub fn messages(&self) -> impl Iterator<Item = &AgentMessage> {
        self.entries.iter().filter_map(told)
    }

    /// Returns the request for the summary.
    pub fn request(
        &self,
        summarizer: &Summarizer<'_>,
        instructions: SummaryInstructions<'_>,
    ) -> SummaryRequest {
        let conversation = Conversation(self.messages().collect());
        SummaryRequest::branch(summarizer, SUMMARY_TOKENS, &conversation, instructions)
    }

    /// Makes what is stored of the summary that was asked for, with
    /// [`crate::Session::branch_with_summary`] below the [`Landing`]. A label of the move goes to that
    /// entry, or to the target where there is no summary.
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
    // A reserve as large as the window would leave nothing: half of it is better than none.
    match window.saturating_sub(reserve_tokens) {
        0 => window / 2,
        budget => budget,
    }
}

/// Returns what an entry tells about its branch. Results are left out: the calls say enough.
fn told(entry: &ProjectedEntry) -> Option<&AgentMessage> {
    entry.messages().iter().find(|message| match message {
        AgentMessage::System(_) | AgentMessage::ToolResult(_) => false,
        AgentMessage::BashExecution(bash) => bash.exclude_from_context != Some(true),
        _ => true,
    })
}

#[cfg(test)]
mod tests;
