//! An in-memory index of a session file: where each entry is stored and how entries are linked. The
//! index grows with the file and never changes the record of an entry, except that a parent
//! may appear after its child. Of the entry bodies, it reads only labels and names.

use std::collections::HashMap;

use pi_protocol::{Entry, EntryBody, EntryId, EntryKind, timestamp};

use slots_by_id::SlotsById;

use crate::reader::RawLine;
use crate::scan::LineFields;

mod packed;
mod slots_by_id;

/// Position of an entry in file order.
pub(crate) type EntrySlot = u32;

#[derive(Debug, Clone)]
pub(crate) struct IndexRecord {
    pub(crate) id: EntryId,
    pub(crate) kind: EntryKind,
    pub(crate) parent: Parent,
    pub(crate) timestamp_ms: i64,
    /// Offset of the line.
    pub(crate) offset: u64,
    /// Length of the line without the line feed.
    pub(crate) length: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    Root,
    /// The parent is not in the file, or is a descendant of this entry.
    Missing,
    Entry(EntrySlot),
}

impl Parent {
    pub(crate) fn slot(self) -> Option<EntrySlot> {
        match self {
            Self::Entry(slot) => Some(slot),
            Self::Root | Self::Missing => None,
        }
    }
}

/// The current label of an entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ActiveLabel {
    pub(crate) text: String,
    pub(crate) timestamp: String,
    /// When the target was labeled first since it last had no label. Labels are copied in this
    /// order.
    order: usize,
}

/// The location of an entry's line in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineSpan {
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// An entry found by scanning the file.
#[derive(Debug)]
pub(crate) struct ScannedEntry {
    pub(crate) id: EntryId,
    pub(crate) span: LineSpan,
    kind: EntryKind,
    parent: ScannedParent,
    timestamp_ms: Option<i64>,
    /// The complete entry, if the index needs its body.
    parsed: Option<Box<Entry>>,
}

#[derive(Debug)]
enum ScannedParent {
    None,
    /// The entry found before it, which is by far the most common case; avoids storing the ID
    /// twice.
    Previous,
    Named(EntryId),
}

impl ScannedEntry {
    /// Extracts what the index needs from a line; `None` if the line is not an entry. `read` parses
    /// the complete entry.
    pub(crate) fn new(
        fields: &LineFields<'_>,
        line: RawLine<'_>,
        previous: Option<&Self>,
        read: impl FnOnce() -> Option<Entry>,
    ) -> Option<Self> {
        let type_name = fields.type_name.as_deref()?;
        if type_name == "session" {
            return None;
        }
        let kind = EntryKind::from_names(type_name, fields.role.as_deref());
        let needs_body = matches!(kind, EntryKind::Label | EntryKind::SessionInfo);
        let parent = match (fields.parent_id.as_deref(), previous) {
            (None, _) => ScannedParent::None,
            (Some(parent), Some(previous)) if previous.id == *parent => ScannedParent::Previous,
            (Some(parent), _) => ScannedParent::Named(EntryId::from(parent)),
        };
        Some(Self {
            id: EntryId::from(fields.id.as_deref()?),
            span: LineSpan {
                offset: line.offset,
                length: u32::try_from(line.bytes.len()).ok()?,
            },
            kind,
            parent,
            timestamp_ms: fields.timestamp.as_deref().and_then(timestamp::parse_iso),
            parsed: if needs_body {
                read().map(Box::new)
            } else {
                None
            },
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Index {
    records: Vec<IndexRecord>,
    by_id: SlotsById,
    /// Entries whose parent has not been found yet, by parent ID.
    orphans: HashMap<EntryId, Vec<EntrySlot>>,
    labels: HashMap<EntryId, ActiveLabel>,
    labels_seen: usize,
    name: Option<String>,
}

impl Index {
    pub(crate) fn records(&self) -> &[IndexRecord] {
        &self.records
    }

    pub(crate) fn record(&self, slot: EntrySlot) -> Option<&IndexRecord> {
        self.records.get(slot as usize)
    }

    /// Finds an entry by ID; if several have the same ID, the last one.
    pub(crate) fn find(&self, id: &str) -> Option<EntrySlot> {
        self.by_id.find(id, &self.records)
    }

    pub(crate) fn last(&self) -> Option<EntrySlot> {
        EntrySlot::try_from(self.records.len()).ok()?.checked_sub(1)
    }

    pub(crate) fn label(&self, id: &str) -> Option<&ActiveLabel> {
        self.labels.get(id)
    }

    /// Returns the current labels, oldest first.
    pub(crate) fn labels(&self) -> Vec<(&EntryId, &ActiveLabel)> {
        let mut labels: Vec<_> = self.labels.iter().collect();
        pi_protocol::sort_by_key(&mut labels, |(_, label)| label.order);
        labels
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns whether the line at this offset is already indexed.
    pub(crate) fn contains_offset(&self, offset: u64) -> bool {
        self.records
            .iter()
            .rev()
            .take_while(|record| record.offset >= offset)
            .any(|record| record.offset == offset)
    }

    /// Adds an entry found in the file; `previous` is the one found before it.
    pub(crate) fn add_scanned(&mut self, entry: ScannedEntry, previous: Option<&EntryId>) {
        if let Some(parsed) = &entry.parsed {
            self.apply_metadata(parsed);
        }
        let parent_id = match &entry.parent {
            ScannedParent::None => None,
            ScannedParent::Previous => previous.map(EntryId::as_str),
            ScannedParent::Named(id) => Some(id.as_str()),
        };
        let (kind, timestamp_ms) = (entry.kind, entry.timestamp_ms);
        self.push(entry.id, kind, parent_id, timestamp_ms, entry.span);
    }

    /// Adds an entry that was just written.
    pub(crate) fn add_entry(&mut self, entry: &Entry, span: LineSpan) -> Option<EntrySlot> {
        self.apply_metadata(entry);
        self.push(
            entry.id.clone(),
            entry.body.kind(),
            entry.parent_id.as_ref().map(EntryId::as_str),
            entry.timestamp_ms(),
            span,
        )
    }

    fn push(
        &mut self,
        id: EntryId,
        kind: EntryKind,
        parent_id: Option<&str>,
        timestamp_ms: Option<i64>,
        span: LineSpan,
    ) -> Option<EntrySlot> {
        let slot = EntrySlot::try_from(self.records.len()).ok()?;
        let parent = match parent_id {
            None => Parent::Root,
            Some(parent_id) if id == *parent_id => Parent::Root,
            Some(parent_id) => self.find_parent(parent_id).map_or_else(
                || {
                    let orphans = self.orphans.entry(EntryId::from(parent_id)).or_default();
                    orphans.push(slot);
                    Parent::Missing
                },
                Parent::Entry,
            ),
        };
        let children = if self.orphans.is_empty() {
            None
        } else {
            self.orphans.remove(&id)
        };
        self.records.push(IndexRecord {
            id,
            kind,
            parent,
            timestamp_ms: timestamp_ms.unwrap_or_default(),
            offset: span.offset,
            length: span.length,
        });
        if let Some(children) = children {
            self.attach_children(slot, children);
        }
        self.by_id.insert(slot, &self.records);
        Some(slot)
    }

    /// Finds an entry that is usually the last one.
    fn find_parent(&self, id: &str) -> Option<EntrySlot> {
        match self.records.last() {
            Some(last) if last.id == *id => self.last(),
            _ => self.find(id),
        }
    }

    /// Links children to a parent that was found later, unless the parent is one of their
    /// descendants: paths must not contain cycles.
    fn attach_children(&mut self, parent: EntrySlot, children: Vec<EntrySlot>) {
        for child in children {
            if self.path(parent).any(|slot| slot == child) {
                continue;
            }
            if let Some(record) = self.records.get_mut(child as usize) {
                record.parent = Parent::Entry(parent);
            }
        }
    }

    /// Iterates from an entry to its root.
    pub(crate) fn path(&self, from: EntrySlot) -> impl Iterator<Item = EntrySlot> + '_ {
        std::iter::successors(Some(from), |slot| self.record(*slot)?.parent.slot())
    }

    fn apply_metadata(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Label(label) => match label.label.as_deref() {
                None | Some("") => {
                    self.labels.remove(&label.target_id);
                }
                Some(text) => {
                    self.labels_seen += 1;
                    let order = self
                        .labels
                        .get(&label.target_id)
                        .map_or(self.labels_seen, |label| label.order);
                    let active_label = ActiveLabel {
                        text: text.to_owned(),
                        timestamp: entry.timestamp.clone(),
                        order,
                    };
                    self.labels.insert(label.target_id.clone(), active_label);
                }
            },
            EntryBody::SessionInfo(info) => {
                let name = info.name.as_deref().map_or("", str::trim);
                self.name = (!name.is_empty()).then(|| name.to_owned());
            }
            _ => {}
        }
    }
}
