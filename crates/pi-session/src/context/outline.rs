//! Context metadata that is available without reading the conversation. A session is opened before
//! its messages are requested, and most of a long session never is: the message count and the
//! declared tools come from the index and a few entries.

use std::collections::HashSet;

use pi_protocol::transcript::current_tools;
use pi_protocol::{
    AgentMessage, CompactionEntry, EntryBody, EntryId, EntryKind, Message, MessageRole,
};

use super::mentioned_tools;
use super::source::EntrySource;
use crate::error::SessionError;
use crate::session::branch::SessionBranch;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContextOutline {
    /// The number of messages in [`crate::Projection::messages`].
    pub messages: usize,
    /// The tools declared by the context; `None` if it has no system message.
    pub tool_names: Option<Vec<String>>,
    /// The names of all tools that the context ever added or removed.
    pub mentioned_tools: HashSet<String>,
}

impl ContextOutline {
    /// Reads the outline of the path that ends at a leaf.
    pub fn read<Source: EntrySource>(
        source: &Source,
        leaf: Option<&EntryId>,
    ) -> Result<Self, Source::Error> {
        let mut builder = OutlineBuilder::default();
        for step in source.walk(leaf) {
            if !builder.visit(source, step.id, step.kind)? {
                break;
            }
        }
        Ok(builder.finish())
    }
}

impl SessionBranch<'_> {
    pub fn context_outline(self) -> Result<ContextOutline, SessionError> {
        ContextOutline::read(self.source, self.leaf_id())
    }
}

/// Collects the outline while walking from the leaf to the root.
#[derive(Default)]
struct OutlineBuilder {
    messages: usize,
    /// Edit targets. Edits are visited newest first, so the first edit of a target decides.
    edited: HashSet<EntryId>,
    omitted: HashSet<EntryId>,
    /// System messages, newest first.
    systems: Vec<Message>,
    /// The range kept by the compaction, once one was visited.
    kept: Option<KeptRange>,
}

struct KeptRange {
    first: EntryId,
    /// Messages in the range; added to the total only once the first kept entry was found.
    messages: usize,
}

impl OutlineBuilder {
    /// Visits an entry; returns `false` to stop the walk.
    fn visit<Source: EntrySource>(
        &mut self,
        source: &Source,
        id: &EntryId,
        kind: EntryKind,
    ) -> Result<bool, Source::Error> {
        let shows = match kind {
            EntryKind::Message(MessageRole::System) if self.kept.is_some() => false,
            EntryKind::Message(MessageRole::System) => {
                if !self.omitted.contains(id)
                    && let Some(entry) = source.entry(id)?
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
                    EntryBody::Compaction(compaction) => self.visit_compaction(id, compaction),
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

    /// Counts the compaction; returns `false` if it keeps nothing.
    fn visit_compaction(&mut self, id: &EntryId, compaction: &CompactionEntry) -> bool {
        if !self.omitted.contains(id) {
            self.messages += 1;
            if let Some(system) = &compaction.system_message {
                self.messages += 1;
                self.systems.push(system.clone().into());
            }
        }
        match compaction.first_kept_entry_id.as_ref() {
            Some(first) if first != id => {
                self.kept = Some(KeptRange {
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
        let systems = self.systems.iter().filter_map(|message| match message {
            Message::System(system) => Some(&**system),
            _ => None,
        });
        ContextOutline {
            mentioned_tools: mentioned_tools(systems),
            messages: self.messages,
            tool_names: (!self.systems.is_empty()).then(|| {
                let tools = current_tools(&self.systems);
                tools.into_iter().map(|tool| tool.name).collect()
            }),
        }
    }
}
