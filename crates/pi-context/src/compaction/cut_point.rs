//! Where a compaction cuts: entries before the cut are summarized, entries after it are kept.

use std::collections::{HashMap, HashSet};

use pi_protocol::{AgentMessage, EntryBody, EntryId};
use pi_session::ProjectedEntry;

use crate::estimate::message_tokens;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CutPoint {
    /// Index of the first kept entry.
    pub(crate) first_kept: usize,
    /// Index where the split turn starts; `None` if the cut splits no turn.
    pub(crate) split_turn_start: Option<usize>,
}

/// Finds the cut that keeps about `keep_recent_tokens` of the entries after `start`.
pub(crate) fn find(entries: &[ProjectedEntry], start: usize, keep_recent_tokens: u64) -> CutPoint {
    let candidates = candidates(entries, start);
    let (Some(first), Some(last)) = (candidates.first(), candidates.last()) else {
        return CutPoint {
            first_kept: start,
            split_turn_start: None,
        };
    };
    let mut cut = *first;
    if let Some(full) = budget_end(entries, start, keep_recent_tokens) {
        // If trailing tool results fill the budget, their call stays with them.
        let at_or_after = candidates.iter().find(|candidate| **candidate >= full);
        cut = *at_or_after.unwrap_or(last);
        if is_omitted_attempt(entries.get(cut + 1..).unwrap_or_default()) {
            cut += 1;
        }
    }
    cut = before_adjacent_metadata(entries, start, cut);
    CutPoint {
        first_kept: cut,
        split_turn_start: split_turn_start(entries, start, cut),
    }
}

/// Returns the index at which the newest entries fill the budget; `None` if all fit.
fn budget_end(entries: &[ProjectedEntry], start: usize, budget: u64) -> Option<usize> {
    let mut kept: u64 = 0;
    let recent = entries.iter().enumerate().skip(start).rev();
    for (index, entry) in recent {
        let tokens: u64 = entry.messages().iter().map(message_tokens).sum();
        kept = kept.saturating_add(tokens);
        if tokens > 0 && kept >= budget {
            return Some(index);
        }
    }
    None
}

/// Returns the valid cut positions: before a message that can start a context, and never between a
/// tool call and its result.
fn candidates(entries: &[ProjectedEntry], start: usize) -> Vec<usize> {
    let mut depth = 0;
    let deltas = split_call_deltas(entries, start);
    let range = entries.iter().enumerate().skip(start);
    let mut candidates = Vec::new();
    for ((index, entry), change) in range.zip(deltas) {
        depth += change;
        if depth == 0 && !is_compaction(entry) && entry.messages().iter().any(can_start_context) {
            candidates.push(index);
        }
    }
    candidates
}

/// Returns, for every index from `start`, the change in the number of tool calls that a cut there
/// would separate from their results.
fn split_call_deltas(entries: &[ProjectedEntry], start: usize) -> Vec<i64> {
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut changes = vec![0; entries.len().saturating_sub(start) + 1];
    let mut change = |index: usize, by: i64| {
        if let Some(count) = changes.get_mut(index) {
            *count += by;
        }
    };
    for (index, entry) in entries.iter().skip(start).enumerate() {
        for message in entry.messages() {
            match message {
                AgentMessage::Assistant(response) => {
                    calls.extend(response.tool_calls().map(|call| (call.id.as_str(), index)));
                }
                AgentMessage::ToolResult(result) => {
                    if let Some(call) = calls.get(result.tool_call_id.as_str()) {
                        change(call + 1, 1);
                        change(index + 1, -1);
                    }
                }
                _ => {}
            }
        }
    }
    changes
}

fn is_compaction(entry: &ProjectedEntry) -> bool {
    matches!(entry.entry().body, EntryBody::Compaction(_))
}

/// Returns whether a kept context may start with the message.
fn can_start_context(message: &AgentMessage) -> bool {
    matches!(message, AgentMessage::Assistant(_)) || starts_turn(message)
}

/// Returns whether the message starts a turn: any message the model sees as a user message.
fn starts_turn(message: &AgentMessage) -> bool {
    matches!(
        message,
        AgentMessage::User(_)
            | AgentMessage::BashExecution(_)
            | AgentMessage::Custom(_)
            | AgentMessage::BranchSummary(_)
            | AgentMessage::CompactionSummary(_)
    )
}

/// Returns whether only an omitted attempt remains after a cut.
///
/// In that case the input of the failed attempt may be summarized too. Entries without messages
/// alone do not prove an attempt, and an edit that replaces an earlier message makes it input that
/// the attempt never saw.
fn is_omitted_attempt(suffix: &[ProjectedEntry]) -> bool {
    let omitted: HashSet<&EntryId> = suffix
        .iter()
        .filter(|entry| entry.is_omitted())
        .map(|entry| &entry.entry().id)
        .collect();
    let is_harmless = |entry: &ProjectedEntry| match &entry.entry().body {
        EntryBody::Compaction(_) => false,
        EntryBody::ContextEdit(edit) => {
            edit.replacement.is_none() || omitted.contains(&edit.target_id)
        }
        _ => entry.messages().is_empty(),
    };
    let is_attempt = |entry: &ProjectedEntry| {
        let message = entry.entry().body.as_message();
        entry.is_omitted() && matches!(message, Some(AgentMessage::Assistant(_)))
    };
    suffix.iter().any(is_attempt) && suffix.iter().all(is_harmless)
}

/// Moves a cut back over entries without messages, so that they stay with the entry they precede.
fn before_adjacent_metadata(entries: &[ProjectedEntry], start: usize, cut: usize) -> usize {
    let before = entries.get(start..cut).unwrap_or_default();
    let metadata = before
        .iter()
        .rev()
        .take_while(|entry| !is_compaction(entry) && entry.messages().is_empty());
    cut - metadata.count()
}

fn split_turn_start(entries: &[ProjectedEntry], start: usize, cut: usize) -> Option<usize> {
    let begins_turn =
        |entry: &ProjectedEntry| !is_compaction(entry) && entry.messages().iter().any(starts_turn);
    let upto_cut = entries.get(start..=cut).unwrap_or_default();
    let turn_start = start + upto_cut.iter().rposition(begins_turn)?;
    (turn_start < cut).then_some(turn_start)
}

#[cfg(test)]
mod tests;
