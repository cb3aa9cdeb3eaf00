//! [`SessionEntries`]: a log of records plus an index. Entries are read from the log on demand.

use std::io;
use std::sync::Arc;

use pi_protocol::{Entry, EntryId, EntryKind, SessionTree};

use super::branch::SessionBranch;
use crate::cache::EntryCache;
use crate::error::SessionError;
use crate::index::{EntrySlot, Index, IndexRecord, LineSpan, Parent};
use crate::log::{AppendError, AppendLog, read_range};
use crate::reader::read_text;
use crate::tree::build_tree;

/// The entries of a session, on all branches.
#[derive(Debug)]
pub struct SessionEntries {
    pub(super) log: AppendLog,
    pub(crate) index: Index,
    pub(super) cache: EntryCache,
    /// Offset up to which the index has read the file.
    pub(super) scanned_to: u64,
}

impl SessionEntries {
    /// Returns the size of the session in bytes, which is the length of its file once that exists.
    pub fn byte_length(&self) -> u64 {
        self.log.length()
    }

    /// Returns the entries of a log that the index has read to its end.
    pub(super) fn new(log: AppendLog, index: Index) -> Self {
        Self {
            scanned_to: log.length(),
            log,
            index,
            cache: EntryCache::default(),
        }
    }

    /// Returns the number of entries on all branches.
    pub fn len(&self) -> usize {
        self.index.records().len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.records().is_empty()
    }

    pub fn contains(&self, id: &str) -> bool {
        self.index.find(id).is_some()
    }

    /// Returns the kind of an entry without reading its body.
    pub fn kind(&self, id: &str) -> Option<EntryKind> {
        let slot = self.index.find(id)?;
        Some(self.index.record(slot)?.kind)
    }

    /// Reads an entry, or returns the shared copy if one is still in use.
    pub fn read(&self, id: &str) -> Result<Arc<Entry>, SessionError> {
        self.entry_at(self.slot(id)?)
    }

    /// Returns the JSON of an entry exactly as stored in the file.
    pub fn read_json(&self, id: &str) -> Result<String, SessionError> {
        self.line_at(self.slot(id)?)
    }

    /// Reads all entries in file order, one at a time.
    pub fn iter(&self) -> impl Iterator<Item = Result<Arc<Entry>, SessionError>> + '_ {
        (0..).take(self.len()).map(|slot| self.entry_at(slot))
    }

    pub fn parent_id(&self, id: &EntryId) -> Result<Option<&EntryId>, SessionError> {
        let record = self.record(self.slot(id.as_str())?)?;
        let parent = record.parent.slot();
        Ok(parent.and_then(|slot| Some(&self.index.record(slot)?.id)))
    }

    /// Returns the children of an entry in file order; `None` returns the roots.
    pub fn children(&self, of: Option<&EntryId>) -> Result<Vec<EntryId>, SessionError> {
        let parent = match of {
            None => Parent::Root,
            Some(id) => Parent::Entry(self.slot(id.as_str())?),
        };
        let records = self.index.records().iter();
        let children = records.filter(|record| record.parent == parent);
        Ok(children.map(|record| record.id.clone()).collect())
    }

    pub fn label(&self, id: &EntryId) -> Option<&str> {
        Some(self.index.label(id.as_str())?.text.as_str())
    }

    /// Returns the path from the root to an entry.
    pub fn branch_to(&self, id: &EntryId) -> Result<SessionBranch<'_>, SessionError> {
        Ok(SessionBranch::new(self, Some(self.slot(id.as_str())?)))
    }

    /// Returns the tree of all entries without reading their bodies.
    pub fn tree(&self) -> SessionTree {
        build_tree(&self.index)
    }

    pub(crate) fn slot(&self, id: &str) -> Result<EntrySlot, SessionError> {
        let unknown = || SessionError::UnknownEntry {
            id: EntryId::from(id),
        };
        self.index.find(id).ok_or_else(unknown)
    }

    pub(crate) fn record(&self, slot: EntrySlot) -> Result<&IndexRecord, SessionError> {
        let unknown = || SessionError::UnknownEntry {
            id: EntryId::from(slot.to_string()),
        };
        self.index.record(slot).ok_or_else(unknown)
    }

    pub(crate) fn entry_at(&self, slot: EntrySlot) -> Result<Arc<Entry>, SessionError> {
        if let Some(entry) = self.cache.get(slot) {
            return Ok(entry);
        }
        let record = self.record(slot)?;
        let text = self.line_at(slot)?;
        let entry = Entry::read(&text, record.kind)
            .map_err(|error| unreadable_entry(record, io::Error::other(error)))?;
        if entry.id != record.id {
            let changed = io::Error::other("another process modified the file in place");
            return Err(unreadable_entry(record, changed));
        }
        let entry = Arc::new(entry);
        self.cache.put(slot, &entry);
        Ok(entry)
    }

    /// Visits the lines of consecutive entries starting at a slot with a single read: as many as
    /// fit in `max_bytes`, but at least one.
    pub(crate) fn each_line_from(
        &self,
        first: EntrySlot,
        max_bytes: u64,
        mut visit: impl FnMut(EntrySlot, &[u8]) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let records = self.index.records().get(first as usize..);
        let records = records.unwrap_or_default();
        let Some(start) = records.first() else {
            return Ok(());
        };
        let mut end = start.offset;
        let batch = records.iter().take_while(|record| {
            let line_end = record.offset + u64::from(record.length);
            let fits = end == start.offset || line_end - start.offset <= max_bytes;
            let follows = record.offset >= end;
            if fits && follows {
                end = line_end;
            }
            fits && follows
        });
        let batch: Vec<_> = batch.collect();
        let bytes = read_range(self.log.file(), start.offset, end)
            .map_err(|source| unreadable_entry(start, source))?;
        for (slot, record) in (first..).zip(batch) {
            let begin = usize::try_from(record.offset - start.offset).unwrap_or(usize::MAX);
            let line = bytes.get(begin..).unwrap_or_default();
            let line = line.get(..record.length as usize).unwrap_or_default();
            visit(slot, line)?;
        }
        Ok(())
    }

    /// Reads the line of an entry exactly as stored.
    pub(crate) fn line_at(&self, slot: EntrySlot) -> Result<String, SessionError> {
        let record = self.record(slot)?;
        read_text(self.log.file(), record.offset, record.length)
            .map_err(|source| unreadable_entry(record, source))
    }

    /// Adds an entry whose record was written at an offset.
    pub(super) fn add_written(
        &mut self,
        entry: &Entry,
        offset: u64,
        record: &[u8],
    ) -> Result<EntrySlot, AppendError> {
        let length = u32::try_from(record.len() - 1)
            .map_err(|error| AppendError::Write(io::Error::other(error)))?;
        if offset + record.len() as u64 == self.log.length() {
            self.scanned_to = self.log.length();
        }
        let slot = self.index.add_entry(entry, LineSpan { offset, length });
        slot.ok_or_else(|| AppendError::Write(io::ErrorKind::FileTooLarge.into()))
    }
}

fn unreadable_entry(record: &IndexRecord, source: io::Error) -> SessionError {
    SessionError::UnreadableEntry {
        id: record.id.clone(),
        source,
    }
}
