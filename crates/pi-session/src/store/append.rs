//! Appending to a session, the only way it changes.
//!
//! [`Session::append`] is the one door: it checks what must hold of an entry, writes the record, and
//! only then lets the index know. A refused entry leaves the session as it was.

use std::io;
use std::sync::Arc;

use pi_ai::json::JsonObject;
use pi_ai::{AgentMessage, StopReason};
use serde_json::{Value, json};

use super::open::repair_end;
use super::{Home, Session, spell};
use crate::entry::{
    CompactionEntry, ContextEditEntry, CustomMessageEntry, Entry, EntryBody, EntryId, LabelEntry,
    SessionInfoEntry,
};
use crate::error::SessionError;
use crate::index::{Place, Slot};
use crate::kind::{EntryKind, MessageRole};
use crate::load::load;
use crate::log::{AppendError, AppendLog, read_range};
use crate::moment;
use crate::session_id::new_entry_id;
use crate::storage::AccessMode;

/// What another program appended, now part of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendedEntries {
    /// The entries, in the order of the file.
    pub entries: Vec<EntryId>,
    /// How many lines could not be read as entries.
    pub skipped_lines: usize,
}

impl Session {
    /// Appends an entry after the leaf and makes it the leaf.
    ///
    /// What the format asks of the entry is seen to: names lose their line breaks, a compaction
    /// without a first kept entry names itself, edits and labels must have a target that fits.
    pub fn append(&mut self, body: impl Into<EntryBody>) -> Result<Arc<Entry>, SessionError> {
        let id = new_entry_id(|id| self.contains(id));
        let body = self.checked(body.into(), &id)?;
        let entry = Entry {
            id,
            parent_id: self.leaf_id().cloned(),
            timestamp: moment::to_iso(self.env.now_ms()),
            body,
            extra: JsonObject::new(),
        };
        let slot = self.store(&entry)?;
        let entry = Arc::new(entry);
        self.cache.put(slot, &entry);
        Ok(entry)
    }

    /// Appends a message of the transcript as the entry its role asks for.
    pub fn append_message(&mut self, message: AgentMessage) -> Result<Arc<Entry>, SessionError> {
        match message {
            AgentMessage::Custom(message) => self.append(CustomMessageEntry {
                custom_type: message.custom_type,
                content: message.content,
                display: message.display,
                details: message.details,
            }),
            AgentMessage::BranchSummary(_) => Err(SessionError::NotAMessage {
                what: "that sums up a branch",
            }),
            AgentMessage::CompactionSummary(_) => Err(SessionError::NotAMessage {
                what: "that sums up what was compacted",
            }),
            message => self.append(message),
        }
    }

    /// Names the session; an empty name takes it away.
    pub fn set_name(&mut self, name: &str) -> Result<Arc<Entry>, SessionError> {
        self.append(SessionInfoEntry {
            name: Some(name.to_owned()),
        })
    }

    /// Labels an entry; no label or an empty one takes it away.
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

    /// Takes in what another program appended since this session last looked.
    ///
    /// After [`AppendError::ConcurrentWrite`] this is how to go on: the strangers' entries join the tree
    /// where their parents are, the leaf stays, and what is appended next follows it, on a branch of
    /// its own if they went on from the same entry.
    pub fn load_appended(&mut self) -> Result<AppendedEntries, SessionError> {
        let start = self.scanned_to;
        let known = self.len();
        let end = self.log.accept_growth().map_err(|e| self.unreadable(e))?;
        let header = Some(self.header.clone());
        let loaded = load(self.log.file(), start, end, header, &mut self.index)
            .map_err(|error| self.unreadable(error))?;
        self.scanned_to = repair_end(&mut self.log, &loaded, &mut self.findings);
        let adopted = self.index.records().iter().skip(known);
        Ok(AppendedEntries {
            entries: adopted.map(|record| record.id.clone()).collect(),
            skipped_lines: loaded.skipped,
        })
    }

    /// Writes an entry as it is and makes it the leaf.
    pub(crate) fn store(&mut self, entry: &Entry) -> Result<Slot, SessionError> {
        let record = spell(entry)?;
        let offset = match &self.home {
            Home::Deferred(_) if entry.body.kind().is_said() => self.create_file(&record)?,
            Home::Memory | Home::Deferred(_) | Home::File(_) => self
                .log
                .append(&record)
                .map_err(|error| self.not_appended(error))?,
        };
        let length = u32::try_from(record.len() - 1)
            .map_err(|error| self.not_appended(AppendError::Write(io::Error::other(error))))?;
        if offset + record.len() as u64 == self.log.length() {
            self.scanned_to = self.log.length();
        }
        let slot = self.index.add_entry(entry, Place { offset, length });
        self.leaf = slot.or(self.leaf);
        slot.ok_or_else(|| {
            self.not_appended(AppendError::Write(io::ErrorKind::FileTooLarge.into()))
        })
    }

    /// Creates the file with everything said so far and the record that makes it worth keeping.
    /// Returns where that record begins.
    fn create_file(&mut self, record: &[u8]) -> Result<u64, SessionError> {
        let Home::Deferred(path) = &self.home else {
            return Err(self.not_appended(AppendError::ReadOnly));
        };
        let path = path.clone();
        let offset = self.log.length();
        let mut content =
            read_range(self.log.file(), 0, offset).map_err(|error| self.unreadable(error))?;
        content.extend_from_slice(record);
        self.log = write_new(&*self.storage, &path, &content)?;
        self.home = Home::File(path);
        Ok(offset)
    }

    /// Sees to what the format asks of an entry.
    fn checked(&self, body: EntryBody, id: &EntryId) -> Result<EntryBody, SessionError> {
        Ok(match body {
            EntryBody::Message(AgentMessage::Assistant(message))
                if message.stop_reason == StopReason::Pending =>
            {
                return Err(SessionError::NotAMessage {
                    what: "that is still being written",
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
            EntryBody::ContextEdit(edit) => self.checked_edit(edit)?.into(),
            body => body,
        })
    }

    fn checked_edit(&self, mut edit: ContextEditEntry) -> Result<ContextEditEntry, SessionError> {
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

/// Creates a session file with its first content in one write; on failure there is no file.
pub(crate) fn write_new(
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
        tracing::warn!(path = %path.display(), %error, "an unfinished session file stays behind");
    }
    appended
}

/// Makes a name of one line.
fn one_line(name: &str) -> String {
    let lines: Vec<&str> = name
        .trim()
        .split(['\r', '\n'])
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ").trim().to_owned()
}
