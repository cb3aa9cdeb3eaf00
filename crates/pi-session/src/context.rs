//! The model's view of a session: the path to the leaf with compactions and edits applied.
//! [`project`] reads only the entries that contribute, so the cost of a long session depends on
//! what is left after its last compaction. Conversion to model messages is in `pi-context`.

mod edit;
mod entry_view;
mod outline;
mod raw_json;
mod selection;
mod settings;
mod source;

use std::collections::HashSet;
use std::convert::Infallible;
use std::slice;
use std::sync::Arc;

use pi_protocol::json::JsonObject;
use pi_protocol::transcript::{active_sections, current_system_message};
use pi_protocol::{
    AgentMessage, CompactionEntry, Entry, EntryBody, EntryId, Message, SystemMessage,
};

use crate::error::SessionError;
use crate::session::branch::SessionBranch;

pub use entry_view::ContextEdits;
use entry_view::{EntryView, shows_messages};
pub use outline::ContextOutline;
use selection::ContextSelection;
pub use settings::{ContextModel, PathSettings};
pub use source::{EntryMetadata, EntrySource, PathEntries, PathStep};

/// Maximum number of messages in a context since its last compaction; earlier ones are left out. It bounds what is read
/// and held to send a conversation of millions of messages. This many messages of 40 tokens each exceed a context window of
/// a million tokens.
pub const MAX_CONTEXT_MESSAGES: usize = 25_000;

#[derive(Debug, Clone, PartialEq)]
/// What the model sees at a leaf of the session, entry by entry.
///
/// After a compaction, the list starts with the compaction, then the entries it kept, then those
/// appended since. Without a compaction, it is the path from the root.
pub struct Projection {
    entries: Vec<ProjectedEntry>,
    /// Number of entries after the leading compaction that precede it on the path.
    kept: usize,
}

/// An entry and what it contributes to the context.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectedEntry {
    entry: Arc<Entry>,
    view: EntryView,
}

impl ProjectedEntry {
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Returns the messages: usually one, none for metadata, up to two for a compaction.
    pub fn messages(&self) -> &[AgentMessage] {
        match (&self.view, &self.entry.body) {
            (EntryView::Replaced(messages), _) => messages,
            (EntryView::Stored, EntryBody::Message(message)) => slice::from_ref(message),
            (EntryView::Stored | EntryView::Hidden, _) => &[],
        }
    }

    /// Wraps a message that does not come from a session entry.
    pub fn from_message(message: AgentMessage) -> Self {
        Self {
            entry: Arc::new(Entry {
                id: EntryId::from(String::new()),
                parent_id: None,
                timestamp: String::new(),
                body: EntryBody::Message(message),
                extra: pi_protocol::json::JsonObject::new(),
            }),
            view: EntryView::Stored,
        }
    }

    /// Returns whether an edit omitted the messages of the entry.
    pub fn is_omitted(&self) -> bool {
        self.messages().is_empty() && shows_messages(&self.entry)
    }
}

impl Projection {
    /// Returns the entries in context order.
    pub fn entries(&self) -> &[ProjectedEntry] {
        &self.entries
    }

    #[must_use]
    /// Appends an entry that was appended to the leaf, to avoid projecting a long session again.
    /// Returns `false` and changes nothing if the entry affects earlier ones; then the session must
    /// be projected again.
    pub fn append(&mut self, entry: &Arc<Entry>) -> bool {
        match entry.body {
            EntryBody::Compaction(_) | EntryBody::ContextEdit(_) => false,
            _ => {
                self.entries.push(ContextEdits::none().show(entry));
                true
            }
        }
    }

    /// Returns the messages in order.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &AgentMessage> {
        self.entries.iter().flat_map(ProjectedEntry::messages)
    }

    /// Returns the compaction at the start of the context.
    pub fn compaction(&self) -> Option<(&Entry, &CompactionEntry)> {
        let entry = self.entries.first()?.entry.as_ref();
        match &entry.body {
            EntryBody::Compaction(compaction) => Some((entry, compaction)),
            _ => None,
        }
    }

    /// Returns the messages of entries that follow the leading compaction on the path; all messages
    /// if there is no compaction.
    pub fn since_compaction(&self) -> impl Iterator<Item = &AgentMessage> {
        let first = match self.compaction() {
            Some(_) => self.kept + 1,
            None => 0,
        };
        let entries = self.entries.iter().skip(first);
        entries.flat_map(ProjectedEntry::messages)
    }

    pub fn last_entry(&self) -> Option<&Arc<Entry>> {
        let last = self.entries.len().checked_sub(1)?;
        // If nothing follows it, the leading compaction is the leaf.
        let index = if last == self.kept && self.compaction().is_some() {
            0
        } else {
            last
        };
        self.entries.get(index).map(ProjectedEntry::entry)
    }

    /// Returns the position on the path of the entry at an index of [`Projection::entries`].
    pub fn path_position(&self, index: usize) -> usize {
        match index {
            0 => self.kept,
            _ if index <= self.kept => index - 1,
            _ => index,
        }
    }

    /// Replays the system messages into the current prompt and tools; `None` if the context has no
    /// system message.
    pub fn system_message(&self) -> Option<SystemMessage> {
        let messages: Vec<Message> = self
            .system_messages()
            .cloned()
            .map(Message::System)
            .collect();
        current_system_message(&messages)
    }

    /// Returns the prompt sections declared by the context.
    pub fn declared_sections(&self) -> JsonObject {
        active_sections(self.system_messages().map(Arc::as_ref))
    }

    fn system_messages(&self) -> impl Iterator<Item = &Arc<SystemMessage>> {
        self.messages().filter_map(|message| match message {
            AgentMessage::System(system) => Some(system),
            _ => None,
        })
    }

    /// Returns the names of the declared tools, to restore them on resume and after tree
    /// navigation; `None` if the context has no system message, in which case the active tools stay
    /// unchanged.
    pub fn tool_names(&self) -> Option<Vec<String>> {
        let system = self.system_message()?;
        let tools = system.tools_added.unwrap_or_default();
        Some(tools.into_iter().map(|tool| tool.name).collect())
    }
}

/// Returns the names of all tools that system messages add or remove.
fn mentioned_tools<'system>(
    systems: impl Iterator<Item = &'system SystemMessage>,
) -> HashSet<String> {
    systems
        .flat_map(|system| {
            let added = system.tools_added.iter().flatten();
            let removed = system.tools_removed.iter().flatten();
            let added = added.map(|tool| tool.name.clone());
            added.chain(removed.map(|tool| tool.name.clone()))
        })
        .collect()
}

/// Projects the path that ends at a leaf; `None` is the position before the first entry.
pub fn project<Source: EntrySource>(
    source: &Source,
    leaf: Option<&EntryId>,
) -> Result<Projection, Source::Error> {
    Ok(ContextSelection::read(source, leaf, MAX_CONTEXT_MESSAGES)?.projection())
}

impl SessionBranch<'_> {
    /// Projects the path: what the model sees at its leaf.
    pub fn projection(self) -> Result<Projection, SessionError> {
        project(self.source, self.leaf_id())
    }
}

/// Projects a path that is already in memory, root first.
pub fn project_path(path: &[Arc<Entry>]) -> Projection {
    let source = PathEntries::new(path);
    let leaf = path.last().map(|entry| &entry.id);
    let Ok::<_, Infallible>(projection) = project(&source, leaf);
    projection
}

#[cfg(test)]
mod tests;
