//! Planning a compaction: what is summarized, what stays, and what becomes of the summaries.
//!
//! Nothing here asks a model or writes a file. A plan gives the requests; whoever asks brings the
//! summaries back and gets the result to append. Planning twice gives the same plan.

pub(crate) mod cut_point;
pub(crate) mod estimate;
pub(crate) mod files;
pub(crate) mod prompt;
pub(crate) mod request;
pub(crate) mod serialize;
pub(crate) mod settings;
mod split_turn;
pub(crate) mod trigger;

use pi_ai::json::JsonObject;
use pi_ai::{AgentMessage, Cost, Usage};
use serde_json::Value;
use thiserror::Error;

use crate::context::{ProjectedEntry, Projection};
use crate::entry::{CompactionEntry, EntryBody, EntryId};
use files::TouchedFiles;
use request::{Conversation, Summarizer, Summary, SummaryError, SummaryPurpose, SummaryRequest};
use settings::CompactionSettings;

/// What a compaction would do.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionPlan {
    /// The first entry that stays.
    pub first_kept_entry_id: EntryId,
    /// The size of the context before.
    pub tokens_before: u64,
    /// The summary of an earlier compaction, to be updated.
    pub previous_summary: Option<String>,
    /// The files that the summarized conversation touched, and those of the previous summary.
    pub files: TouchedFiles,
    /// The settings it was planned with.
    pub settings: CompactionSettings,
    history: Vec<ProjectedEntry>,
    turn_prefix: Vec<ProjectedEntry>,
}

/// Messages that somebody chose to be summarized.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageSelection {
    /// What comes before the cut.
    pub history: Vec<AgentMessage>,
    /// The beginning of the turn that the cut splits; none where it splits none.
    pub turn_prefix: Vec<AgentMessage>,
    /// The summary that the new one goes on from.
    pub previous_summary: Option<String>,
    /// The first entry that stays.
    pub first_kept_entry_id: EntryId,
    /// The size of the context.
    pub tokens_before: u64,
    /// How it is compacted.
    pub settings: CompactionSettings,
}

/// Why there is nothing to compact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NothingToCompact {
    /// The last entry is a compaction.
    #[error("the session is already compacted; there is nothing new to summarize")]
    AlreadyCompacted,
    /// Everything there is stays.
    #[error("there is nothing to compact: the whole conversation is recent enough to stay")]
    TooSmall,
}

/// A compaction that can be appended to the session.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionResult {
    /// The summary, with the lists of files.
    pub summary: String,
    /// The first entry that stays; none keeps nothing.
    pub first_kept_entry_id: Option<EntryId>,
    /// The size of the context before.
    pub tokens_before: u64,
    /// Data of whoever wrote the summary.
    pub details: Option<Value>,
    /// What the summary cost.
    pub usage: Option<Usage>,
}

/// Who wrote a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryAuthor {
    /// A model that pi asked.
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
    /// Plans the compaction of a context.
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
            tokens_before: projection.estimate().tokens,
            previous_summary: previous.map(|(_, compaction)| compaction.summary.clone()),
            files: TouchedFiles::default(),
            settings: *settings,
            history: part(start, history_end),
            turn_prefix: part(history_end, cut.first_kept),
        };
        plan.with_files(previous.map(|(_, compaction)| compaction))
    }

    /// Plans the compaction of messages that somebody else has chosen.
    pub fn from_messages(chosen: MessageSelection) -> Self {
        let mut files = TouchedFiles::default();
        let messages = chosen.history.iter().chain(&chosen.turn_prefix);
        messages.for_each(|message| files.record_message(message));
        let entries = |messages: Vec<AgentMessage>| {
            let messages = messages.into_iter();
            messages.map(ProjectedEntry::of_message).collect()
        };
        Self {
            first_kept_entry_id: chosen.first_kept_entry_id,
            tokens_before: chosen.tokens_before,
            previous_summary: chosen.previous_summary,
            files,
            settings: chosen.settings,
            history: entries(chosen.history),
            turn_prefix: entries(chosen.turn_prefix),
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

    /// Returns the messages before the cut, without the turn that the cut splits.
    pub fn history_messages(&self) -> impl Iterator<Item = &AgentMessage> {
        conversation(&self.history)
    }

    /// Returns the beginning of the turn that the cut splits; none where it splits none.
    pub fn turn_prefix_messages(&self) -> impl Iterator<Item = &AgentMessage> {
        conversation(&self.turn_prefix)
    }

    /// Returns whether the cut splits a turn.
    pub fn is_split_turn(&self) -> bool {
        !self.turn_prefix.is_empty()
    }

    /// Returns the requests for the summaries, in the order to ask; they do not depend on each
    /// other.
    pub fn requests(
        &self,
        summarizer: &Summarizer<'_>,
        focus: Option<&str>,
    ) -> Vec<SummaryRequest> {
        let reserve = self.settings.reserve_tokens;
        let history = Conversation(self.history_messages().collect());
        let prefix = Conversation(self.turn_prefix_messages().collect());
        let previous = self
            .previous_summary
            .as_deref()
            .filter(|text| !text.is_empty());
        let focus = focus.filter(|text| !text.is_empty());
        let mut requests = Vec::new();
        if !history.0.is_empty() {
            requests.push(SummaryRequest::history(
                summarizer, reserve, &history, previous, focus,
            ));
        }
        if !prefix.0.is_empty() {
            requests.push(SummaryRequest::turn_prefix(summarizer, reserve, &prefix));
        }
        requests
    }

    /// Makes the result of the summaries that were asked for.
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
            usage: usages
                .cloned()
                .reduce(|first, second| combined_usage(&first, &second)),
        })
    }
}

impl CompactionResult {
    /// Makes the entry to append to the session the projection shows. It carries the prompt and the
    /// tools in force, since the system messages before it leave the context.
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

/// Returns the messages to summarize. The prompt is no conversation, and an older compaction is
/// summarized already.
fn conversation(entries: &[ProjectedEntry]) -> impl Iterator<Item = &AgentMessage> {
    entries
        .iter()
        .filter(|entry| !matches!(entry.entry().body, EntryBody::Compaction(_)))
        .flat_map(ProjectedEntry::messages)
        .filter(|message| !matches!(message, AgentMessage::System(_)))
}

fn combined_usage(first: &Usage, second: &Usage) -> Usage {
    let either = |first: Option<u64>, second: Option<u64>| match (first, second) {
        (None, None) => None,
        _ => Some(
            first
                .unwrap_or_default()
                .saturating_add(second.unwrap_or_default()),
        ),
    };
    Usage {
        input: first.input.saturating_add(second.input),
        output: first.output.saturating_add(second.output),
        cache_read: first.cache_read.saturating_add(second.cache_read),
        cache_write: first.cache_write.saturating_add(second.cache_write),
        cache_write_1h: either(first.cache_write_1h, second.cache_write_1h),
        reasoning: either(first.reasoning, second.reasoning),
        total_tokens: first.total_tokens.saturating_add(second.total_tokens),
        cost: Cost {
            input: first.cost.input + second.cost.input,
            output: first.cost.output + second.cost.output,
            cache_read: first.cost.cache_read + second.cost.cache_read,
            cache_write: first.cost.cache_write + second.cost.cache_write,
            total: first.cost.total + second.cost.total,
            extra: JsonObject::new(),
        },
        extra: JsonObject::new(),
    }
}

#[cfg(test)]
mod tests;
