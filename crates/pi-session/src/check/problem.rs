//! Problems that a session file can have, with descriptions for the user. A problem is either
//! damage, which a repair fixes, or a note, which needs no action because both implementations of
//! pi can read the file.

use pi_protocol::{EntryId, SessionHeader};

/// How many problems of one file are kept; further ones are only counted.
const MAX_PROBLEMS: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionProblem {
    /// Line number, starting at 1; `None` if the problem concerns the whole file.
    pub line: Option<u64>,
    pub kind: ProblemKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Data is lost or disconnected; a repair fixes what can be fixed.
    Damage,
    /// Informational; no action needed.
    Note,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The last line is a partial record.
    TornTail {
        /// Complete records on the same line.
        salvaged: usize,
    },
    /// A line contains something other than a record.
    Garbage {
        /// Complete records on the same line.
        salvaged: usize,
    },
    /// A line contains null bytes, as left by power loss.
    NullBytes {
        /// Complete records on the same line.
        salvaged: usize,
    },
    JoinedRecords {
        count: usize,
    },
    /// A line is JSON but not an entry.
    NotAnEntry,
    /// An entry is nested too deeply to be parsed.
    TooDeeplyNested {
        id: EntryId,
    },
    /// The last record has no line feed.
    MissingLineFeed,
    ByteOrderMark,
    MissingHeader,
    /// The header has no ID.
    DamagedHeader,
    HeaderNotFirst,
    SecondHeader,
    /// The header declares a format that does not match the entries.
    VersionMismatch {
        /// The version declared by the header.
        version: u64,
    },
    /// The parent of an entry is not in the file.
    MissingParent {
        id: EntryId,
        parent: EntryId,
    },
    /// Entries form a cycle.
    ParentCycle {
        /// The entry that is detached from its parent to break the cycle.
        id: EntryId,
    },
    /// Readable records differ from what pi wrote, according to their checksum.
    ChangedText {
        /// The last line that the checksum covers.
        last_line: u64,
        /// No program has written to the file since pi did.
        is_silent: bool,
    },
    /// Nothing in the file can be read.
    NoReadableRecords,
    /// Another process has the damaged session open.
    InUse,
    /// Another program rewrote the file, so that checksums do not apply.
    Rewritten,
    Empty,
    OldVersion {
        version: u64,
    },
    NewerVersion {
        version: u64,
    },
    /// Entries have a type that this version does not know.
    UnknownType {
        type_name: String,
        /// Number of entries of this type.
        count: usize,
    },
    /// An entry of a known type lacks required fields.
    UnexpectedShape {
        type_name: String,
    },
    DuplicateId {
        id: EntryId,
        /// The line that used the ID first.
        first_line: u64,
    },
    /// An entry refers to an entry that is not in the file.
    UnknownReference {
        /// The type of the referring entry.
        type_name: &'static str,
        target: EntryId,
    },
    /// A record contains invalid UTF-8.
    InvalidUtf8,
    /// A record contains unescaped control characters.
    ControlCharacters,
    /// Lines end with CR LF.
    CarriageReturns {
        count: usize,
    },
    HugeLine {
        bytes: u64,
    },
}

impl ProblemKind {
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
            | Self::ChangedText { .. }
            | Self::NoReadableRecords => Severity::Damage,
            Self::InUse
            | Self::Rewritten
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

    /// Returns a stable name for scripts.
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
            Self::ChangedText { .. } => "changed-text",
            Self::NoReadableRecords => "nothing-left",
            Self::InUse => "in-use",
            Self::Rewritten => "rewritten",
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

    /// Describes the problem.
    pub fn description(&self) -> String {
        match self {
            Self::TornTail { salvaged } => {
                format!("partial record at the end{}", same_line_suffix(*salvaged))
            }
            Self::Garbage { salvaged } => {
                format!("unreadable data{}", same_line_suffix(*salvaged))
            }
            Self::NullBytes { salvaged } => format!("null bytes{}", same_line_suffix(*salvaged)),
            Self::JoinedRecords { count } => format!("{count} records on one line"),
            Self::NotAnEntry => "JSON that is not an entry".to_owned(),
            Self::TooDeeplyNested { id } => {
                format!("entry {id} is nested too deeply")
            }
            Self::MissingLineFeed => "the last record has no line feed".to_owned(),
            Self::ByteOrderMark => "byte order mark at the start of the file".to_owned(),
            Self::MissingHeader => "no session header".to_owned(),
            Self::DamagedHeader => "session header without an ID".to_owned(),
            Self::HeaderNotFirst => "the session header is not the first record".to_owned(),
            Self::SecondHeader => "second session header".to_owned(),
            Self::VersionMismatch { version } => {
                format!("the header declares format {version}, but the entries have a later format")
            }
            Self::MissingParent { id, parent } => {
                format!("the parent {parent} of entry {id} is not in the file")
            }
            Self::ParentCycle { id } => format!("entry {id} is its own ancestor"),
            Self::ChangedText {
                last_line,
                is_silent,
            } => {
                let cause = if *is_silent {
                    "no program has written to the file since, so the storage damaged it"
                } else {
                    "another program changed the file, or the storage damaged it"
                };
                format!("the text up to line {last_line} is not what pi wrote: {cause}")
            }
            Self::NoReadableRecords => "no readable session data".to_owned(),
            Self::InUse => "another pi process has the session open".to_owned(),
            Self::Rewritten => "another program rewrote the file".to_owned(),
            Self::Empty => "the file is empty".to_owned(),
            Self::OldVersion { version } => format!("old format version {version}"),
            Self::NewerVersion { version } => {
                format!(
                    "newer format version {version}; this version of pi writes {}",
                    SessionHeader::CURRENT_VERSION
                )
            }
            Self::UnknownType { type_name, count } => {
                format!("{count} entries of unknown type {type_name}")
            }
            Self::UnexpectedShape { type_name } => {
                format!("an entry of type {type_name} has missing or invalid fields")
            }
            Self::DuplicateId { id, first_line } => {
                format!("ID {id} is already used on line {first_line}")
            }
            Self::UnknownReference { type_name, target } => {
                format!("a {type_name} refers to entry {target}, which is not in the file")
            }
            Self::InvalidUtf8 => "invalid UTF-8".to_owned(),
            Self::ControlCharacters => "unescaped control characters".to_owned(),
            Self::CarriageReturns { count } => format!("{count} lines end with CR LF"),
            Self::HugeLine { bytes } => format!("record of {} MB", bytes / 1_000_000),
        }
    }

    /// Describes the consequences and, for damage, what a repair does.
    pub fn consequence(&self) -> &'static str {
        match self {
            Self::TornTail { .. } => {
                "a write was interrupted and its data is lost; a repair moves the partial record to the .lost file"
            }
            Self::Garbage { .. } => {
                "the original data is lost; a repair moves the line to the .lost file and keeps every complete record"
            }
            Self::NullBytes { .. } => {
                "data was lost, probably to power loss; a repair removes the null bytes"
            }
            Self::JoinedRecords { .. } => {
                "these records are not read; a repair puts each on its own line"
            }
            Self::NotAnEntry => "the line is skipped; a repair moves it to the .lost file",
            Self::TooDeeplyNested { .. } => {
                "the session cannot be continued past this entry; a repair moves it to the .lost file"
            }
            Self::MissingLineFeed => "no data is lost; a repair adds the line feed",
            Self::ByteOrderMark => "other programs may not find the header; a repair removes it",
            Self::MissingHeader => {
                "the session is not listed and cannot be opened; a repair writes a new header"
            }
            Self::DamagedHeader => {
                "the session may not open; a repair rebuilds the header from what is left"
            }
            Self::HeaderNotFirst => {
                "the session cannot be opened; a repair moves the header to the top"
            }
            Self::SecondHeader => {
                "two files seem to be joined; a repair moves the second header to the .lost file and keeps the entries"
            }
            Self::VersionMismatch { .. } => {
                "opening the session would renumber its entries; a repair corrects the header"
            }
            Self::MissingParent { .. } => {
                "the preceding conversation is disconnected; a repair adds a placeholder that reconnects it"
            }
            Self::ParentCycle { .. } => {
                "the path to the root never ends; a repair makes the entry a root"
            }
            Self::ChangedText { .. } => {
                "the records can be read, but the original text is lost; a repair accepts them as they are"
            }
            Self::NoReadableRecords => "nothing can be repaired; the file is left unchanged",
            Self::InUse => {
                "a record being written may be reported as damage; check again after closing the session there"
            }
            Self::Rewritten => "its text cannot be compared with the checksums of what pi wrote",
            Self::Empty => "it becomes a session when opened",
            Self::OldVersion { .. } => "it is migrated when opened",
            Self::NewerVersion { .. } => "it can be opened; unknown data is kept",
            Self::UnknownType { .. } => "they are kept unchanged and not shown",
            Self::UnexpectedShape { .. } => "it is kept unchanged and not shown",
            Self::DuplicateId { .. } => "both entries are kept; the ID refers to the later one",
            Self::UnknownReference { .. } => {
                "the reference has no effect; the entry is kept unchanged"
            }
            Self::InvalidUtf8 => "the bytes are shown as \u{fffd}; the record is kept unchanged",
            Self::ControlCharacters => {
                "pi can read the record, other programs may not; it is kept unchanged"
            }
            Self::CarriageReturns { .. } => "the lines are readable and kept unchanged",
            Self::HugeLine { .. } => "it is kept; opening the session takes more time and memory",
        }
    }
}

/// Mentions complete records that were found on the same line.
fn same_line_suffix(salvaged: usize) -> String {
    match salvaged {
        0 => String::new(),
        1 => ", with a complete record on the same line".to_owned(),
        count => format!(", with {count} complete records on the same line"),
    }
}

/// Collects problems.
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
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(SessionProblem { line, kind });
        }
    }

    /// Sorts the problems in file order; those that concern the whole file come first.
    pub(crate) fn sort(&mut self) {
        pi_protocol::sort_by_key(&mut self.problems, |problem| problem.line);
    }
}
