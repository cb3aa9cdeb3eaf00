//! What a repaired file holds: the good records as they stand, in their order, and what joins them.

use std::collections::HashSet;
use std::io::{self, Write};

use pi_ai::json::JsonObject;
use serde_json::Value;

use crate::check::Examined;
use crate::check::links::StandIn;
use crate::check::survey::{Content, Piece};
use crate::entry::{CustomEntry, Entry};
use crate::header::{CURRENT_VERSION, SessionHeader};
use crate::load::parse;
use crate::log::read_range;
use crate::moment;
use crate::storage::LogFile;
use crate::store::spell;

/// How much of a file is copied at once.
const COPY_PIECE: u64 = 256 * 1024;

/// The type of the entries that stand in for lost ones. Like all of their kind they are for no model.
const STAND_IN_TYPE: &str = "pi.lost-entry";

/// What a repaired file is put together from.
#[derive(Debug, Default)]
pub(super) struct Plan {
    steps: Vec<Step>,
    /// What does not stay in the file.
    pub(super) aside: Vec<Place>,
}

#[derive(Debug)]
enum Step {
    /// These bytes of the old file and a line feed.
    Keep(Place),
    /// A record, line feed included.
    Write(Vec<u8>),
}

/// A range of the old file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    offset: u64,
    length: u64,
}

impl Place {
    fn of(piece: &Piece) -> Self {
        Self {
            offset: piece.offset,
            length: piece.length,
        }
    }

    fn copy(self, file: &dyn LogFile, target: &mut dyn Write) -> io::Result<()> {
        copy(file, self.offset, self.offset + self.length, target)?;
        target.write_all(b"\n")
    }
}

/// Copies a range of a file.
pub(super) fn copy(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    target: &mut dyn Write,
) -> io::Result<()> {
    let mut position = start;
    while position < end {
        let next = end.min(position + COPY_PIECE);
        target.write_all(&read_range(file, position, next)?)?;
        position = next;
    }
    Ok(())
}

impl Plan {
    /// Plans the repair of a file; `rebuilt` makes a header where there is none.
    pub(super) fn new(
        examined: &Examined,
        file: &dyn LogFile,
        rebuilt: impl FnOnce() -> SessionHeader,
    ) -> io::Result<Self> {
        let mut plan = Self::default();
        plan.put_header(examined, rebuilt)?;
        let cut: HashSet<usize> = examined.mending.cut.iter().copied().collect();
        let mut stand_ins: Vec<&StandIn> = examined.mending.stand_ins.iter().collect();
        stand_ins.sort_by_key(|stand_in| stand_in.place);
        let mut stand_ins = stand_ins.into_iter().peekable();
        for (position, piece) in examined.survey.pieces.iter().enumerate() {
            while let Some(stand_in) = stand_ins.next_if(|next| next.place <= position) {
                plan.steps.push(Step::Write(spelled(&record_of(stand_in))?));
            }
            let place = Place::of(piece);
            match piece.content {
                Content::Entry(_) if cut.contains(&position) => {
                    plan.steps.push(Step::Write(without_parent(file, place)?));
                    plan.aside.push(place);
                }
                Content::Entry(_) | Content::EntryWithoutId => plan.steps.push(Step::Keep(place)),
                Content::Lost(_) => plan.aside.push(place),
                Content::Header | Content::Nothing => {}
            }
        }
        Ok(plan)
    }

    fn put_header(
        &mut self,
        examined: &Examined,
        rebuilt: impl FnOnce() -> SessionHeader,
    ) -> io::Result<()> {
        let survey = &examined.survey;
        let mut pieces = survey.pieces.iter();
        let old = pieces.find(|piece| matches!(piece.content, Content::Header));
        let step = match (&survey.header, old.map(Place::of)) {
            (Some(header), Some(old)) if survey.version_is_doubtful => {
                self.aside.push(old);
                let header = header.clone().with_version(Some(CURRENT_VERSION));
                Step::Write(spelled(&header)?)
            }
            (Some(_), Some(old)) => Step::Keep(old),
            _ => Step::Write(spelled(&rebuilt())?),
        };
        self.steps.push(step);
        Ok(())
    }

    /// Writes the repaired file.
    pub(super) fn write(&self, file: &dyn LogFile, target: &mut dyn Write) -> io::Result<()> {
        for step in &self.steps {
            match step {
                Step::Keep(place) => place.copy(file, target)?,
                Step::Write(record) => target.write_all(record)?,
            }
        }
        Ok(())
    }

    /// Writes what does not stay in the file, a line each.
    pub(super) fn write_aside(&self, file: &dyn LogFile, target: &mut dyn Write) -> io::Result<()> {
        self.aside
            .iter()
            .try_for_each(|place| place.copy(file, target))
    }
}

fn record_of(stand_in: &StandIn) -> Entry {
    let body = CustomEntry {
        custom_type: STAND_IN_TYPE.to_owned(),
        data: None,
    };
    Entry {
        id: stand_in.id.clone(),
        parent_id: stand_in.parent.clone(),
        timestamp: moment::to_iso(stand_in.timestamp_ms),
        body: body.into(),
        extra: JsonObject::new(),
    }
}

/// Spells an entry anew as one that follows none.
fn without_parent(file: &dyn LogFile, place: Place) -> io::Result<Vec<u8>> {
    let line = read_range(file, place.offset, place.offset + place.length)?;
    let mut object: JsonObject = parse(&line).ok_or(io::ErrorKind::InvalidData)?;
    object.insert("parentId".to_owned(), Value::Null);
    spelled(&object)
}

fn spelled<T: serde::Serialize>(value: &T) -> io::Result<Vec<u8>> {
    spell(value).map_err(io::Error::other)
}
