//! What an entry contributes to the context after edits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pi_protocol::{
    AgentMessage, BranchSummaryMessage, CompactionSummaryMessage, ContextEditEntry, CustomMessage,
    Entry, EntryBody, EntryId,
};

use super::{ProjectedEntry, edit};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum EntryView {
    Hidden,
    /// The message of the entry, unchanged.
    Stored,
    /// Messages derived from the entry.
    Replaced(Vec<AgentMessage>),
}

/// The effective edits among some entries: the last one of each target.
#[derive(Debug)]
pub struct ContextEdits<'entries>(HashMap<&'entries EntryId, &'entries ContextEditEntry>);

impl<'entries> ContextEdits<'entries> {
    pub fn of(entries: &'entries [Arc<Entry>]) -> Self {
        let edits = entries.iter().filter_map(|entry| match &entry.body {
            EntryBody::ContextEdit(edit) => Some((&edit.target_id, edit)),
            _ => None,
        });
        Self(edits.collect())
    }

    pub fn none() -> Self {
        Self(HashMap::new())
    }

    /// Applies the edits to an entry.
    pub fn show(&self, entry: &Arc<Entry>) -> ProjectedEntry {
        ProjectedEntry {
            view: view(entry, self.0.get(&entry.id).copied()),
            entry: Arc::clone(entry),
        }
    }
}

fn view(entry: &Entry, edit: Option<&ContextEditEntry>) -> EntryView {
    if !shows_messages(entry) {
        return EntryView::Hidden;
    }
    let Some(edit) = edit else {
        return match synthesized_messages(entry) {
            Some(messages) => EntryView::Replaced(messages),
            None => EntryView::Stored,
        };
    };
    let Some(replacement) = &edit.replacement else {
        return EntryView::Hidden;
    };
    let messages = synthesized_messages(entry)
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
    EntryView::Replaced(edited.collect())
}

/// Returns whether an entry contributes messages unless it is edited out.
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

/// Creates messages for an entry that is not a message.
fn synthesized_messages(entry: &Entry) -> Option<Vec<AgentMessage>> {
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

/// Hides compactions within the kept range: the leading one includes them.
pub(super) fn hide_older_compactions(entries: &mut [ProjectedEntry]) {
    for entry in entries.iter_mut().skip(1) {
        if matches!(entry.entry.body, EntryBody::Compaction(_)) {
            entry.view = EntryView::Hidden;
        }
    }
}

/// Hides tool results whose calls were removed by a compaction: providers reject a result without
/// its call, and an extension may cut anywhere.
pub(super) fn hide_orphaned_results(entries: &mut [ProjectedEntry]) {
    let mut orphans = Vec::new();
    let mut calls: HashSet<&str> = HashSet::new();
    for (index, entry) in entries.iter().enumerate() {
        for message in entry.messages() {
            match message {
                AgentMessage::Assistant(response) => {
                    calls.extend(response.tool_calls().map(|call| call.id.as_str()));
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
            entry.view = EntryView::Hidden;
        }
    }
}
