//! Classifies the lines of a session file. A malformed line is searched for complete records: after
//! null bytes, after a partial record, or joined because a line feed is missing. Links between
//! records are checked in [`super::links`].

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use pi_protocol::{
    BranchSummaryEntry, Entry, EntryBody, EntryId, EntryKind, MessageRole, SessionHeader,
};

use super::problem::{Findings, ProblemKind, Severity};
use super::salvage::{self, SalvagedInfo};
use crate::checksums::ChecksumReport;
use crate::load::parse;
use crate::reader::{LineFlow, RawLine, each_line};
use crate::scan::{LineFields, ScannedLine, Scanner};
use crate::storage::LogFile;

/// Records of at least this size are reported.
const HUGE_LINE: u64 = 64 * 1024 * 1024;

/// How much of a damaged header is kept for salvaging.
const DAMAGED_HEADER_BYTES: usize = 64 * 1024;

/// A part of a file: a line, or a part of a malformed line.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Line number, starting at 1.
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) kind: SegmentKind,
}

#[derive(Debug)]
pub(crate) enum SegmentKind {
    Header,
    Entry(EntryLinkInfo),
    /// An entry of the first format, which has no ID.
    EntryWithoutId,
    /// Blank lines, null bytes and other filler.
    Blank,
    /// Unreadable bytes, and what could be salvaged from them.
    Unreadable(Option<SalvagedInfo>),
}

/// What is needed to check the links between entries.
#[derive(Debug)]
pub(crate) struct EntryLinkInfo {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) timestamp_ms: Option<i64>,
    pub(crate) reference: Option<EntryReference>,
}

/// A reference to an entry other than the parent.
#[derive(Debug)]
pub(crate) struct EntryReference {
    pub(crate) type_name: &'static str,
    pub(crate) target: EntryId,
}

#[derive(Debug, Default)]
pub(crate) struct FileScan {
    pub(crate) segments: Vec<Segment>,
    pub(crate) header: Option<SessionHeader>,
    /// The header declares a format that does not match the entries.
    pub(crate) version_mismatch: bool,
    /// The remains of a header that cannot be parsed.
    pub(crate) damaged_header: Option<Vec<u8>>,
    pub(crate) findings: Findings,
}

impl FileScan {
    /// Scans every line of a file.
    pub(crate) fn of(file: &dyn LogFile, length: u64) -> io::Result<Self> {
        let mut builder = FileScanBuilder::default();
        each_line(file, 0, length, |line| {
            builder.visit(line);
            LineFlow::Continue
        })?;
        Ok(builder.finish(length))
    }

    pub(crate) fn entry_count(&self) -> usize {
        let segments = self.segments.iter();
        segments.filter(|segment| segment.is_entry()).count()
    }

    /// Adds what checksums reveal, and returns the number of entries that match theirs.
    pub(crate) fn add_checksums(&mut self, report: &ChecksumReport) -> usize {
        let segments_in = |start: u64, end: u64| {
            let first = self.segments.partition_point(|it| it.offset < start);
            let last = self.segments.partition_point(|it| it.offset < end);
            self.segments.get(first..last).unwrap_or_default()
        };
        let intact = report.intact.iter();
        let intact = intact.flat_map(|(start, end)| segments_in(*start, *end));
        let verified = intact.filter(|segment| segment.is_entry()).count();
        for range in &report.altered {
            let lines = segments_in(range.start, range.end);
            let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
                continue;
            };
            let (first, last) = (first.line, last.line);
            // Lines that are damaged in another way differ from their checksum, too.
            let is_reported = self.findings.problems.iter().any(|problem| {
                let is_within = problem.line.is_some_and(|it| (first..=last).contains(&it));
                is_within && problem.kind.severity() == Severity::Damage
            });
            if !is_reported {
                let kind = ProblemKind::ChangedText {
                    last_line: last,
                    is_silent: range.is_silent,
                };
                self.findings.add(Some(first), kind);
            }
        }
        if report.moved > 0 {
            self.findings.add(None, ProblemKind::Rewritten);
        }
        verified
    }

    /// Returns whether the file has the first format, without IDs.
    pub(crate) fn is_first_format(&self) -> bool {
        self.segments
            .iter()
            .any(|segment| matches!(segment.kind, SegmentKind::EntryWithoutId))
    }

    /// Returns whether the file contains anything to build a session from.
    pub(crate) fn has_records(&self) -> bool {
        self.header.is_some() || self.entry_count() > 0
    }
}

impl Segment {
    fn is_entry(&self) -> bool {
        matches!(
            self.kind,
            SegmentKind::Entry(_) | SegmentKind::EntryWithoutId
        )
    }
}

#[derive(Debug, Default)]
struct FileScanBuilder {
    scanner: Scanner,
    scan: FileScan,
    line: u64,
    unknown_types: BTreeMap<String, usize>,
    carriage_returns: usize,
    has_ids: bool,
    /// Positions of the segments that are entries without an ID.
    without_id: Vec<usize>,
    /// Whether valid JSON precedes the header; only lines that are not JSON are skipped when a
    /// header is searched.
    json_before_header: bool,
}

impl FileScanBuilder {
    fn visit(&mut self, line: RawLine<'_>) {
        self.line += 1;
        if self.line == 1 && line.offset > 0 {
            self.add_problem(ProblemKind::ByteOrderMark);
        }
        if line.bytes.last() == Some(&b'\r') {
            self.carriage_returns += 1;
        }
        let mut scanner = std::mem::take(&mut self.scanner);
        match scanner.scan(line.bytes) {
            ScannedLine::Blank => self.push(line, 0..line.bytes.len(), SegmentKind::Blank),
            ScannedLine::Malformed => self.split_malformed(line, &mut scanner),
            ScannedLine::Scalar => {
                self.report_unreadable(line, 0..line.bytes.len(), ProblemKind::NotAnEntry);
                self.json_before_header = true;
            }
            ScannedLine::Object(fields) => {
                self.visit_object(line, 0..line.bytes.len(), &fields);
                self.json_before_header = true;
                if !line.terminated {
                    self.add_problem(ProblemKind::MissingLineFeed);
                }
            }
        }
        self.scanner = scanner;
    }

    fn add_problem(&mut self, kind: ProblemKind) {
        self.scan.findings.add(Some(self.line), kind);
    }

    fn push(&mut self, line: RawLine<'_>, range: Range<usize>, kind: SegmentKind) {
        let Range { start, end } = range;
        self.scan.segments.push(Segment {
            line: self.line,
            offset: line.offset + start as u64,
            length: (end - start) as u64,
            kind,
        });
    }

    fn report_unreadable(&mut self, line: RawLine<'_>, range: Range<usize>, kind: ProblemKind) {
        self.add_problem(kind);
        self.push_unreadable(line, range);
    }

    fn push_unreadable(&mut self, line: RawLine<'_>, range: Range<usize>) {
        let bytes = line.bytes.get(range.clone()).unwrap_or_default();
        if self.scan.header.is_none()
            && self.scan.damaged_header.is_none()
            && !self.has_ids
            && self.without_id.is_empty()
        {
            let start = bytes.get(..DAMAGED_HEADER_BYTES).unwrap_or(bytes);
            self.scan.damaged_header = Some(start.to_vec());
        }
        let info = salvage::link_info(bytes);
        self.push(line, range, SegmentKind::Unreadable(info));
    }

    /// Handles an object found in a range of a line.
    fn visit_object(&mut self, line: RawLine<'_>, range: Range<usize>, fields: &LineFields<'_>) {
        let bytes = line.bytes.get(range.clone()).unwrap_or_default();
        match (fields.type_name.as_deref(), fields.id.as_deref()) {
            (Some("session"), _) => self.visit_header(line, range, bytes),
            (Some(_), Some(id)) => match parse::<Entry>(bytes) {
                Some(entry) => {
                    if entry.body.kind() == EntryKind::Message(MessageRole::Unknown) {
                        let role = fields.role.as_deref().unwrap_or_default();
                        let type_name = format!("message with role \"{role}\"");
                        *self.unknown_types.entry(type_name).or_default() += 1;
                    }
                    self.visit_entry(line, range, &entry);
                }
                None => {
                    let id = EntryId::from(id);
                    self.report_unreadable(line, range, ProblemKind::TooDeeplyNested { id });
                }
            },
            (Some(_), None) => {
                self.without_id.push(self.scan.segments.len());
                self.push(line, range, SegmentKind::EntryWithoutId);
            }
            (None, _) => self.report_unreadable(line, range, ProblemKind::NotAnEntry),
        }
    }

    fn visit_header(&mut self, line: RawLine<'_>, range: Range<usize>, bytes: &[u8]) {
        if self.scan.header.is_some() {
            return self.report_unreadable(line, range, ProblemKind::SecondHeader);
        }
        let Some(header) = parse::<SessionHeader>(bytes) else {
            return self.report_unreadable(line, range, ProblemKind::DamagedHeader);
        };
        if self.json_before_header {
            self.add_problem(ProblemKind::HeaderNotFirst);
        }
        self.scan.header = Some(header);
        self.push(line, range, SegmentKind::Header);
    }

    fn visit_entry(&mut self, line: RawLine<'_>, range: Range<usize>, entry: &Entry) {
        self.has_ids = true;
        let bytes = line.bytes.get(range.clone()).unwrap_or_default();
        if let EntryBody::Unknown(body) = &entry.body {
            let type_name = body.type_name.clone();
            if EntryKind::from_names(&type_name, None) == EntryKind::Unknown {
                *self.unknown_types.entry(type_name).or_default() += 1;
            } else {
                self.add_problem(ProblemKind::UnexpectedShape { type_name });
            }
        }
        if std::str::from_utf8(bytes).is_err() {
            self.add_problem(ProblemKind::InvalidUtf8);
        }
        let is_raw_control = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\r');
        if bytes.iter().any(is_raw_control) {
            self.add_problem(ProblemKind::ControlCharacters);
        }
        if bytes.len() as u64 >= HUGE_LINE {
            let bytes = bytes.len() as u64;
            self.add_problem(ProblemKind::HugeLine { bytes });
        }
        let info = EntryLinkInfo {
            id: entry.id.clone(),
            parent: entry.parent_id.clone(),
            timestamp_ms: entry.timestamp_ms(),
            reference: reference(entry),
        };
        self.push(line, range, SegmentKind::Entry(info));
    }

    /// Splits a malformed line into complete records and unreadable parts.
    fn split_malformed(&mut self, line: RawLine<'_>, scanner: &mut Scanner) {
        let first_segment = self.scan.segments.len();
        let mut end = 0;
        let mut salvaged_count = 0;
        while let Some((range, fields)) = salvage::next_record(line.bytes, end, scanner) {
            self.visit_gap(line, end..range.start);
            end = range.end;
            salvaged_count += 1;
            self.visit_object(line, range, &fields);
        }
        self.visit_gap(line, end..line.bytes.len());
        let segments = self.scan.segments.get(first_segment..).unwrap_or_default();
        let has_unreadable = segments
            .iter()
            .any(|segment| matches!(segment.kind, SegmentKind::Unreadable(_)));
        let has_filler = segments
            .iter()
            .any(|segment| matches!(segment.kind, SegmentKind::Blank));
        let salvaged = salvaged_count;
        self.add_problem(match (has_unreadable, has_filler) {
            (true, _) if !line.terminated => ProblemKind::TornTail { salvaged },
            (true, _) => ProblemKind::Garbage { salvaged },
            (false, true) => ProblemKind::NullBytes { salvaged },
            (false, false) => ProblemKind::JoinedRecords {
                count: salvaged_count,
            },
        });
    }

    /// Handles the bytes between complete records.
    fn visit_gap(&mut self, line: RawLine<'_>, range: Range<usize>) {
        let bytes = line.bytes.get(range.clone()).unwrap_or_default();
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if salvage::is_filler(bytes) {
            self.push(line, range, SegmentKind::Blank);
        } else {
            self.push_unreadable(line, range);
        }
    }

    fn finish(mut self, length: u64) -> FileScan {
        self.check_version();
        let findings = &mut self.scan.findings;
        for (type_name, count) in self.unknown_types {
            findings.add(None, ProblemKind::UnknownType { type_name, count });
        }
        if self.carriage_returns > 0 {
            let count = self.carriage_returns;
            findings.add(None, ProblemKind::CarriageReturns { count });
        }
        if length == 0 {
            findings.add(None, ProblemKind::Empty);
        } else if !self.scan.has_records() {
            self.scan.findings.add(None, ProblemKind::NoReadableRecords);
        } else if self.scan.header.is_none() {
            self.scan.findings.add(None, ProblemKind::MissingHeader);
        }
        self.scan
    }

    /// Compares the format declared by the header with the format of the entries.
    fn check_version(&mut self) {
        let version = self.scan.header.as_ref().map(SessionHeader::format_version);
        let is_first_format = !self.has_ids && version.is_none_or(|version| version <= 1);
        if !is_first_format {
            for position in std::mem::take(&mut self.without_id) {
                if let Some(segment) = self.scan.segments.get_mut(position) {
                    segment.kind = SegmentKind::Unreadable(None);
                    let line = Some(segment.line);
                    self.scan.findings.add(line, ProblemKind::NotAnEntry);
                }
            }
        }
        let findings = &mut self.scan.findings;
        match version {
            Some(version) if version <= 1 && self.has_ids => {
                self.scan.version_mismatch = true;
                findings.add(None, ProblemKind::VersionMismatch { version });
            }
            Some(version) if version < SessionHeader::CURRENT_VERSION => {
                findings.add(None, ProblemKind::OldVersion { version });
            }
            Some(version) if version > SessionHeader::CURRENT_VERSION => {
                findings.add(None, ProblemKind::NewerVersion { version });
            }
            Some(_) | None => {}
        }
    }
}

/// Returns the entry that this entry refers to, other than its parent.
fn reference(entry: &Entry) -> Option<EntryReference> {
    let (type_name, target) = match &entry.body {
        EntryBody::Compaction(body) => ("compaction", body.first_kept_entry_id.clone()?),
        EntryBody::Label(body) => ("label", body.target_id.clone()),
        EntryBody::ContextEdit(body) => ("context edit", body.target_id.clone()),
        EntryBody::BranchSummary(body) if body.from_id != BranchSummaryEntry::FROM_ROOT => {
            ("branch summary", body.from_id.clone())
        }
        _ => return None,
    };
    (target != entry.id).then_some(EntryReference { type_name, target })
}
