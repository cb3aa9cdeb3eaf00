//! What is known of a session without reading its entries: where each one stands in the file and how
//! they hang together.
//!
//! The index grows with the file and never changes what it knows of an entry, except that a parent
//! may turn up after its child. It reads labels and names, which are few; every other body stays on
//! the disk.

use std::collections::HashMap;

use crate::entry::{Entry, EntryBody, EntryId};
use crate::kind::EntryKind;
use crate::moment;
use crate::reader::RawLine;
use crate::scan::Fields;

/// The position of an entry in the order of the file.
pub(crate) type Slot = u32;

/// What the index knows of one entry.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) id: EntryId,
    pub(crate) kind: EntryKind,
    pub(crate) parent: Parent,
    pub(crate) timestamp_ms: i64,
    /// Where its line begins.
    pub(crate) offset: u64,
    /// How long its line is, without the line feed.
    pub(crate) length: u32,
}

/// What an entry follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    /// Nothing: it is a root.
    Root,
    /// An entry that is nowhere in the file, or one that follows this one in turn.
    Missing,
    Entry(Slot),
}

impl Parent {
    pub(crate) fn slot(self) -> Option<Slot> {
        match self {
            Self::Entry(slot) => Some(slot),
            Self::Root | Self::Missing => None,
        }
    }
}

/// A label in force.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Label {
    pub(crate) text: String,
    pub(crate) timestamp: String,
    /// When the target first got a label since it last had none: the order labels are copied in.
    order: usize,
}

/// Where the line of an entry stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// An entry as a scan of the file finds it.
#[derive(Debug)]
pub(crate) struct FoundEntry {
    pub(crate) id: EntryId,
    pub(crate) place: Place,
    kind: EntryKind,
    parent: FoundParent,
    timestamp_ms: Option<i64>,
    /// The whole entry, where the index needs what it says.
    whole: Option<Box<Entry>>,
}

/// What a found entry says that it follows.
#[derive(Debug)]
enum FoundParent {
    None,
    /// The entry found before it, as nearly always: the id need not be kept twice.
    Before,
    Named(EntryId),
}

impl FoundEntry {
    /// Takes what the index needs from a line; nothing if the line is no entry. `read` reads all of it.
    pub(crate) fn new(
        fields: &Fields<'_>,
        line: RawLine<'_>,
        before: Option<&Self>,
        read: impl FnOnce() -> Option<Entry>,
    ) -> Option<Self> {
        let type_name = fields.type_name.as_deref()?;
        if type_name == "session" {
            return None;
        }
        let kind = EntryKind::from_names(type_name, fields.role.as_deref());
        let says_something = matches!(kind, EntryKind::Label | EntryKind::SessionInfo);
        let parent = match (fields.parent_id.as_deref(), before) {
            (None, _) => FoundParent::None,
            (Some(parent), Some(before)) if before.id == *parent => FoundParent::Before,
            (Some(parent), _) => FoundParent::Named(EntryId::from(parent)),
        };
        Some(Self {
            id: EntryId::from(fields.id.as_deref()?),
            place: Place {
                offset: line.offset,
                length: u32::try_from(line.bytes.len()).ok()?,
            },
            kind,
            parent,
            timestamp_ms: fields.timestamp.as_deref().and_then(moment::parse_iso),
            whole: if says_something {
                read().map(Box::new)
            } else {
                None
            },
        })
    }
}

/// The index of a session.
#[derive(Debug, Default)]
pub(crate) struct Index {
    records: Vec<Record>,
    by_id: HashMap<EntryId, Slot>,
    /// Entries whose parent has not turned up, by that parent.
    waiting: HashMap<EntryId, Vec<Slot>>,
    labels: HashMap<EntryId, Label>,
    labels_seen: usize,
    name: Option<String>,
}

impl Index {
    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    pub(crate) fn record(&self, slot: Slot) -> Option<&Record> {
        self.records.get(slot as usize)
    }

    /// Finds an entry; of several with one id, the last.
    pub(crate) fn find(&self, id: &str) -> Option<Slot> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn last(&self) -> Option<Slot> {
        Slot::try_from(self.records.len()).ok()?.checked_sub(1)
    }

    pub(crate) fn label(&self, id: &str) -> Option<&Label> {
        self.labels.get(id)
    }

    /// Returns the labels in force, oldest first.
    pub(crate) fn labels(&self) -> Vec<(&EntryId, &Label)> {
        let mut labels: Vec<_> = self.labels.iter().collect();
        labels.sort_by_key(|(_, label)| label.order);
        labels
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns whether the line at this offset is known already.
    pub(crate) fn knows_line(&self, offset: u64) -> bool {
        self.records
            .iter()
            .rev()
            .take_while(|record| record.offset >= offset)
            .any(|record| record.offset == offset)
    }

    /// Adds an entry that was found in the file; `before` is the one found before it.
    pub(crate) fn add_found(&mut self, entry: &FoundEntry, before: Option<&EntryId>) {
        if let Some(whole) = &entry.whole {
            self.note(whole);
        }
        let parent_id = match &entry.parent {
            FoundParent::None => None,
            FoundParent::Before => before.map(EntryId::as_str),
            FoundParent::Named(id) => Some(id.as_str()),
        };
        let (id, kind) = (entry.id.clone(), entry.kind);
        self.push(id, kind, parent_id, entry.timestamp_ms, entry.place);
    }

    /// Adds an entry just written.
    pub(crate) fn add_entry(&mut self, entry: &Entry, place: Place) -> Option<Slot> {
        self.note(entry);
        self.push(
            entry.id.clone(),
            entry.body.kind(),
            entry.parent_id.as_ref().map(EntryId::as_str),
            entry.timestamp_ms(),
            place,
        )
    }

    fn push(
        &mut self,
        id: EntryId,
        kind: EntryKind,
        parent_id: Option<&str>,
        timestamp_ms: Option<i64>,
        place: Place,
    ) -> Option<Slot> {
        let slot = Slot::try_from(self.records.len()).ok()?;
        let parent = match parent_id {
            None => Parent::Root,
            Some(parent_id) if id == *parent_id => Parent::Root,
            Some(parent_id) => self.find_parent(parent_id).map_or_else(
                || {
                    let waiting = self.waiting.entry(EntryId::from(parent_id)).or_default();
                    waiting.push(slot);
                    Parent::Missing
                },
                Parent::Entry,
            ),
        };
        self.records.push(Record {
            id: id.clone(),
            kind,
            parent,
            timestamp_ms: timestamp_ms.unwrap_or_default(),
            offset: place.offset,
            length: place.length,
        });
        if !self.waiting.is_empty()
            && let Some(children) = self.waiting.remove(&id)
        {
            self.adopt(slot, children);
        }
        self.by_id.insert(id, slot);
        Some(slot)
    }

    /// Finds an entry that is most often the last one.
    fn find_parent(&self, id: &str) -> Option<Slot> {
        match self.records.last() {
            Some(last) if last.id == *id => self.last(),
            _ => self.find(id),
        }
    }

    /// Gives a parent that came late to its children, unless it descends from them itself: no path
    /// may run in a circle.
    fn adopt(&mut self, parent: Slot, children: Vec<Slot>) {
        for child in children {
            if self.path(parent).any(|slot| slot == child) {
                continue;
            }
            if let Some(record) = self.records.get_mut(child as usize) {
                record.parent = Parent::Entry(parent);
            }
        }
    }

    /// Walks from an entry to its root.
    pub(crate) fn path(&self, from: Slot) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(Some(from), |slot| self.record(*slot)?.parent.slot())
    }

    fn note(&mut self, entry: &Entry) {
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
                    let label_in_force = Label {
                        text: text.to_owned(),
                        timestamp: entry.timestamp.clone(),
                        order,
                    };
                    self.labels.insert(label.target_id.clone(), label_in_force);
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
