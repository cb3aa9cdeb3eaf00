//! The lines of a session file, one by one: which are records, which hold some, which hold none.
//!
//! A line that is no record is searched for whole records in it: null bytes before one, half a record
//! that another was appended to, a lost line feed. How the records hang together is the business of
//! [`super::links`].

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::problem::{Findings, ProblemKind};
use super::wreckage::{self, LostFacts};
use crate::entry::{BranchSummaryEntry, Entry, EntryBody, EntryId};
use crate::header::{CURRENT_VERSION, SessionHeader};
use crate::kind::EntryKind;
use crate::load::parse;
use crate::reader::{Flow, RawLine, each_line};
use crate::scan::{Fields, Line, Scanner};
use crate::storage::LogFile;

/// A record of this many bytes is worth a remark.
const HUGE_LINE: u64 = 64 * 1024 * 1024;

/// How much of a damaged header is looked at.
const HEADER_PIECE: usize = 64 * 1024;

/// A part of a file: a line, or what a line was taken apart into.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The line it stands on, counted from 1.
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) content: Content,
}

/// What a part of a file is.
#[derive(Debug)]
pub(crate) enum Content {
    Header,
    Entry(EntryFacts),
    /// An entry of the first format, which has no id.
    EntryWithoutId,
    /// Nothing that anybody would miss.
    Nothing,
    /// Something that cannot be read, and what can be told of it.
    Lost(Option<LostFacts>),
}

/// What the links between entries are checked by.
#[derive(Debug)]
pub(crate) struct EntryFacts {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) timestamp_ms: Option<i64>,
    pub(crate) reference: Option<Reference>,
}

/// An entry that another names beside its parent.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) type_name: &'static str,
    pub(crate) target: EntryId,
}

/// All parts of a file.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) header: Option<SessionHeader>,
    /// The header names a format that its entries do not have.
    pub(crate) version_is_doubtful: bool,
    /// What is left of a header that cannot be read.
    pub(crate) damaged_header: Option<Vec<u8>>,
    pub(crate) findings: Findings,
}

impl Survey {
    /// Looks at every line of a file.
    pub(crate) fn of(file: &dyn LogFile, length: u64) -> io::Result<Self> {
        let mut surveyor = Surveyor::default();
        each_line(file, 0, length, |line| {
            surveyor.visit(line);
            Flow::Continue
        })?;
        Ok(surveyor.finish(length))
    }

    /// Returns how many entries the file has.
    pub(crate) fn entry_count(&self) -> usize {
        let is_entry =
            |piece: &&Piece| matches!(piece.content, Content::Entry(_) | Content::EntryWithoutId);
        self.pieces.iter().filter(is_entry).count()
    }

    /// Returns whether the file has the first format, without ids.
    pub(crate) fn is_first_format(&self) -> bool {
        self.pieces
            .iter()
            .any(|piece| matches!(piece.content, Content::EntryWithoutId))
    }

    /// Returns whether there is anything to make a session of.
    pub(crate) fn has_records(&self) -> bool {
        self.header.is_some() || self.entry_count() > 0
    }
}

#[derive(Debug, Default)]
struct Surveyor {
    scanner: Scanner,
    survey: Survey,
    line: u64,
    unknown_types: BTreeMap<String, usize>,
    carriage_returns: usize,
    has_ids: bool,
    /// Where each entry without an id stands among the pieces.
    without_id: Vec<usize>,
    /// A line before the header is JSON: only what is not is passed over when a header is looked for.
    json_came_first: bool,
}

impl Surveyor {
    fn visit(&mut self, line: RawLine<'_>) {
        self.line += 1;
        if self.line == 1 && line.offset > 0 {
            self.note(ProblemKind::ByteOrderMark);
        }
        if line.bytes.last() == Some(&b'\r') {
            self.carriage_returns += 1;
        }
        let mut scanner = std::mem::take(&mut self.scanner);
        match scanner.scan(line.bytes) {
            Line::Blank => self.push(line, 0..line.bytes.len(), Content::Nothing),
            Line::Malformed => self.take_apart(line, &mut scanner),
            Line::Scalar => {
                self.lose(line, 0..line.bytes.len(), ProblemKind::NotAnEntry);
                self.json_came_first = true;
            }
            Line::Object(fields) => {
                self.record(line, 0..line.bytes.len(), &fields);
                self.json_came_first = true;
                if !line.terminated {
                    self.note(ProblemKind::MissingLineFeed);
                }
            }
        }
        self.scanner = scanner;
    }

    fn note(&mut self, kind: ProblemKind) {
        self.survey.findings.add(Some(self.line), kind);
    }

    fn push(&mut self, line: RawLine<'_>, range: Range<usize>, content: Content) {
        let Range { start, end } = range;
        self.survey.pieces.push(Piece {
            line: self.line,
            offset: line.offset + start as u64,
            length: (end - start) as u64,
            content,
        });
    }

    fn lose(&mut self, line: RawLine<'_>, range: Range<usize>, kind: ProblemKind) {
        self.note(kind);
        self.quarantined(line, range);
    }

    fn quarantined(&mut self, line: RawLine<'_>, range: Range<usize>) {
        let bytes = line.bytes.get(range.clone()).unwrap_or_default();
        if self.survey.header.is_none()
            && self.survey.damaged_header.is_none()
            && !self.has_ids
            && self.without_id.is_empty()
        {
            let start = bytes.get(..HEADER_PIECE).unwrap_or(bytes);
            self.survey.damaged_header = Some(start.to_vec());
        }
        let facts = wreckage::facts(bytes);
        self.push(line, range, Content::Lost(facts));
    }

    /// Takes in an object that stands in a range of a line.
    fn record(&mut self, line: RawLine<'_>, range: Range<usize>, fields: &Fields<'_>) {
        let bytes = line.bytes.get(range.clone()).unwrap_or_default();
        match (fields.type_name.as_deref(), fields.id.as_deref()) {
            (Some("session"), _) => self.header(line, range, bytes),
            (Some(_), Some(id)) => match parse::<Entry>(bytes) {
                Some(entry) => self.entry(line, range, &entry),
                None => {
                    let id = EntryId::from(id);
                    self.lose(line, range, ProblemKind::TooDeeplyNested { id });
                }
            },
            (Some(_), None) => {
                self.without_id.push(self.survey.pieces.len());
                self.push(line, range, Content::EntryWithoutId);
            }
            (None, _) => self.lose(line, range, ProblemKind::NotAnEntry),
        }
    }

    fn header(&mut self, line: RawLine<'_>, range: Range<usize>, bytes: &[u8]) {
        if self.survey.header.is_some() {
            return self.lose(line, range, ProblemKind::SecondHeader);
        }
        let Some(header) = parse::<SessionHeader>(bytes) else {
            return self.lose(line, range, ProblemKind::DamagedHeader);
        };
        if self.json_came_first {
            self.note(ProblemKind::HeaderNotFirst);
        }
        self.survey.header = Some(header);
        self.push(line, range, Content::Header);
    }

    fn entry(&mut self, line: RawLine<'_>, range: Range<usize>, entry: &Entry) {
        self.has_ids = true;
        let bytes = line.bytes.get(range.clone()).unwrap_or_default();
        if let EntryBody::Unknown(body) = &entry.body {
            let type_name = body.type_name.clone();
            if EntryKind::from_names(&type_name, None) == EntryKind::Unknown {
                *self.unknown_types.entry(type_name).or_default() += 1;
            } else {
                self.note(ProblemKind::UnexpectedShape { type_name });
            }
        }
        if std::str::from_utf8(bytes).is_err() {
            self.note(ProblemKind::InvalidUtf8);
        }
        let is_raw_control = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\r');
        if bytes.iter().any(is_raw_control) {
            self.note(ProblemKind::ControlCharacters);
        }
        if bytes.len() as u64 >= HUGE_LINE {
            let bytes = bytes.len() as u64;
            self.note(ProblemKind::HugeLine { bytes });
        }
        let facts = EntryFacts {
            id: entry.id.clone(),
            parent: entry.parent_id.clone(),
            timestamp_ms: entry.timestamp_ms(),
            reference: reference(entry),
        };
        self.push(line, range, Content::Entry(facts));
    }

    /// Looks for whole records in a line that is none.
    fn take_apart(&mut self, line: RawLine<'_>, scanner: &mut Scanner) {
        let first_piece = self.survey.pieces.len();
        let mut end = 0;
        let mut found = 0;
        while let Some((range, fields)) = wreckage::next_record(line.bytes, end, scanner) {
            self.remainder(line, end..range.start);
            end = range.end;
            found += 1;
            self.record(line, range, &fields);
        }
        self.remainder(line, end..line.bytes.len());
        let pieces = self.survey.pieces.get(first_piece..).unwrap_or_default();
        let has_lost = pieces
            .iter()
            .any(|piece| matches!(piece.content, Content::Lost(_)));
        let has_void = pieces
            .iter()
            .any(|piece| matches!(piece.content, Content::Nothing));
        let salvaged = found;
        self.note(match (has_lost, has_void) {
            (true, _) if !line.terminated => ProblemKind::TornTail { salvaged },
            (true, _) => ProblemKind::Garbage { salvaged },
            (false, true) => ProblemKind::NullBytes { salvaged },
            (false, false) => ProblemKind::JoinedRecords { count: found },
        });
    }

    /// Takes in what stands between whole records.
    fn remainder(&mut self, line: RawLine<'_>, range: Range<usize>) {
        let bytes = line.bytes.get(range.clone()).unwrap_or_default();
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if wreckage::is_void(bytes) {
            self.push(line, range, Content::Nothing);
        } else {
            self.quarantined(line, range);
        }
    }

    fn finish(mut self, length: u64) -> Survey {
        self.judge_version();
        let findings = &mut self.survey.findings;
        for (type_name, count) in self.unknown_types {
            findings.add(None, ProblemKind::UnknownType { type_name, count });
        }
        if self.carriage_returns > 0 {
            let count = self.carriage_returns;
            findings.add(None, ProblemKind::CarriageReturns { count });
        }
        if length == 0 {
            findings.add(None, ProblemKind::Empty);
        } else if !self.survey.has_records() {
            self.survey.findings.add(None, ProblemKind::NoReadableRecords);
        } else if self.survey.header.is_none() {
            self.survey.findings.add(None, ProblemKind::MissingHeader);
        }
        self.survey
    }

    /// Compares the format the header names with the one the entries have.
    fn judge_version(&mut self) {
        let version = self
            .survey
            .header
            .as_ref()
            .map(SessionHeader::format_version);
        let is_first_format = !self.has_ids && version.is_none_or(|version| version <= 1);
        if !is_first_format {
            for position in std::mem::take(&mut self.without_id) {
                if let Some(piece) = self.survey.pieces.get_mut(position) {
                    piece.content = Content::Lost(None);
                    let line = Some(piece.line);
                    self.survey.findings.add(line, ProblemKind::NotAnEntry);
                }
            }
        }
        let findings = &mut self.survey.findings;
        match version {
            Some(version) if version <= 1 && self.has_ids => {
                self.survey.version_is_doubtful = true;
                findings.add(None, ProblemKind::VersionMismatch { version });
            }
            Some(version) if version < CURRENT_VERSION => {
                findings.add(None, ProblemKind::OldVersion { version });
            }
            Some(version) if version > CURRENT_VERSION => {
                findings.add(None, ProblemKind::NewerVersion { version });
            }
            Some(_) | None => {}
        }
    }
}

/// Returns the entry that another names beside its parent.
fn reference(entry: &Entry) -> Option<Reference> {
    let (type_name, target) = match &entry.body {
        EntryBody::Compaction(body) => ("compaction", body.first_kept_entry_id.clone()?),
        EntryBody::Label(body) => ("label", body.target_id.clone()),
        EntryBody::ContextEdit(body) => ("context edit", body.target_id.clone()),
        EntryBody::BranchSummary(body) if body.from_id != BranchSummaryEntry::FROM_ROOT => {
            ("branch summary", body.from_id.clone())
        }
        _ => return None,
    };
    (target != entry.id).then_some(Reference { type_name, target })
}
