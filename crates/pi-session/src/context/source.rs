//! Access to the entries of a path. A source knows the parent and kind of every entry and reads
//! bodies on demand; a projection requests only the bodies it needs.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use pi_protocol::{Entry, EntryId, EntryKind};

use crate::error::SessionError;
use crate::session::entries::SessionEntries;

/// Provides the entries of a session by ID.
pub trait EntrySource {
    type Error;

    /// Returns the metadata of an entry without reading its body; `None` if there is no such entry.
    fn metadata(&self, id: &EntryId) -> Option<EntryMetadata<'_>>;

    /// Reads an entry; `None` if there is no such entry.
    fn entry(&self, id: &EntryId) -> Result<Option<Arc<Entry>>, Self::Error>;

    /// Walks from a leaf to the root. A path with a cycle ends before it repeats.
    fn walk<'path>(
        &'path self,
        leaf: Option<&'path EntryId>,
    ) -> impl Iterator<Item = PathStep<'path>>
    where
        Self: Sized,
    {
        PathWalk {
            source: self,
            next: leaf,
            seen: HashSet::new(),
        }
    }
}

/// One entry on the path from a leaf to the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathStep<'path> {
    pub id: &'path EntryId,
    pub kind: EntryKind,
}

/// Metadata that is available without reading the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryMetadata<'source> {
    /// The preceding entry; `None` for a root.
    pub parent_id: Option<&'source EntryId>,
    pub kind: EntryKind,
}

impl EntrySource for SessionEntries {
    type Error = SessionError;

    fn metadata(&self, id: &EntryId) -> Option<EntryMetadata<'_>> {
        let record = self.index.record(self.index.find(id.as_str())?)?;
        let parent = record.parent.slot();
        Some(EntryMetadata {
            parent_id: parent.and_then(|slot| Some(&self.index.record(slot)?.id)),
            kind: record.kind,
        })
    }

    fn entry(&self, id: &EntryId) -> Result<Option<Arc<Entry>>, SessionError> {
        let slot = self.index.find(id.as_str());
        slot.map(|slot| self.entry_at(slot)).transpose()
    }

    /// The index links parents by slot and contains no cycles, so a walk looks up only the ID of
    /// the leaf.
    fn walk<'path>(
        &'path self,
        leaf: Option<&'path EntryId>,
    ) -> impl Iterator<Item = PathStep<'path>> {
        let from = leaf.and_then(|id| self.index.find(id.as_str()));
        let slots = from.into_iter().flat_map(|slot| self.index.path(slot));
        let records = slots.filter_map(|slot| self.index.record(slot));
        records.map(|record| PathStep {
            id: &record.id,
            kind: record.kind,
        })
    }
}

/// A walk that looks up each entry by ID.
struct PathWalk<'path, Source> {
    source: &'path Source,
    next: Option<&'path EntryId>,
    seen: HashSet<&'path EntryId>,
}

impl<'path, Source: EntrySource> Iterator for PathWalk<'path, Source> {
    type Item = PathStep<'path>;

    fn next(&mut self) -> Option<PathStep<'path>> {
        let id = self.next.filter(|id| self.seen.insert(id))?;
        let outline = self.source.metadata(id)?;
        self.next = outline.parent_id;
        Some(PathStep {
            id,
            kind: outline.kind,
        })
    }
}

/// A path in memory, root first.
#[derive(Debug)]
pub struct PathEntries<'path> {
    path: &'path [Arc<Entry>],
    positions: HashMap<&'path EntryId, usize>,
}

impl<'path> PathEntries<'path> {
    pub fn new(path: &'path [Arc<Entry>]) -> Self {
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

    fn metadata(&self, id: &EntryId) -> Option<EntryMetadata<'_>> {
        let position = *self.positions.get(id)?;
        let parent = position.checked_sub(1).and_then(|at| self.path.get(at));
        Some(EntryMetadata {
            parent_id: parent.map(|entry| &entry.id),
            kind: self.path.get(position)?.body.kind(),
        })
    }

    fn entry(&self, id: &EntryId) -> Result<Option<Arc<Entry>>, Infallible> {
        let position = self.positions.get(id);
        Ok(position.and_then(|position| self.path.get(*position).cloned()))
    }
}
