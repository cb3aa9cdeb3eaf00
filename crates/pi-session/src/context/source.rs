//! Where the entries of a path come from.
//!
//! A store knows parents and types of all entries and reads bodies on demand; a projection asks for
//! the bodies it needs and no others.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use crate::entry::{Entry, EntryId};

/// Gives the entries of a session by id.
pub trait EntrySource {
    /// Why an entry could not be read.
    type Error;

    /// Returns what is known of an entry without reading it; none where there is no such entry.
    fn outline(&self, id: &EntryId) -> Option<EntryOutline<'_>>;

    /// Reads an entry; none where there is no such entry.
    fn entry(&self, id: &EntryId) -> Result<Option<Arc<Entry>>, Self::Error>;
}

/// What is known of an entry without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryOutline<'source> {
    /// The entry it follows; none for a root.
    pub parent_id: Option<&'source EntryId>,
    /// Its type as the file spells it.
    pub type_name: &'source str,
}

/// One entry on the way from a leaf to the root.
pub(crate) struct Step<'source> {
    pub(crate) id: EntryId,
    pub(crate) type_name: &'source str,
}

/// Walks from a leaf to the root; a path that runs in a circle ends where it would repeat.
pub(crate) fn path_to_root<'source, Source: EntrySource>(
    source: &'source Source,
    leaf: Option<&EntryId>,
) -> Vec<Step<'source>> {
    let mut steps = Vec::new();
    let mut seen = HashSet::new();
    let mut next = leaf.cloned();
    while let Some(id) = next
        && seen.insert(id.clone())
        && let Some(outline) = source.outline(&id)
    {
        next = outline.parent_id.cloned();
        steps.push(Step {
            id,
            type_name: outline.type_name,
        });
    }
    steps
}

/// A path that is in memory, its root first.
pub(crate) struct PathEntries<'path> {
    path: &'path [Arc<Entry>],
    positions: HashMap<&'path EntryId, usize>,
}

impl<'path> PathEntries<'path> {
    pub(crate) fn new(path: &'path [Arc<Entry>]) -> Self {
        let positions = path
            .iter()
            .enumerate()
            .map(|(position, entry)| (&entry.id, position));
        Self {
            path,
            positions: positions.collect(),
        }
    }
}

impl EntrySource for PathEntries<'_> {
    type Error = Infallible;

    fn outline(&self, id: &EntryId) -> Option<EntryOutline<'_>> {
        let position = *self.positions.get(id)?;
        let parent = position.checked_sub(1).and_then(|at| self.path.get(at));
        Some(EntryOutline {
            parent_id: parent.map(|entry| &entry.id),
            type_name: self.path.get(position)?.body.type_name(),
        })
    }

    fn entry(&self, id: &EntryId) -> Result<Option<Arc<Entry>>, Infallible> {
        let position = self.positions.get(id);
        Ok(position.and_then(|position| self.path.get(*position).cloned()))
    }
}
