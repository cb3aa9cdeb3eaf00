//! What the model sees of a session: the path to the leaf, compaction and edits applied.
//!
//! [`project`] reads only the entries that take part, so that a long session behind a compaction
//! costs what is left of it. What a message says to a model in the end is decided in
//! [`crate::model_messages`].

mod edit;
mod outline;
mod recent;
mod selection;
mod settings;
mod shown;
mod source;
mod spelled;

use std::convert::Infallible;
use std::slice;
use std::sync::Arc;

use pi_ai::json::JsonObject;
use pi_ai::transcript::{current_system_message, active_sections};
use pi_ai::{AgentMessage, Message, SystemMessage};

use crate::entry::{CompactionEntry, Entry, EntryBody, EntryId};
use crate::error::SessionError;
use crate::store::Session;

pub use outline::ContextOutline;
use selection::Selection;
pub use settings::{ContextModel, PathSettings};
pub(crate) use shown::Edits;
use shown::{Shown, shows_messages};
use source::PathEntries;
pub use source::{EntryOutline, EntrySource, PathStep};

/// What the model sees at a leaf of the session, entry by entry.
///
/// After a compaction the list begins with it, then come the entries it kept, then those appended
/// since; without one it is the path from the root.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    entries: Vec<ProjectedEntry>,
    /// How many entries after the leading compaction come before it on the path.
    kept: usize,
}

/// An entry and what it contributes to the context.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectedEntry {
    entry: Arc<Entry>,
    shown: Shown,
}

impl ProjectedEntry {
    /// Returns the entry behind the messages.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Returns the messages; most entries have one, many none, a compaction up to two.
    pub fn messages(&self) -> &[AgentMessage] {
        match (&self.shown, &self.entry.body) {
            (Shown::Instead(messages), _) => messages,
            (Shown::Stored, EntryBody::Message(message)) => slice::from_ref(message),
            (Shown::Stored | Shown::Nothing, _) => &[],
        }
    }

    /// Returns a message as if an entry of no session had brought it.
    pub(crate) fn of_message(message: AgentMessage) -> Self {
        Self {
            entry: Arc::new(Entry {
                id: EntryId::from(String::new()),
                parent_id: None,
                timestamp: String::new(),
                body: EntryBody::Message(message),
                extra: pi_ai::json::JsonObject::new(),
            }),
            shown: Shown::Stored,
        }
    }

    /// Returns whether an edit left out what the entry would have shown.
    pub(crate) fn is_omitted(&self) -> bool {
        self.messages().is_empty() && shows_messages(&self.entry)
    }
}

impl Projection {
    /// Returns the entries in the order of the context.
    pub fn entries(&self) -> &[ProjectedEntry] {
        &self.entries
    }

    /// Follows an entry that was appended to the leaf, so that a long session is not projected
    /// anew for each. Returns false, and changes nothing, where the entry changes what earlier ones
    /// show: then the session must be projected again.
    #[must_use]
    pub fn follow(&mut self, entry: &Arc<Entry>) -> bool {
        match entry.body {
            EntryBody::Compaction(_) | EntryBody::ContextEdit(_) => false,
            _ => {
                self.entries.push(Edits::none().show(entry));
                true
            }
        }
    }

    /// Returns the messages in order.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &AgentMessage> {
        self.entries.iter().flat_map(ProjectedEntry::messages)
    }

    /// Returns the compaction that leads the context.
    pub fn compaction(&self) -> Option<(&Entry, &CompactionEntry)> {
        let entry = self.entries.first()?.entry.as_ref();
        match &entry.body {
            EntryBody::Compaction(compaction) => Some((entry, compaction)),
            _ => None,
        }
    }

    /// Returns the messages of entries that follow the leading compaction on the path; all of them
    /// where there is none.
    pub(crate) fn since_compaction(&self) -> impl Iterator<Item = &AgentMessage> {
        let first = match self.compaction() {
            Some(_) => self.kept + 1,
            None => 0,
        };
        let entries = self.entries.iter().skip(first);
        entries.flat_map(ProjectedEntry::messages)
    }

    /// Returns the entry at the leaf.
    pub fn last_entry(&self) -> Option<&Arc<Entry>> {
        let last = self.entries.len().checked_sub(1)?;
        // With nothing after it, the compaction that leads the context is the leaf.
        let index = if last == self.kept && self.compaction().is_some() {
            0
        } else {
            last
        };
        self.entries.get(index).map(ProjectedEntry::entry)
    }

    /// Returns where on the path the entry at an index of [`Projection::entries`] stands.
    pub(crate) fn path_position(&self, index: usize) -> usize {
        match index {
            0 => self.kept,
            _ if index <= self.kept => index - 1,
            _ => index,
        }
    }

    /// Replays the system messages into the prompt and the tools in force; none when the context
    /// has no system message.
    pub fn system_message(&self) -> Option<SystemMessage> {
        let messages: Vec<Message> = self
            .system_messages()
            .cloned()
            .map(Message::System)
            .collect();
        current_system_message(&messages)
    }

    /// Returns the sections of the prompt that the context has told.
    pub fn told_sections(&self) -> JsonObject {
        active_sections(self.system_messages().map(Arc::as_ref))
    }

    fn system_messages(&self) -> impl Iterator<Item = &Arc<SystemMessage>> {
        self.messages().filter_map(|message| match message {
            AgentMessage::System(system) => Some(system),
            _ => None,
        })
    }

    /// Returns the names of the tools the transcript declares, to restore on resume and after a
    /// jump in the tree; none when it declares no prompt at all, which leaves the tools as they are.
    pub fn tool_names(&self) -> Option<Vec<String>> {
        let system = self.system_message()?;
        let tools = system.tools_added.unwrap_or_default();
        Some(tools.into_iter().map(|tool| tool.name).collect())
    }
}

/// Projects the path that ends at a leaf; no leaf is the place before the first entry.
pub fn project<Source: EntrySource>(
    source: &Source,
    leaf: Option<&EntryId>,
) -> Result<Projection, Source::Error> {
    Ok(Selection::read(source, leaf)?.projection())
}

impl Session {
    /// Projects the path to the leaf: what the model sees now.
    pub fn projection(&self) -> Result<Projection, SessionError> {
        project(self, self.leaf_id())
    }
}

/// Projects a path that is at hand, its root first.
pub fn project_path(path: &[Arc<Entry>]) -> Projection {
    let source = PathEntries::new(path);
    let leaf = path.last().map(|entry| &entry.id);
    let Ok::<_, Infallible>(projection) = project(&source, leaf);
    projection
}

#[cfg(test)]
mod tests;
