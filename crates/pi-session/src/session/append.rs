//! Appending to a session. [`Session::append`] validates an entry, writes its record and then
//! updates the index. A rejected entry leaves the session unchanged.

use std::io;
use std::sync::Arc;

use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentMessage, CustomMessageEntry, Entry, EntryBody, EntryId, EntryKind, LabelEntry,
    MessageRole, SessionInfoEntry, timestamp,
};

use super::open::repair_tail;
use super::{Session, SessionLocation, encode_record};
use crate::error::SessionError;
use crate::index::EntrySlot;
use crate::load::{LoadResult, load};
use crate::log::{AppendError, AppendLog, read_range};
use crate::session_id::new_entry_id;
use crate::storage::AccessMode;

/// Entries that another process appended, now part of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendedEntries {
    /// In file order.
    pub entries: Vec<EntryId>,
    /// Lines that could not be read as entries.
    pub skipped_lines: usize,
}

impl Session {
    /// Appends an entry after the leaf and makes it the new leaf.
    ///
    /// The entry is normalized first: line breaks are removed from names, and a compaction without
    /// a first kept entry refers to itself. Edits and labels must have a valid target.
    pub fn append(&mut self, body: impl Into<EntryBody>) -> Result<Arc<Entry>, SessionError> {
        let id = new_entry_id(|id| self.entries.contains(id));
        let body = self.current_branch().validate(body.into(), &id)?;
        let entry = Entry {
            id,
            parent_id: self.leaf_id().cloned(),
            timestamp: timestamp::to_iso(self.env.now_ms()),
            body,
            extra: JsonObject::new(),
        };
        let slot = self.store(&entry)?;
        let entry = Arc::new(entry);
        self.entries.cache.put(slot, &entry);
        Ok(entry)
    }

    /// Appends a message as the entry type that matches its role.
    pub fn append_message(&mut self, message: AgentMessage) -> Result<Arc<Entry>, SessionError> {
        match message {
            AgentMessage::Custom(message) => self.append(CustomMessageEntry {
                custom_type: message.custom_type,
                content: message.content,
                display: message.display,
                details: message.details,
            }),
            AgentMessage::BranchSummary(_) => Err(SessionError::NotAMessage {
                what: "a branch summary",
            }),
            AgentMessage::CompactionSummary(_) => Err(SessionError::NotAMessage {
                what: "a compaction summary",
            }),
            message => self.append(message),
        }
    }

    /// Sets the session name; an empty name clears it.
    pub fn set_name(&mut self, name: &str) -> Result<Arc<Entry>, SessionError> {
        self.append(SessionInfoEntry {
            name: Some(name.to_owned()),
        })
    }

    /// Labels an entry; `None` or an empty label clears it.
    pub fn set_label(
        &mut self,
        target: &EntryId,
        label: Option<&str>,
    ) -> Result<Arc<Entry>, SessionError> {
        self.append(LabelEntry {
            target_id: target.clone(),
            label: label.map(str::to_owned),
        })
    }

    /// Loads entries that another process appended since the file was last read.
    ///
    /// Call this after [`AppendError::ConcurrentWrite`]. The new entries join the tree below their
    /// parents and the leaf does not move, so the next append starts a sibling branch if they
    /// follow the same entry.
    pub fn load_appended(&mut self) -> Result<AppendedEntries, SessionError> {
        let known = self.entries.len();
        let loaded = self
            .read_appended()
            .map_err(|e| self.location.unreadable(e))?;
        let appended = self.entries.index.records().iter().skip(known);
        Ok(AppendedEntries {
            entries: appended.map(|record| record.id.clone()).collect(),
            skipped_lines: loaded.skipped,
        })
    }

    fn read_appended(&mut self) -> io::Result<LoadResult> {
        let entries = &mut self.entries;
        let end = entries.log.refresh_length()?;
        let header = Some(self.header.clone());
        let (file, start) = (entries.log.file(), entries.scanned_to);
        let loaded = load(file, start, end, header, &mut entries.index)?;
        entries.scanned_to = repair_tail(&mut entries.log, &loaded, &mut self.open_report);
        Ok(loaded)
    }

    /// Writes an entry unchanged and makes it the leaf.
    pub(crate) fn store(&mut self, entry: &Entry) -> Result<EntrySlot, SessionError> {
        let record = encode_record(entry)?;
        let offset = match &self.location {
            SessionLocation::Deferred(_) if triggers_save(entry.body.kind()) => {
                let offset = self.create_file(&record)?;
                self.pending().remove_settled_journal();
                offset
            }
            SessionLocation::Memory | SessionLocation::Deferred(_) | SessionLocation::File(_) => {
                self.pending().keep_draft(&record)?;
                let appended = self.entries.log.append(&record);
                appended.map_err(|error| self.location.append_failed(error))?
            }
        };
        let added = self.entries.add_written(entry, offset, &record);
        let slot = added.map_err(|error| self.location.append_failed(error))?;
        self.leaf = Some(slot);
        Ok(slot)
    }

    /// Creates the file with the buffered records and the given one, and returns the offset of that
    /// record.
    fn create_file(&mut self, record: &[u8]) -> Result<u64, SessionError> {
        let SessionLocation::Deferred(path) = &self.location else {
            return Err(self.location.append_failed(AppendError::ReadOnly));
        };
        let path = path.clone();
        let offset = self.entries.log.length();
        let mut content = read_range(self.entries.log.file(), 0, offset)
            .map_err(|error| self.location.unreadable(error))?;
        content.extend_from_slice(record);
        // Several processes may have been started with this ID at the same time.
        let store = self.unique_id_in.as_ref();
        let id_lock = store
            .map(|store| store.lock_new_id(self.id()))
            .transpose()?;
        self.entries.log = write_new_file(&*self.storage, &path, &content)?;
        drop(id_lock);
        self.unique_id_in = None;
        self.location = SessionLocation::File(path);
        Ok(offset)
    }
}

/// Creates a session file with its initial content in one write; on failure, no file remains.
pub(crate) fn write_new_file(
    storage: &dyn crate::storage::LogStorage,
    path: &std::path::Path,
    content: &[u8],
) -> Result<AppendLog, SessionError> {
    let unwritable = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => SessionError::AlreadyExists {
            path: path.to_owned(),
        },
        _ => SessionError::Unwritable {
            path: path.to_owned(),
            source,
        },
    };
    let file = storage.create(path).map_err(unwritable)?;
    let appended = AppendLog::new(file, Some(path.to_owned()), AccessMode::Write)
        .map(AppendLog::with_checksums)
        .map_err(unwritable)
        .and_then(|mut log| match log.append(content) {
            Ok(_) => Ok(log),
            Err(source) => Err(SessionError::AppendFailed {
                path: path.to_owned(),
                source,
            }),
        });
    if appended.is_err()
        && let Err(error) = storage.remove(path)
    {
        tracing::warn!(path = %path.display(), %error, "cannot remove incomplete session file");
    }
    appended
}

/// Returns whether an entry of this kind causes the session to be saved. Messages for a model are
/// published to listeners, so they must survive a crash of the process.
fn triggers_save(kind: EntryKind) -> bool {
    let EntryKind::Message(role) = kind else {
        return false;
    };
    matches!(
        role,
        MessageRole::System | MessageRole::User | MessageRole::Assistant | MessageRole::ToolResult
    )
}
