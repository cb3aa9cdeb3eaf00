//! What a session keeps until it is in the file; see [`crate::pending`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_env::Env;
use pi_protocol::{AgentMessage, Entry, EntryBody};

use super::{Session, SessionLocation};
use crate::directory;
use crate::error::SessionError;
use crate::log::read_range;
use crate::pending::{JournalContent, PendingJournal, PendingRecord};
use crate::storage::{DiskStorage, LogStorage};

/// How many of the last entries are searched for a record that was stored just before a kill.
const SEARCHED_ENTRIES: usize = 1000;

/// The journal of a session and what it is used for.
#[derive(Debug, Default)]
pub(super) struct PendingState {
    journal: Option<PendingJournal>,
    /// Whether entries are kept in the journal while the session has no file.
    keeps_drafts: bool,
    /// Whether the session has entries that its journal must keep.
    has_draft: bool,
    /// Queued messages of a killed process.
    restored: Vec<PendingRecord>,
}

impl Session {
    /// Returns what is acknowledged and not stored yet.
    pub fn pending(&mut self) -> Pending<'_> {
        Pending(self)
    }
}

/// What a session has acknowledged and not stored yet.
#[derive(Debug)]
pub struct Pending<'session>(&'session mut Session);

/// Restores a session without a file from the journal of a killed process; `None` if there is
/// none.
pub(crate) fn session_from_journal(
    session_file: &Path,
    env: &Env,
) -> Result<Option<Session>, SessionError> {
    let storage: Arc<dyn LogStorage> = Arc::new(DiskStorage);
    let Some((journal, content)) = PendingJournal::open(&*storage, session_file) else {
        return Ok(None);
    };
    let JournalContent {
        header: Some(header),
        draft,
        ..
    } = content
    else {
        return Ok(None);
    };
    let cwd = directory::resolve(Path::new(&header.cwd));
    let location = SessionLocation::Deferred(session_file.to_owned());
    let mut session = Session::from_content(storage, env.clone(), location, cwd, header, draft)?;
    session.pending = PendingState {
        keeps_drafts: true,
        has_draft: true,
        ..PendingState::default()
    };
    session.open_report.restored_draft = true;
    session.pending().restore(journal)?;
    Ok(Some(session))
}

impl Pending<'_> {
    /// Restores what a killed process left in the journal of the file.
    pub(super) fn restore_from(mut self, session_file: &Path) {
        let Some((journal, _)) = PendingJournal::open(&*self.0.storage, session_file) else {
            return;
        };
        if let Err(error) = self.restore(journal) {
            tracing::warn!(%error, "cannot restore pending records");
        }
    }

    fn restore(&mut self, journal: PendingJournal) -> Result<(), SessionError> {
        let records: Vec<PendingRecord> = journal.records().cloned().collect();
        self.0.pending.journal = Some(journal);
        for record in records {
            let message = match &record {
                PendingRecord::Command { message } => AgentMessage::BashExecution(message.clone()),
                PendingRecord::Queued { message, .. } => message.clone(),
            };
            if self.contains_message(&message)? {
                continue;
            }
            match record {
                PendingRecord::Command { .. } => {
                    self.0.append_message(message)?;
                    self.0.open_report.restored_commands += 1;
                }
                PendingRecord::Queued { .. } => {
                    self.0.pending.restored.push(record);
                    self.0.open_report.restored_messages += 1;
                }
            }
        }
        let queued = self.0.pending.restored.clone();
        self.set(&queued)
    }

    /// Returns whether one of the last entries stores this message.
    fn contains_message(&self, message: &AgentMessage) -> Result<bool, SessionError> {
        let end = self.0.entries.index.last().map_or(0, |last| last + 1);
        for slot in (0..end).rev().take(SEARCHED_ENTRIES) {
            if stores(&*self.0.entries.entry_at(slot)?, message) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Keeps later entries in a journal while the session has no file. Entries before this call,
    /// which every start repeats, do not create a journal.
    pub fn keep_drafts(&mut self) -> Result<(), SessionError> {
        self.0.pending.keeps_drafts = true;
        if self.0.pending.has_draft && self.0.pending.journal.is_none() {
            self.create_journal(&[])?;
        }
        Ok(())
    }

    /// Replaces the records that are acknowledged but not stored. Once this returns, they survive a
    /// kill of the process. A session in memory keeps nothing.
    pub fn set(&mut self, records: &[PendingRecord]) -> Result<(), SessionError> {
        if self.0.pending.journal.is_none() && !records.is_empty() {
            self.create_journal(&[])?;
        }
        if let Some(journal) = &mut self.0.pending.journal {
            journal.set(records)?;
        }
        self.remove_settled_journal();
        Ok(())
    }

    /// Returns whether a journal keeps pending records or a draft of the session.
    pub fn has_journal(&self) -> bool {
        self.0.pending.journal.is_some()
    }

    /// Returns the queued messages of a killed process. They stay pending.
    pub fn take_restored(&mut self) -> Vec<PendingRecord> {
        std::mem::take(&mut self.0.pending.restored)
    }

    /// Ends the use of the session in this process: nothing is pending any more, and other processes may write the file. An
    /// append would lock it again.
    pub fn close(&mut self) {
        self.discard();
        self.0.entries.log.release();
    }

    /// Removes the journal, because the session is closed in order: like queued messages, a session
    /// without a message for a model is not kept then.
    pub fn discard(&mut self) {
        if let Some(journal) = self.0.pending.journal.take() {
            journal.remove(&*self.0.storage);
        }
    }

    /// Keeps the record of an entry that is about to be added to a session without a file.
    pub(super) fn keep_draft(&mut self, record: &[u8]) -> Result<(), SessionError> {
        if !self.0.pending.keeps_drafts || !matches!(self.0.location, SessionLocation::Deferred(_))
        {
            return Ok(());
        }
        match &mut self.0.pending.journal {
            Some(journal) => journal.append(record)?,
            None => self.create_journal(record)?,
        }
        self.0.pending.has_draft = true;
        Ok(())
    }

    /// Removes the journal if everything in it is stored.
    pub(super) fn remove_settled_journal(&mut self) {
        let journal = self.0.pending.journal.as_ref();
        let is_settled = journal.is_some_and(|journal| journal.records().next().is_none());
        if is_settled && (self.0.is_saved() || !self.0.pending.has_draft) {
            self.discard();
        }
    }

    /// Creates the journal with the content of a session without a file, followed by a record.
    fn create_journal(&mut self, record: &[u8]) -> Result<(), SessionError> {
        let (path, draft): (PathBuf, Vec<u8>) = match &self.0.location {
            SessionLocation::Memory => return Ok(()),
            SessionLocation::File(path) => (path.clone(), Vec::new()),
            SessionLocation::Deferred(path) => {
                let log = &self.0.entries.log;
                let mut draft = read_range(log.file(), 0, log.length())
                    .map_err(|error| self.0.location.unreadable(error))?;
                draft.extend_from_slice(record);
                (path.clone(), draft)
            }
        };
        let journal = PendingJournal::create(&*self.0.storage, &path, &draft)?;
        self.0.pending.journal = Some(journal);
        Ok(())
    }
}

/// Returns whether an entry stores a message.
fn stores(entry: &Entry, message: &AgentMessage) -> bool {
    match (&entry.body, message) {
        (EntryBody::CustomMessage(stored), AgentMessage::Custom(custom)) => {
            stored.custom_type == custom.custom_type
                && stored.content == custom.content
                && stored.details == custom.details
        }
        (EntryBody::Message(stored), message) => stored == message,
        _ => false,
    }
}
