//! What an entry shows to the model, edits applied.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pi_ai::{AgentMessage, BranchSummaryMessage, CompactionSummaryMessage, CustomMessage};

use super::{ProjectedEntry, edit};
use crate::entry::{ContextEditEntry, Entry, EntryBody, EntryId};

/// What an entry shows to the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    Nothing,
    /// The message of the entry as it is stored.
    Stored,
    /// Messages made from the entry.
    Instead(Vec<AgentMessage>),
}

/// The edits in force among some entries: the last of each target.
pub(crate) struct Edits<'entries>(HashMap<&'entries EntryId, &'entries ContextEditEntry>);

impl<'entries> Edits<'entries> {
    pub(crate) fn of(entries: &'entries [Arc<Entry>]) -> Self {
        let edits = entries.iter().filter_map(|entry| match &entry.body {
            EntryBody::ContextEdit(edit) => Some((&edit.target_id, edit)),
            _ => None,
        });
        Self(edits.collect())
    }

    /// No edit is in force.
    pub(crate) fn none() -> Self {
        Self(HashMap::new())
    }

    /// Decides what an entry shows.
    pub(crate) fn show(&self, entry: &Arc<Entry>) -> ProjectedEntry {
        ProjectedEntry {
            shown: shown(entry, self.0.get(&entry.id).copied()),
            entry: Arc::clone(entry),
        }
    }
}

fn shown(entry: &Entry, edit: Option<&ContextEditEntry>) -> Shown {
    if !shows_messages(entry) {
        return Shown::Nothing;
    }
    let Some(edit) = edit else {
        return match made_messages(entry) {
            Some(messages) => Shown::Instead(messages),
            None => Shown::Stored,
        };
    };
    let Some(replacement) = &edit.replacement else {
        return Shown::Nothing;
    };
    let messages = made_messages(entry)
        .or_else(|| {
            entry
                .body
                .as_message()
                .cloned()
                .map(|message| vec![message])
        })
        .unwrap_or_default();
    let edited = messages
        .into_iter()
        .map(|message| edit::with_content(message, &replacement.content));
    Shown::Instead(edited.collect())
}

/// Returns whether an entry of this sort takes part in the context unless it is edited out.
pub(super) fn shows_messages(entry: &Entry) -> bool {
    match &entry.body {
        EntryBody::Message(_) | EntryBody::CustomMessage(_) | EntryBody::Compaction(_) => true,
        EntryBody::BranchSummary(branch) => !branch.summary.is_empty(),
        EntryBody::ModelChange(_)
        | EntryBody::ThinkingLevelChange(_)
        | EntryBody::Usage(_)
        | EntryBody::ContextEdit(_)
        | EntryBody::Custom(_)
        | EntryBody::Label(_)
        | EntryBody::SessionInfo(_)
        | EntryBody::Unknown(_) => false,
    }
}

/// Makes the messages of an entry that is no message itself.
fn made_messages(entry: &Entry) -> Option<Vec<AgentMessage>> {
    let timestamp = entry.timestamp_ms().unwrap_or_default();
    match &entry.body {
        EntryBody::CustomMessage(custom) => Some(vec![AgentMessage::Custom(CustomMessage {
            custom_type: custom.custom_type.clone(),
            content: custom.content.clone(),
            display: custom.display,
            details: custom.details.clone(),
            timestamp,
            ..CustomMessage::default()
        })]),
        EntryBody::BranchSummary(branch) => {
            Some(vec![AgentMessage::BranchSummary(BranchSummaryMessage {
                summary: branch.summary.clone(),
                from_id: Some(branch.from_id.as_str().to_owned()),
                timestamp,
                ..BranchSummaryMessage::default()
            })])
        }
        EntryBody::Compaction(compaction) => {
            let system = compaction.system_message.clone().map(AgentMessage::from);
            let summary = AgentMessage::CompactionSummary(CompactionSummaryMessage {
                summary: compaction.summary.clone(),
                tokens_before: compaction.tokens_before,
                timestamp,
                ..CompactionSummaryMessage::default()
            });
            Some(system.into_iter().chain([summary]).collect())
        }
        _ => None,
    }
}

/// Leaves out compactions within the kept range: the leading one speaks for them.
pub(super) fn leave_out_older_compactions(entries: &mut [ProjectedEntry]) {
    for entry in entries.iter_mut().skip(1) {
        if matches!(entry.entry.body, EntryBody::Compaction(_)) {
            entry.shown = Shown::Nothing;
        }
    }
}

/// Leaves out results whose calls a compaction removed: no service takes one without the other, and
/// an extension may have cut anywhere.
pub(super) fn leave_out_orphaned_results(entries: &mut [ProjectedEntry]) {
    let mut orphans = Vec::new();
    let mut calls: HashSet<&str> = HashSet::new();
    for (index, entry) in entries.iter().enumerate() {
        for message in entry.messages() {
            match message {
                AgentMessage::Assistant(answer) => {
                    calls.extend(answer.tool_calls().map(|call| call.id.as_str()));
                }
                AgentMessage::ToolResult(result)
                    if !calls.contains(result.tool_call_id.as_str()) =>
                {
                    orphans.push(index);
                }
                _ => {}
            }
        }
    }
    for index in orphans {
        if let Some(entry) = entries.get_mut(index) {
            entry.shown = Shown::Nothing;
        }
    }
}
