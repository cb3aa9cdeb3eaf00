//! The index in a compact form, for another process that reads the same file: about twenty bytes per entry.
//!
//! An entry is stored relative to the one before it. An index that does not have the usual shape, with parents before
//! their children and lines in file order, is not packed: the other process scans the file.

use pi_protocol::{EntryId, EntryKind, MessageRole};

use super::{ActiveLabel, EntrySlot, Index, IndexRecord, Parent, SlotsById};
use codec::{Decoder, Encoder};

mod codec;

/// The kinds by their number. New ones are added at the end; a process that does not know a number reads an unknown
/// entry, as it does in the file.
const KINDS: [EntryKind; 18] = [
    EntryKind::Unknown,
    EntryKind::Message(MessageRole::System),
    EntryKind::Message(MessageRole::User),
    EntryKind::Message(MessageRole::Assistant),
    EntryKind::Message(MessageRole::ToolResult),
    EntryKind::Message(MessageRole::BashExecution),
    EntryKind::Message(MessageRole::Custom),
    EntryKind::Message(MessageRole::Unknown),
    EntryKind::ModelChange,
    EntryKind::ThinkingLevelChange,
    EntryKind::Usage,
    EntryKind::Compaction,
    EntryKind::BranchSummary,
    EntryKind::ContextEdit,
    EntryKind::Custom,
    EntryKind::CustomMessage,
    EntryKind::Label,
    EntryKind::SessionInfo,
];

/// Numbers of parents; larger ones are the distance to the parent, plus one.
const ROOT: u64 = 0;
const MISSING: u64 = 1;

impl Index {
    /// Returns the index as bytes; `None` if it has an unusual shape.
    pub(crate) fn pack(&self) -> Option<Vec<u8>> {
        let mut encoder = Encoder::default();
        encoder.count(self.records.len());
        let (mut end, mut timestamp_ms) = (0, 0);
        for (slot, record) in self.records.iter().enumerate() {
            encoder.text(record.id.as_str());
            let kind = KINDS.iter().position(|kind| *kind == record.kind);
            encoder.byte(u8::try_from(kind.unwrap_or_default()).ok()?);
            encoder.number(match record.parent {
                Parent::Root => ROOT,
                Parent::Missing => MISSING,
                Parent::Entry(parent) => match slot.checked_sub(parent as usize)? {
                    0 => return None,
                    distance => distance as u64 + MISSING,
                },
            });
            encoder.signed(record.timestamp_ms.wrapping_sub(timestamp_ms));
            timestamp_ms = record.timestamp_ms;
            encoder.number(record.offset.checked_sub(end)?);
            encoder.number(u64::from(record.length));
            end = record.offset + u64::from(record.length);
        }
        encoder.count(self.orphans.len());
        for (parent, children) in &self.orphans {
            encoder.text(parent.as_str());
            encoder.count(children.len());
            for slot in children {
                encoder.number(u64::from(*slot));
            }
        }
        encoder.count(self.labels.len());
        for (target, label) in &self.labels {
            encoder.text(target.as_str());
            encoder.text(&label.text);
            encoder.text(&label.timestamp);
            encoder.count(label.order);
        }
        encoder.count(self.labels_seen);
        encoder.text(self.name.as_deref().unwrap_or_default());
        Some(encoder.into_bytes())
    }

    /// Reads an index of a file that has at least `length` bytes. Returns `None` if the bytes are not an index, or one
    /// that does not fit this file.
    pub(crate) fn unpack(bytes: &[u8], length: u64) -> Option<Self> {
        let mut decoder = Decoder::new(bytes);
        let count = decoder.count()?;
        let mut index = Self {
            records: Vec::with_capacity(count),
            by_id: SlotsById::with_capacity(count),
            ..Self::default()
        };
        let (mut end, mut timestamp_ms) = (0_u64, 0_i64);
        for slot in 0..EntrySlot::try_from(count).ok()? {
            let id = EntryId::from(decoder.text()?);
            let kind = KINDS.get(usize::from(decoder.byte()?));
            let parent = match decoder.number()? {
                ROOT => Parent::Root,
                MISSING => Parent::Missing,
                distance => {
                    let distance = EntrySlot::try_from(distance - MISSING).ok()?;
                    Parent::Entry(slot.checked_sub(distance)?)
                }
            };
            timestamp_ms = timestamp_ms.wrapping_add(decoder.signed()?);
            let offset = end.checked_add(decoder.number()?)?;
            let line_length = u32::try_from(decoder.number()?).ok()?;
            end = offset.checked_add(u64::from(line_length))?;
            if end > length {
                return None;
            }
            index.records.push(IndexRecord {
                id,
                kind: kind.copied().unwrap_or(EntryKind::Unknown),
                parent,
                timestamp_ms,
                offset,
                length: line_length,
            });
            index.by_id.insert(slot, &index.records);
        }
        index.unpack_orphans(&mut decoder)?;
        index.unpack_labels(&mut decoder)?;
        let name = decoder.text()?;
        index.name = (!name.is_empty()).then(|| name.to_owned());
        decoder.is_at_end().then_some(index)
    }

    fn unpack_orphans(&mut self, decoder: &mut Decoder<'_>) -> Option<()> {
        for _ in 0..decoder.count()? {
            let parent = EntryId::from(decoder.text()?);
            let mut children = Vec::new();
            for _ in 0..decoder.count()? {
                let slot = EntrySlot::try_from(decoder.number()?).ok()?;
                self.record(slot)
                    .filter(|record| record.parent == Parent::Missing)?;
                children.push(slot);
            }
            self.orphans.insert(parent, children);
        }
        Some(())
    }

    fn unpack_labels(&mut self, decoder: &mut Decoder<'_>) -> Option<()> {
        for _ in 0..decoder.count()? {
            let target = EntryId::from(decoder.text()?);
            let label = ActiveLabel {
                text: decoder.text()?.to_owned(),
                timestamp: decoder.text()?.to_owned(),
                order: usize::try_from(decoder.number()?).ok()?,
            };
            self.labels.insert(target, label);
        }
        self.labels_seen = usize::try_from(decoder.number()?).ok()?;
        Some(())
    }
}
