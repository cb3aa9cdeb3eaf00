//! Plans compactions: what is summarized, what is kept, and how the summaries are combined. This
//! module neither calls a model nor writes files. A plan returns the requests; the caller sends
//! them and passes the summaries back to get the entry to append. Planning is deterministic.

pub(crate) mod chunks;
pub(crate) mod cut_point;
pub(crate) mod files;
mod preview;
pub(crate) mod prompt;
pub(crate) mod request;
pub(crate) mod serialize;
pub(crate) mod settings;
mod split_turn;
pub(crate) mod trigger;

use pi_protocol::{AgentMessage, CompactionEntry, EntryBody, EntryId, Usage};
use pi_session::{ProjectedEntry, Projection};
use serde_json::Value;
use thiserror::Error;

use crate::estimate::context_tokens;
use files::TouchedFiles;
use request::{Summarizer, Summary, SummaryError, SummaryInput, SummaryPurpose, SummaryRequest};
use settings::CompactionSettings;

#[derive(Debug, Clone, PartialEq)]
pub struct CompactionPlan {
    pub first_kept_entry_id: EntryId,
    /// Context size before the compaction, in tokens.
    pub tokens_before: u64,
    /// The summary of an earlier compaction, to be updated.
    pub previous_summary: Option<String>,
    /// Files that the summarized conversation touched, including those of the previous summary.
    pub files: TouchedFiles,
    pub settings: CompactionSettings,
    history: Vec<ProjectedEntry>,
    turn_prefix: Vec<ProjectedEntry>,
}

/// Messages to summarize that were selected by the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageSelection {
    /// Messages before the cut.
    pub history: Vec<AgentMessage>,
    /// The start of the turn that the cut splits; empty if it splits none.
    pub turn_prefix: Vec<AgentMessage>,
    /// The summary to update.
    pub previous_summary: Option<String>,
    pub first_kept_entry_id: EntryId,
    /// Context size in tokens.
    pub tokens_before: u64,
    pub settings: CompactionSettings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NothingToCompact {
    #[error("nothing to compact: the session was just compacted")]
    AlreadyCompacted,
    #[error("nothing to compact: the conversation is too short")]
    TooSmall,
}

/// A finished compaction, ready to be appended to the session.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionResult {
    /// The summary with the file lists.
    pub summary: String,
    /// `None` keeps nothing.
    pub first_kept_entry_id: Option<EntryId>,
    /// Context size before the compaction, in tokens.
    pub tokens_before: u64,
    /// Data from the author of the summary.
    pub details: Option<Value>,
    /// Usage of the summary requests.
    pub usage: Option<Usage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryAuthor {
    /// A model called by pi.
    Pi,
    Extension,
}

impl SummaryAuthor {
    /// Returns the `fromHook` field of a summary entry.
    pub fn from_hook(self) -> bool {
        self == Self::Extension
    }
}

impl CompactionPlan {
    pub fn new(
        projection: &Projection,
        settings: &CompactionSettings,
    ) -> Result<Self, NothingToCompact> {
        let last = projection.last_entry();
        if last.is_some_and(|entry| matches!(entry.body, EntryBody::Compaction(_))) {
            return Err(NothingToCompact::AlreadyCompacted);
        }
        let entries = projection.entries();
        // A compaction that was edited out of the context has no summary to update.
        let previous = projection.compaction().filter(|_| {
            entries
                .first()
                .is_some_and(|entry| !entry.messages().is_empty())
        });
        let start = usize::from(previous.is_some());
        let cut = cut_point::find(entries, start, settings.keep_recent_tokens);
        let history_end = cut.split_turn_start.unwrap_or(cut.first_kept);
        let part = |from: usize, to: usize| entries.get(from..to).unwrap_or_default().to_vec();
        let plan = Self {
            first_kept_entry_id: match entries.get(cut.first_kept) {
                Some(entry) => entry.entry().id.clone(),
                None => return Err(NothingToCompact::TooSmall),
            },
            tokens_before: context_tokens(projection).tokens,
            previous_summary: previous.map(|(_, compaction)| compaction.summary.clone()),
            files: TouchedFiles::default(),
            settings: *settings,
            history: part(start, history_end),
            turn_prefix: part(history_end, cut.first_kept),
        };
        plan.with_files(previous.map(|(_, compaction)| compaction))
    }

    /// Plans the compaction of messages selected by the caller.
    pub fn from_messages(selection: MessageSelection) -> Self {
        let mut files = TouchedFiles::default();
        let messages = selection.history.iter().chain(&selection.turn_prefix);
        messages.for_each(|message| files.record_message(message));
        let entries = |messages: Vec<AgentMessage>| {
            let messages = messages.into_iter();
            messages.map(ProjectedEntry::from_message).collect()
        };
        Self {
            first_kept_entry_id: selection.first_kept_entry_id,
            tokens_before: selection.tokens_before,
            previous_summary: selection.previous_summary,
            files,
            settings: selection.settings,
            history: entries(selection.history),
            turn_prefix: entries(selection.turn_prefix),
        }
    }

    fn with_files(mut self, previous: Option<&CompactionEntry>) -> Result<Self, NothingToCompact> {
        let mut files = TouchedFiles::default();
        if let Some(previous) = previous {
            files.carry_over(previous.details.as_ref(), previous.from_hook);
        }
        let mut messages = self
            .history_messages()
            .chain(self.turn_prefix_messages())
            .peekable();
        if messages.peek().is_none() {
            return Err(NothingToCompact::TooSmall);
        }
        messages.for_each(|message| files.record_message(message));
        self.files = files;
        Ok(self)
    }

    /// Returns the messages before the cut, excluding the turn that the cut splits.
    pub fn history_messages(&self) -> impl Iterator<Item = &AgentMessage> {
        conversation(&self.history)
    }

    /// Returns the start of the turn that the cut splits; empty if it splits none.
    pub fn turn_prefix_messages(&self) -> impl Iterator<Item = &AgentMessage> {
        conversation(&self.turn_prefix)
    }

    pub fn is_split_turn(&self) -> bool {
        !self.turn_prefix.is_empty()
    }

    /// Returns the summary requests in order; they are independent of each other.
    pub fn requests(
        &self,
        summarizer: &Summarizer<'_>,
        focus: Option<&str>,
    ) -> Vec<SummaryRequest> {
        let history = SummaryInput(self.history_messages().collect());
        let prefix = SummaryInput(self.turn_prefix_messages().collect());
        let previous = self
            .previous_summary
            .as_deref()
            .filter(|text| !text.is_empty());
        let focus = focus.filter(|text| !text.is_empty());
        let mut requests = Vec::new();
        if !history.0.is_empty() {
            requests.push(SummaryRequest::history(
                summarizer, &history, previous, focus,
            ));
        }
        if !prefix.0.is_empty() {
            requests.push(SummaryRequest::turn_prefix(summarizer, &prefix, focus));
        }
        requests
    }

    /// Combines the requested summaries into the result.
    pub fn finish(&self, summaries: &[Summary]) -> Result<CompactionResult, SummaryError> {
        let find = |purpose| summaries.iter().find(|summary| summary.purpose == purpose);
        let history = find(SummaryPurpose::History);
        let prefix = find(SummaryPurpose::TurnPrefix);
        let needs_history = self.history_messages().next().is_some();
        let needs_prefix = self.turn_prefix_messages().next().is_some();
        if (needs_history && history.is_none()) || (needs_prefix && prefix.is_none()) {
            return Err(SummaryError::Missing);
        }
        let history_text = history
            .map(|summary| summary.text.as_str())
            .or(self.previous_summary.as_deref());
        let mut summary = match (prefix, history_text) {
            (Some(prefix), history) => split_turn::joined_summary(history, &prefix.text),
            (None, Some(history)) => history.to_owned(),
            (None, None) => return Err(SummaryError::Missing),
        };
        let files = self.files.lists();
        summary.push_str(&files.summary_suffix());
        let usages = [history, prefix]
            .into_iter()
            .flatten()
            .map(|summary| &summary.usage);
        Ok(CompactionResult {
            summary,
            first_kept_entry_id: Some(self.first_kept_entry_id.clone()),
            tokens_before: self.tokens_before,
            details: Some(files.details()),
            usage: usages.cloned().reduce(|first, second| first.plus(&second)),
        })
    }
}

impl CompactionResult {
    /// Creates the entry to append to the projected session. It includes the current prompt and
    /// tools, since the system messages before it leave the context.
    pub fn into_entry(
        self,
        projection: &Projection,
        author: SummaryAuthor,
        now_ms: i64,
    ) -> CompactionEntry {
        let mut system_message = projection.system_message();
        if let Some(system) = &mut system_message {
            system.timestamp = now_ms;
        }
        CompactionEntry {
            summary: self.summary,
            first_kept_entry_id: self.first_kept_entry_id,
            tokens_before: self.tokens_before,
            details: self.details,
            usage: self.usage,
            from_hook: Some(author.from_hook()),
            system_message,
        }
    }
}

/// Returns the messages to summarize. System messages are not part of the conversation, and older
/// compactions are already summarized.
fn conversation(entries: &[ProjectedEntry]) -> impl Iterator<Item = &AgentMessage> {
    entries
        .iter()
        .filter(|entry| !matches!(entry.entry().body, EntryBody::Compaction(_)))
        .flat_map(ProjectedEntry::messages)
        .filter(|message| !matches!(message, AgentMessage::System(_)))
}

#[cfg(test)]
mod tests;
