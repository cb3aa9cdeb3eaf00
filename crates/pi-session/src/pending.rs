//! What clients were promised that is not in the session file yet.
//!
//! A file is created with the first message of a session, results of shell commands wait for the end
//! of a run, and queued messages for their turn. Until then they are kept in a journal: a file in
//! the same directory, with a name that other programs ignore. The journal of a process that was
//! killed is restored when its session is opened or continued.
//!
//! The journal is a log of lines: the header and the entries of a session without a file, then
//! pending records and the numbers of those that are settled.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_protocol::{AgentMessage, BashExecutionMessage, Delivery, SessionHeader};
use serde::{Deserialize, Serialize};

use crate::error::SessionError;
use crate::load::parse;
use crate::log::AppendLog;
use crate::reader::{LineFlow, each_line};
use crate::scan::{ScannedLine, Scanner};
use crate::session::encode_record;
use crate::storage::{AccessMode, LogStorage};

/// Added to the name of the session file.
pub(crate) const EXTENSION: &str = "pending";

/// Something that is acknowledged and will become part of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum PendingRecord {
    /// The result of a shell command that waits for the end of the run.
    Command { message: BashExecutionMessage },
    /// A message that waits for its turn.
    Queued {
        delivery: Delivery,
        /// The text to show; absent for messages of extensions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        message: AgentMessage,
    },
}

/// A line of the journal that is not a header or an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum JournalLine {
    Pending { number: u64, record: PendingRecord },
    Settled { numbers: Vec<u64> },
}

/// What a journal contains.
#[derive(Debug, Default)]
pub(crate) struct JournalContent {
    pub(crate) header: Option<SessionHeader>,
    /// The header and the entries of the session, as lines.
    pub(crate) draft: Vec<u8>,
    records: Vec<(u64, PendingRecord)>,
    last_number: u64,
    /// The last line was only partly written.
    is_torn: bool,
}

impl JournalContent {
    fn read(log: &AppendLog) -> io::Result<Self> {
        let mut content = Self::default();
        let mut scanner = Scanner::default();
        each_line(log.file(), 0, log.length(), |line| {
            // A line without a line feed was never acknowledged.
            if line.terminated {
                content.add_line(&mut scanner, line.bytes);
            } else {
                content.is_torn = true;
            }
            LineFlow::Continue
        })?;
        Ok(content)
    }

    fn add_line(&mut self, scanner: &mut Scanner, line: &[u8]) {
        let ScannedLine::Object(fields) = scanner.scan(line) else {
            return;
        };
        match fields.type_name.as_deref() {
            Some("pending" | "settled") => match parse(line) {
                Some(JournalLine::Pending { number, record }) => {
                    self.last_number = self.last_number.max(number);
                    self.records.push((number, record));
                }
                Some(JournalLine::Settled { numbers }) => {
                    self.records.retain(|(number, _)| !numbers.contains(number));
                }
                None => {}
            },
            type_name => {
                if type_name == Some("session") {
                    self.header = parse(line);
                }
                self.draft.extend_from_slice(line);
                self.draft.push(b'\n');
            }
        }
    }
}

/// The journal of a session that this process has open.
#[derive(Debug)]
pub(crate) struct PendingJournal {
    log: AppendLog,
    path: PathBuf,
    records: Vec<(u64, PendingRecord)>,
    last_number: u64,
}

impl PendingJournal {
    /// Creates the journal of a session; `draft` is the content of its file if it has none yet.
    pub(crate) fn create(
        storage: &dyn LogStorage,
        session_file: &Path,
        draft: &[u8],
    ) -> Result<Self, SessionError> {
        let path = journal_path(session_file);
        let unwritable = |source| SessionError::Unwritable {
            path: path.clone(),
            source,
        };
        let file = storage.create(&path).map_err(unwritable)?;
        let log =
            AppendLog::new(file, Some(path.clone()), AccessMode::Write).map_err(unwritable)?;
        let mut journal = Self {
            log,
            path,
            records: Vec::new(),
            last_number: 0,
        };
        if !draft.is_empty() {
            journal.append(draft)?;
        }
        Ok(journal)
    }

    /// Opens the journal that a killed process left; `None` if there is none, or another process uses
    /// it.
    pub(crate) fn open(
        storage: &dyn LogStorage,
        session_file: &Path,
    ) -> Option<(Self, JournalContent)> {
        let path = journal_path(session_file);
        let file = storage.open(&path, AccessMode::Write).ok()?;
        let mut log = AppendLog::new(file, Some(path.clone()), AccessMode::Write).ok()?;
        if log.is_locked_elsewhere() {
            return None;
        }
        let mut content = match JournalContent::read(&log) {
            Ok(content) => content,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read pending records");
                return None;
            }
        };
        if content.is_torn
            && let Err(error) = log.terminate()
        {
            tracing::warn!(path = %path.display(), %error, "cannot end the last line");
        }
        let journal = Self {
            log,
            path,
            records: std::mem::take(&mut content.records),
            last_number: content.last_number,
        };
        Some((journal, content))
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = &PendingRecord> {
        self.records.iter().map(|(_, record)| record)
    }

    /// Appends lines.
    pub(crate) fn append(&mut self, lines: &[u8]) -> Result<(), SessionError> {
        let appended = self.log.append(lines);
        appended.map_err(|source| SessionError::AppendFailed {
            path: self.path.clone(),
            source,
        })?;
        Ok(())
    }

    /// Replaces the pending records: settles those that are not listed, and adds the new ones.
    pub(crate) fn set(&mut self, records: &[PendingRecord]) -> Result<(), SessionError> {
        let mut unmatched: Vec<&PendingRecord> = records.iter().collect();
        let (mut kept, mut numbers) = (Vec::new(), Vec::new());
        for (number, record) in &self.records {
            match unmatched.iter().position(|other| *other == record) {
                Some(position) => {
                    unmatched.remove(position);
                    kept.push((*number, record.clone()));
                }
                None => numbers.push(*number),
            }
        }
        let mut lines = Vec::new();
        let mut last_number = self.last_number;
        for record in unmatched {
            last_number += 1;
            kept.push((last_number, record.clone()));
            lines.extend(encode_record(&JournalLine::Pending {
                number: last_number,
                record: record.clone(),
            })?);
        }
        if !numbers.is_empty() {
            lines.extend(encode_record(&JournalLine::Settled { numbers })?);
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.append(&lines)?;
        (self.records, self.last_number) = (kept, last_number);
        Ok(())
    }

    /// Removes the journal: everything in it is stored or was discarded.
    pub(crate) fn remove(self, storage: &dyn LogStorage) {
        if let Err(error) = storage.remove(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove pending records");
        }
    }
}

/// Returns the journal of a session file.
pub(crate) fn journal_path(session_file: &Path) -> PathBuf {
    let mut name = session_file.as_os_str().to_owned();
    name.push(".");
    name.push(EXTENSION);
    name.into()
}

/// Removes the journal of a session that is deleted.
pub(crate) fn remove_journal(session_file: &Path) {
    match fs::remove_file(journal_path(session_file)) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, "cannot remove pending records"),
    }
}
