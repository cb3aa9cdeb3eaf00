//! What can be wrong with a session file, in words for whoever has to decide about it.
//!
//! A problem is damage, which a repair mends, or a note, which is left as it is: both programs read the
//! file in spite of it.

use crate::entry::EntryId;
use crate::header::CURRENT_VERSION;

/// How many problems of one file are kept; the others are only counted.
const MOST_KEPT: usize = 1000;

/// Something odd about a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionProblem {
    /// The line, counted from 1; none if it is about the whole file.
    pub line: Option<u64>,
    pub kind: ProblemKind,
}

/// What to make of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something is lost or cut off; a repair mends what can be mended.
    Damage,
    /// Worth knowing; nothing has to be done.
    Note,
}

/// The ways in which a session file can be odd.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The last line is half a record.
    TornTail {
        /// How many whole records share the line.
        salvaged: usize,
    },
    /// A line holds something else than a record.
    Garbage {
        /// How many whole records share the line.
        salvaged: usize,
    },
    /// A line holds null bytes, as a power cut leaves them.
    NullBytes {
        /// How many whole records share the line.
        salvaged: usize,
    },
    /// Several records share a line.
    JoinedRecords { count: usize },
    /// A line is JSON and no entry.
    NotAnEntry,
    /// An entry is nested more deeply than can be read.
    TooDeeplyNested { id: EntryId },
    /// The last record lacks its line feed.
    MissingLineFeed,
    /// The file begins with a byte order mark.
    ByteOrderMark,
    /// No line is a header.
    MissingHeader,
    /// The header lacks its id.
    DamagedHeader,
    /// Something stands before the header.
    HeaderNotFirst,
    /// There is another header.
    SecondHeader,
    /// The header names a format that its entries do not have.
    VersionMismatch {
        /// The version the header names.
        version: u64,
    },
    /// An entry follows one that is not in the file.
    MissingParent { id: EntryId, parent: EntryId },
    /// Entries follow each other in a circle.
    ParentCycle {
        /// The entry whose link is cut.
        id: EntryId,
    },
    /// Nothing in the file can be read.
    NoReadableRecords,
    /// Another pi has the damaged session open.
    InUse,
    /// The file is empty.
    Empty,
    /// The file has an earlier format.
    OldVersion { version: u64 },
    /// The file has a format of the future.
    NewerVersion { version: u64 },
    /// Entries have a type this version does not know.
    UnknownType {
        type_name: String,
        /// How many entries have it.
        count: usize,
    },
    /// An entry has a known type and not its fields.
    UnexpectedShape { type_name: String },
    /// Two entries have one id.
    DuplicateId {
        id: EntryId,
        /// The line that had it before.
        first_line: u64,
    },
    /// An entry names another that is not in the file.
    UnknownReference {
        /// The type of the entry.
        type_name: &'static str,
        target: EntryId,
    },
    /// A record holds bytes that are no text.
    InvalidUtf8,
    /// A record holds control characters that JSON wants escaped.
    ControlCharacters,
    /// Lines end as on Windows.
    CarriageReturns { count: usize },
    /// A record is very long.
    HugeLine {
        /// Its length in bytes.
        bytes: u64,
    },
}

impl ProblemKind {
    /// Tells damage from notes.
    pub fn severity(&self) -> Severity {
        match self {
            Self::TornTail { .. }
            | Self::Garbage { .. }
            | Self::NullBytes { .. }
            | Self::JoinedRecords { .. }
            | Self::NotAnEntry
            | Self::TooDeeplyNested { .. }
            | Self::MissingLineFeed
            | Self::ByteOrderMark
            | Self::MissingHeader
            | Self::DamagedHeader
            | Self::HeaderNotFirst
            | Self::SecondHeader
            | Self::VersionMismatch { .. }
            | Self::MissingParent { .. }
            | Self::ParentCycle { .. }
            | Self::NoReadableRecords => Severity::Damage,
            Self::InUse
            | Self::Empty
            | Self::OldVersion { .. }
            | Self::NewerVersion { .. }
            | Self::UnknownType { .. }
            | Self::UnexpectedShape { .. }
            | Self::DuplicateId { .. }
            | Self::UnknownReference { .. }
            | Self::InvalidUtf8
            | Self::ControlCharacters
            | Self::CarriageReturns { .. }
            | Self::HugeLine { .. } => Severity::Note,
        }
    }

    /// Returns a short name for scripts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TornTail { .. } => "torn-end",
            Self::Garbage { .. } => "garbage",
            Self::NullBytes { .. } => "null-bytes",
            Self::JoinedRecords { .. } => "joined-records",
            Self::NotAnEntry => "not-an-entry",
            Self::TooDeeplyNested { .. } => "too-deep",
            Self::MissingLineFeed => "missing-line-feed",
            Self::ByteOrderMark => "byte-order-mark",
            Self::MissingHeader => "missing-header",
            Self::DamagedHeader => "damaged-header",
            Self::HeaderNotFirst => "header-not-first",
            Self::SecondHeader => "second-header",
            Self::VersionMismatch { .. } => "doubtful-version",
            Self::MissingParent { .. } => "missing-parent",
            Self::ParentCycle { .. } => "circle",
            Self::NoReadableRecords => "nothing-left",
            Self::InUse => "in-use",
            Self::Empty => "empty",
            Self::OldVersion { .. } => "old-version",
            Self::NewerVersion { .. } => "newer-version",
            Self::UnknownType { .. } => "unknown-type",
            Self::UnexpectedShape { .. } => "unexpected-shape",
            Self::DuplicateId { .. } => "duplicate-id",
            Self::UnknownReference { .. } => "unknown-reference",
            Self::InvalidUtf8 => "invalid-text",
            Self::ControlCharacters => "control-characters",
            Self::CarriageReturns { .. } => "carriage-returns",
            Self::HugeLine { .. } => "huge-line",
        }
    }

    /// Says what is wrong.
    pub fn description(&self) -> String {
        match self {
            Self::TornTail { salvaged } => {
                format!("half a record at the end{}", beside(*salvaged))
            }
            Self::Garbage { salvaged } => {
                format!("something that is no record{}", beside(*salvaged))
            }
            Self::NullBytes { salvaged } => format!("null bytes{}", beside(*salvaged)),
            Self::JoinedRecords { count } => format!("{count} records on one line"),
            Self::NotAnEntry => "JSON that is no entry".to_owned(),
            Self::TooDeeplyNested { id } => {
                format!("the entry {id} is nested more deeply than pi can read")
            }
            Self::MissingLineFeed => "the last record lacks its line feed".to_owned(),
            Self::ByteOrderMark => "a byte order mark before the first record".to_owned(),
            Self::MissingHeader => "no line is a session header".to_owned(),
            Self::DamagedHeader => "a session header without an id".to_owned(),
            Self::HeaderNotFirst => "the session header is not the first record".to_owned(),
            Self::SecondHeader => "another session header".to_owned(),
            Self::VersionMismatch { version } => {
                format!("the header says format {version}, its entries are of a later one")
            }
            Self::MissingParent { id, parent } => {
                format!("the entry {id} follows {parent}, which is not in the file")
            }
            Self::ParentCycle { id } => format!("the entry {id} follows an entry that follows it"),
            Self::NoReadableRecords => "nothing in the file can be read as a session".to_owned(),
            Self::InUse => "another pi has the session open".to_owned(),
            Self::Empty => "the file is empty".to_owned(),
            Self::OldVersion { version } => format!("the file has format {version}"),
            Self::NewerVersion { version } => {
                format!("the file has format {version}; this pi writes format {CURRENT_VERSION}")
            }
            Self::UnknownType { type_name, count } => {
                format!("{count} entries of the type {type_name}, which this pi does not know")
            }
            Self::UnexpectedShape { type_name } => {
                format!("an entry of the type {type_name} lacks fields of it")
            }
            Self::DuplicateId { id, first_line } => {
                format!("the id {id} was used on line {first_line} already")
            }
            Self::UnknownReference { type_name, target } => {
                format!("a {type_name} names the entry {target}, which is not in the file")
            }
            Self::InvalidUtf8 => "bytes that are no UTF-8 text".to_owned(),
            Self::ControlCharacters => "control characters that are not escaped".to_owned(),
            Self::CarriageReturns { count } => format!("{count} lines end with CR LF"),
            Self::HugeLine { bytes } => format!("a record of {} MB", bytes / 1_000_000),
        }
    }

    /// Says what follows from it and, for damage, what a repair does.
    pub fn consequence(&self) -> &'static str {
        match self {
            Self::TornTail { .. } => {
                "a write was cut off, and what it held is lost; a repair sets the rest of it aside"
            }
            Self::Garbage { .. } => {
                "what stood there is lost; a repair sets it aside and keeps every whole record"
            }
            Self::NullBytes { .. } => {
                "a power cut took what stood there; a repair removes the null bytes"
            }
            Self::JoinedRecords { .. } => "none of them is read; a repair gives each its own line",
            Self::NotAnEntry => "it is skipped; a repair sets it aside",
            Self::TooDeeplyNested { .. } => {
                "the session cannot be continued through it; a repair sets it aside"
            }
            Self::MissingLineFeed => "nothing is lost; a repair adds the line feed",
            Self::ByteOrderMark => "other programs may not find the header; a repair removes it",
            Self::MissingHeader => {
                "the session is not listed and does not open; a repair writes a new header"
            }
            Self::DamagedHeader => {
                "the session may not open; a repair writes a new header from what is left"
            }
            Self::HeaderNotFirst => "the session does not open; a repair moves the header up",
            Self::SecondHeader => {
                "two files seem to be joined; a repair sets the header aside and keeps the entries"
            }
            Self::VersionMismatch { .. } => {
                "opening the session would number its entries anew; a repair corrects the header"
            }
            Self::MissingParent { .. } => {
                "the conversation before it is cut off; a repair puts a stand-in there that joins them again"
            }
            Self::ParentCycle { .. } => {
                "the way to the beginning never ends; a repair makes the entry a beginning of its own"
            }
            Self::NoReadableRecords => "there is nothing to repair; the file is left as it is",
            Self::InUse => {
                "a record that it is writing may look like damage; look again when it is closed"
            }
            Self::Empty => "it becomes a session when it is opened",
            Self::OldVersion { .. } => "it is brought up to date when it is opened",
            Self::NewerVersion { .. } => "it opens, and what is not understood is kept",
            Self::UnknownType { .. } => "they are kept unchanged and not shown",
            Self::UnexpectedShape { .. } => "it is kept unchanged and not shown",
            Self::DuplicateId { .. } => "both are kept; by its id only the later one is found",
            Self::UnknownReference { .. } => "it has no effect there and is kept unchanged",
            Self::InvalidUtf8 => "they read as \u{fffd}; the record is kept unchanged",
            Self::ControlCharacters => {
                "pi reads the record, other programs may not; it is kept unchanged"
            }
            Self::CarriageReturns { .. } => "they read well and are kept unchanged",
            Self::HugeLine { .. } => "it is kept; opening the session takes memory and time",
        }
    }
}

/// Says that records were found beside something else.
fn beside(salvaged: usize) -> String {
    match salvaged {
        0 => String::new(),
        1 => ", and a whole record on the same line".to_owned(),
        count => format!(", and {count} whole records on the same line"),
    }
}

/// Problems as they are found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) problems: Vec<SessionProblem>,
    pub(crate) damage: usize,
    pub(crate) notes: usize,
}

impl Findings {
    pub(crate) fn add(&mut self, line: Option<u64>, kind: ProblemKind) {
        match kind.severity() {
            Severity::Damage => self.damage += 1,
            Severity::Note => self.notes += 1,
        }
        if self.problems.len() < MOST_KEPT {
            self.problems.push(SessionProblem { line, kind });
        }
    }

    /// Puts the problems in the order of the file; those of the whole file come first.
    pub(crate) fn sort(&mut self) {
        self.problems.sort_by_key(|problem| problem.line);
    }
}
