//! What can be told of a context without reading its conversation.
//!
//! A session is opened before anybody asks for its messages, and most of a long one never is: how
//! many there are and which tools they declare comes from the index and a few entries.

use std::collections::HashSet;

use pi_ai::transcript::current_tools;
use pi_ai::{AgentMessage, Message};

use super::source::EntrySource;
use crate::entry::{CompactionEntry, EntryBody, EntryId};
use crate::error::SessionError;
use crate::kind::{EntryKind, MessageRole};
use crate::store::Session;

/// The outline of the context at a leaf.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContextOutline {
    /// How many messages [`crate::Projection::messages`] would give.
    pub messages: usize,
    /// The tools that the transcript declares; none when it has no system message.
    pub tool_names: Option<Vec<String>>,
}

impl ContextOutline {
    /// Reads the outline of the path that ends at a leaf.
    pub fn read<Source: EntrySource>(
        source: &Source,
        leaf: Option<&EntryId>,
    ) -> Result<Self, Source::Error> {
        let mut reading = Reading::default();
        for step in source.walk(leaf) {
            if !reading.take(source, step.id, step.kind)? {
                break;
            }
        }
        Ok(reading.finish())
    }
}

impl Session {
    /// Returns the outline of what the model sees now.
    pub fn context_outline(&self) -> Result<ContextOutline, SessionError> {
        ContextOutline::read(self, self.leaf_id())
    }
}

/// The walk from the leaf upwards.
#[derive(Default)]
struct Reading {
    messages: usize,
    /// Targets of edits, newest first: whether the first seen of each leaves it out.
    edited: HashSet<EntryId>,
    omitted: HashSet<EntryId>,
    /// System messages, the newest first.
    systems: Vec<Message>,
    /// Where the entries end that the compaction keeps, once it has been met.
    kept: Option<Kept>,
}

/// What a compaction that has been met keeps.
struct Kept {
    first: EntryId,
    /// Messages among those it keeps, counted only once the first of them has been found.
    messages: usize,
}

impl Reading {
    /// Takes an entry; false ends the walk.
    fn take<Source: EntrySource>(
        &mut self,
        source: &Source,
        id: &EntryId,
        kind: EntryKind,
    ) -> Result<bool, Source::Error> {
        let shows = match kind {
            EntryKind::Message(MessageRole::System) if self.kept.is_some() => false,
            EntryKind::Message(MessageRole::System) => {
                if let Some(entry) = source.entry(id)?
                    && let EntryBody::Message(AgentMessage::System(system)) = &entry.body
                {
                    self.systems.push(Message::System(system.clone()));
                }
                true
            }
            EntryKind::Message(_) | EntryKind::CustomMessage => true,
            EntryKind::BranchSummary => source.entry(id)?.is_some_and(|entry| match &entry.body {
                EntryBody::BranchSummary(branch) => !branch.summary.is_empty(),
                _ => false,
            }),
            EntryKind::ContextEdit => {
                if let Some(entry) = source.entry(id)?
                    && let EntryBody::ContextEdit(edit) = &entry.body
                    && self.edited.insert(edit.target_id.clone())
                    && edit.replacement.is_none()
                {
                    self.omitted.insert(edit.target_id.clone());
                }
                false
            }
            EntryKind::Compaction if self.kept.is_none() => {
                let Some(entry) = source.entry(id)? else {
                    return Ok(true);
                };
                return Ok(match &entry.body {
                    EntryBody::Compaction(compaction) => self.meet_compaction(id, compaction),
                    _ => true,
                });
            }
            _ => false,
        };
        let counts = usize::from(shows && !self.omitted.contains(id));
        let Some(kept) = &mut self.kept else {
            self.messages += counts;
            return Ok(true);
        };
        kept.messages += counts;
        if kept.first != *id {
            return Ok(true);
        }
        self.messages += kept.messages;
        Ok(false)
    }

    /// Counts the compaction; false where it keeps nothing.
    fn meet_compaction(&mut self, id: &EntryId, compaction: &CompactionEntry) -> bool {
        if !self.omitted.contains(id) {
            self.messages += 1;
            if let Some(system) = &compaction.system_message {
                self.messages += 1;
                self.systems.push(system.clone().into());
            }
        }
        match compaction.first_kept_entry_id.as_ref() {
            Some(first) if first != id => {
                self.kept = Some(Kept {
                    first: first.clone(),
                    messages: 0,
                });
                true
            }
            Some(_) | None => false,
        }
    }

    fn finish(mut self) -> ContextOutline {
        self.systems.reverse();
        ContextOutline {
            messages: self.messages,
            tool_names: (!self.systems.is_empty()).then(|| {
                let tools = current_tools(&self.systems);
                tools.into_iter().map(|tool| tool.name).collect()
            }),
        }
    }
}
