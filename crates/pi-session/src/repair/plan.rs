//! The contents of a repaired file: the readable records verbatim and in order, plus placeholders.

use std::collections::HashSet;
use std::io::{self, Write};

use pi_protocol::json::JsonObject;
use pi_protocol::{CustomEntry, Entry, SessionHeader, timestamp};
use serde_json::Value;

use crate::check::FileInspection;
use crate::check::file_scan::{Segment, SegmentKind};
use crate::check::links::Placeholder;
use crate::load::parse;
use crate::log::read_range;
use crate::session::encode_record;
use crate::storage::LogFile;

const COPY_CHUNK_BYTES: u64 = 256 * 1024;

/// Custom type of placeholder entries. Like all custom entries, they are not visible to the model.
const PLACEHOLDER_TYPE: &str = "pi.lost-entry";

#[derive(Debug, Default)]
pub(super) struct RepairPlan {
    steps: Vec<OutputStep>,
    /// What is removed from the file.
    pub(super) quarantined: Vec<ByteRange>,
}

#[derive(Debug)]
enum OutputStep {
    /// Copies a range of the old file and adds a line feed.
    Copy(ByteRange),
    /// Writes a record, including its line feed.
    Write(Vec<u8>),
}

/// A byte range of the old file.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteRange {
    offset: u64,
    length: u64,
}

impl ByteRange {
    fn of(segment: &Segment) -> Self {
        Self {
            offset: segment.offset,
            length: segment.length,
        }
    }

    fn copy(self, file: &dyn LogFile, target: &mut dyn Write) -> io::Result<()> {
        copy(file, self.offset, self.offset + self.length, target)?;
        target.write_all(b"\n")
    }
}

pub(super) fn copy(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    target: &mut dyn Write,
) -> io::Result<()> {
    let mut position = start;
    while position < end {
        let next = end.min(position + COPY_CHUNK_BYTES);
        target.write_all(&read_range(file, position, next)?)?;
        position = next;
    }
    Ok(())
}

impl RepairPlan {
    /// Plans the repair of a file; `rebuild_header` is called if there is no header.
    pub(super) fn new(
        inspection: &FileInspection,
        file: &dyn LogFile,
        rebuild_header: impl FnOnce() -> SessionHeader,
    ) -> io::Result<Self> {
        let mut plan = Self::default();
        plan.add_header(inspection, rebuild_header)?;
        let detached: HashSet<usize> = inspection.link_repairs.detached.iter().copied().collect();
        let mut placeholders: Vec<&Placeholder> =
            inspection.link_repairs.placeholders.iter().collect();
        pi_protocol::sort_by_key(&mut placeholders, |placeholder| placeholder.position);
        let mut placeholders = placeholders.into_iter().peekable();
        for (position, segment) in inspection.scan.segments.iter().enumerate() {
            while let Some(placeholder) = placeholders.next_if(|next| next.position <= position) {
                plan.steps
                    .push(OutputStep::Write(encode(&placeholder_entry(placeholder))?));
            }
            let range = ByteRange::of(segment);
            match segment.kind {
                SegmentKind::Entry(_) if detached.contains(&position) => {
                    plan.steps
                        .push(OutputStep::Write(without_parent(file, range)?));
                    plan.quarantined.push(range);
                }
                SegmentKind::Entry(_) | SegmentKind::EntryWithoutId => {
                    plan.steps.push(OutputStep::Copy(range));
                }
                SegmentKind::Unreadable(_) => plan.quarantined.push(range),
                SegmentKind::Header | SegmentKind::Blank => {}
            }
        }
        Ok(plan)
    }

    fn add_header(
        &mut self,
        inspection: &FileInspection,
        rebuild_header: impl FnOnce() -> SessionHeader,
    ) -> io::Result<()> {
        let scan = &inspection.scan;
        let mut segments = scan.segments.iter();
        let old = segments.find(|segment| matches!(segment.kind, SegmentKind::Header));
        let step = match (&scan.header, old.map(ByteRange::of)) {
            (Some(header), Some(old)) if scan.version_mismatch => {
                self.quarantined.push(old);
                let mut header = header.clone();
                header.version = Some(SessionHeader::CURRENT_VERSION);
                OutputStep::Write(encode(&header)?)
            }
            (Some(_), Some(old)) => OutputStep::Copy(old),
            _ => OutputStep::Write(encode(&rebuild_header())?),
        };
        self.steps.push(step);
        Ok(())
    }

    pub(super) fn write(&self, file: &dyn LogFile, target: &mut dyn Write) -> io::Result<()> {
        for step in &self.steps {
            match step {
                OutputStep::Copy(range) => range.copy(file, target)?,
                OutputStep::Write(record) => target.write_all(record)?,
            }
        }
        Ok(())
    }

    /// Writes what is removed from the file, one segment per line.
    pub(super) fn write_quarantined(
        &self,
        file: &dyn LogFile,
        target: &mut dyn Write,
    ) -> io::Result<()> {
        self.quarantined
            .iter()
            .try_for_each(|range| range.copy(file, target))
    }
}

fn placeholder_entry(placeholder: &Placeholder) -> Entry {
    let body = CustomEntry {
        custom_type: PLACEHOLDER_TYPE.to_owned(),
        data: None,
    };
    Entry {
        id: placeholder.id.clone(),
        parent_id: placeholder.parent.clone(),
        timestamp: timestamp::to_iso(placeholder.timestamp_ms),
        body: body.into(),
        extra: JsonObject::new(),
    }
}

/// Re-encodes an entry without its parent.
fn without_parent(file: &dyn LogFile, range: ByteRange) -> io::Result<Vec<u8>> {
    let line = read_range(file, range.offset, range.offset + range.length)?;
    let mut object: JsonObject = parse(&line).ok_or(io::ErrorKind::InvalidData)?;
    object.insert("parentId".to_owned(), Value::Null);
    encode(&object)
}

fn encode<T: serde::Serialize>(value: &T) -> io::Result<Vec<u8>> {
    encode_record(value).map_err(io::Error::other)
}
