//! Appending to a session. [`Session::append`] validates an entry, writes its record and then
//! updates the index. A rejected entry leaves the session unchanged.

use std::io;
use std::sync::Arc;

use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentMessage, CompactionEntry, ContextEditEntry, CustomMessageEntry, Entry, EntryBody, EntryId,
    EntryKind, LabelEntry, MessageRole, SessionInfoEntry, StopReason, timestamp,
};
use serde_json::{Value, json};

use super::open::repair_tail;
use super::{Session, SessionLocation, encode_record};
use crate::error::SessionError;
use crate::index::{EntrySlot, LineSpan};
use crate::load::load;
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
        let id = new_entry_id(|id| self.contains(id));
        let body = self.validate_body(body.into(), &id)?;
        let entry = Entry {
            id,
            parent_id: self.leaf_id().cloned(),
            timestamp: timestamp::to_iso(self.env.now_ms()),
            body,
            extra: JsonObject::new(),
        };
        let slot = self.store(&entry)?;
        let entry = Arc::new(entry);
        self.cache.put(slot, &entry);
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
        let start = self.scanned_to;
        let known = self.len();
        let end = self.log.refresh_length().map_err(|e| self.unreadable(e))?;
        let header = Some(self.header.clone());
        let loaded = load(self.log.file(), start, end, header, &mut self.index)
            .map_err(|error| self.unreadable(error))?;
        self.scanned_to = repair_tail(&mut self.log, &loaded, &mut self.open_report);
        let appended = self.index.records().iter().skip(known);
        Ok(AppendedEntries {
            entries: appended.map(|record| record.id.clone()).collect(),
            skipped_lines: loaded.skipped,
        })
    }

    /// Writes an entry unchanged and makes it the leaf.
    pub(crate) fn store(&mut self, entry: &Entry) -> Result<EntrySlot, SessionError> {
        let record = encode_record(entry)?;
        let offset = match &self.location {
            SessionLocation::Deferred(_) if triggers_save(entry.body.kind()) => {
                self.create_file(&record)?
            }
            SessionLocation::Memory | SessionLocation::Deferred(_) | SessionLocation::File(_) => {
                self.log
                    .append(&record)
                    .map_err(|error| self.not_appended(error))?
            }
        };
        let length = u32::try_from(record.len() - 1)
            .map_err(|error| self.not_appended(AppendError::Write(io::Error::other(error))))?;
        if offset + record.len() as u64 == self.log.length() {
            self.scanned_to = self.log.length();
        }
        let slot = self.index.add_entry(entry, LineSpan { offset, length });
        self.leaf = slot.or(self.leaf);
        slot.ok_or_else(|| {
            self.not_appended(AppendError::Write(io::ErrorKind::FileTooLarge.into()))
        })
    }

    /// Creates the file with the buffered records and the given one, and returns the offset of that
    /// record.
    fn create_file(&mut self, record: &[u8]) -> Result<u64, SessionError> {
        let SessionLocation::Deferred(path) = &self.location else {
            return Err(self.not_appended(AppendError::ReadOnly));
        };
        let path = path.clone();
        let offset = self.log.length();
        let mut content =
            read_range(self.log.file(), 0, offset).map_err(|error| self.unreadable(error))?;
        content.extend_from_slice(record);
        self.log = write_new_file(&*self.storage, &path, &content)?;
        self.location = SessionLocation::File(path);
        Ok(offset)
    }

    /// Validates and normalizes an entry before it is written.
    fn validate_body(&self, body: EntryBody, id: &EntryId) -> Result<EntryBody, SessionError> {
        Ok(match body {
            EntryBody::Message(AgentMessage::Assistant(message))
                if message.stop_reason == StopReason::Pending =>
            {
                return Err(SessionError::NotAMessage {
                    what: "an unfinished assistant message",
                });
            }
            EntryBody::SessionInfo(SessionInfoEntry { name }) => SessionInfoEntry {
                name: Some(name.as_deref().map(one_line).unwrap_or_default()),
            }
            .into(),
            EntryBody::Compaction(compaction) => CompactionEntry {
                first_kept_entry_id: compaction.first_kept_entry_id.or_else(|| Some(id.clone())),
                ..compaction
            }
            .into(),
            EntryBody::Label(label) => {
                self.slot(label.target_id.as_str())?;
                label.into()
            }
            EntryBody::ContextEdit(edit) => self.validate_edit(edit)?.into(),
            body => body,
        })
    }

    fn validate_edit(&self, mut edit: ContextEditEntry) -> Result<ContextEditEntry, SessionError> {
        let id = edit.target_id.clone();
        let target = self.slot(id.as_str())?;
        if !self.is_on_branch(target) {
            return Err(SessionError::NotOnBranch { id });
        }
        let takes_blocks = match self.record(target)?.kind {
            EntryKind::Message(MessageRole::Assistant | MessageRole::ToolResult) => true,
            EntryKind::Message(MessageRole::User) | EntryKind::CustomMessage => false,
            _ => return Err(SessionError::NotEditable { id }),
        };
        if let Some(replacement) = &mut edit.replacement {
            match &replacement.content {
                Value::String(text) if takes_blocks => {
                    replacement.content = json!([{ "type": "text", "text": text }]);
                }
                Value::String(_) | Value::Array(_) => {}
                _ => return Err(SessionError::InvalidReplacement { id }),
            }
        }
        Ok(edit)
    }

    fn not_appended(&self, source: AppendError) -> SessionError {
        SessionError::AppendFailed {
            path: self.path().map(Into::into).unwrap_or_default(),
            source,
        }
    }

    fn unreadable(&self, source: io::Error) -> SessionError {
        SessionError::Unreadable {
            path: self.path().map(Into::into).unwrap_or_default(),
            source,
        }
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

/// Joins the lines of a name with spaces.
fn one_line(name: &str) -> String {
    let lines: Vec<&str> = name
        .trim()
        .split(['\r', '\n'])
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ").trim().to_owned()
}
