//! Copies of branches: forks, clones and exports. Lines are copied verbatim unless
//! their parent changes, so data from other versions of pi is preserved.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentMessage, Entry, EntryBody, EntryId, EntryKind, LabelEntry, SessionHeader, timestamp,
};
use serde_json::Value;

use super::append::write_new_file;
use super::branch::SessionBranch;
use super::{Session, SessionLocation, encode_record};
use crate::directory;
use crate::error::SessionError;
use crate::index::EntrySlot;
use crate::session_id::{new_entry_id, new_session_id};

/// Where a fork leaves its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForkPosition {
    /// Before a user message, to replace it.
    #[default]
    Before,
    /// After an entry, to continue from there.
    At,
}

#[derive(Debug)]
pub struct ForkedSession {
    pub session: Session,
    /// Text of the user message before which the session was forked, to prefill the editor.
    pub selected_text: Option<String>,
}

/// What to do with label entries when copying a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LabelHandling {
    Keep,
    Drop,
}

impl Session {
    /// Creates a session from the path to an entry, or to its parent.
    pub fn fork(
        &self,
        id: &EntryId,
        position: ForkPosition,
    ) -> Result<ForkedSession, SessionError> {
        let entries = &self.entries;
        let selected = entries.slot(id.as_str())?;
        let (leaf, selected_text) = match position {
            ForkPosition::At => (Some(selected), None),
            ForkPosition::Before => {
                let entry = entries.entry_at(selected)?;
                let EntryBody::Message(AgentMessage::User(message)) = &entry.body else {
                    return Err(SessionError::NotAUserMessage { id: id.clone() });
                };
                let parent = entries.record(selected)?.parent.slot();
                (parent, Some(message.content.joined_text()))
            }
        };
        if leaf.is_some() && matches!(self.location, SessionLocation::Deferred(_)) {
            return Err(SessionError::Unsaved);
        }
        Ok(ForkedSession {
            session: self.fork_branch(SessionBranch::new(entries, leaf))?,
            selected_text,
        })
    }

    /// Creates a session from the path to the leaf.
    pub fn clone_branch(&self) -> Result<Self, SessionError> {
        let leaf = self.leaf_id().ok_or(SessionError::Empty)?;
        Ok(self.fork(leaf, ForkPosition::At)?.session)
    }

    /// Creates a session from the path to an entry, whether or not this session is saved.
    ///
    /// Labels are removed from the path and appended at the end if their targets are on it. The
    /// file is written immediately if the path contains an assistant message, otherwise with the
    /// next message.
    pub fn extract_branch(&self, id: &EntryId) -> Result<Self, SessionError> {
        self.fork_branch(self.entries.branch_to(id)?)
    }

    /// Appends the names, models and thinking levels that were set in another session after its
    /// first `copied` entries, so that a copy made then contains them.
    pub fn copy_choices_since(&mut self, copied: usize, source: &Self) -> Result<(), SessionError> {
        let slots = (0..).take(source.entries.len()).skip(copied);
        for slot in slots {
            let is_choice = matches!(
                source.entries.record(slot)?.kind,
                EntryKind::SessionInfo | EntryKind::ModelChange | EntryKind::ThinkingLevelChange
            );
            if is_choice {
                self.append(source.entries.entry_at(slot)?.body.clone())?;
            }
        }
        Ok(())
    }

    fn fork_branch(&self, branch: SessionBranch<'_>) -> Result<Self, SessionError> {
        let header = self.fork_header();
        let mut content = encode_record(&header)?;
        let last = branch.copy_lines(LabelHandling::Drop, &mut content)?;
        branch.copy_labels(last, &mut content)?;
        self.create_fork(header, content, branch.has_response())
    }

    fn fork_header(&self) -> SessionHeader {
        let timestamp = timestamp::to_iso(self.env.now_ms());
        let mut header =
            SessionHeader::new(new_session_id(), timestamp, self.cwd.to_string_lossy());
        header.parent_session = self.path().map(|path| path.to_string_lossy().into_owned());
        header
    }

    fn create_fork(
        &self,
        header: SessionHeader,
        content: Vec<u8>,
        save_now: bool,
    ) -> Result<Self, SessionError> {
        let name = directory::file_name(&header.timestamp, &header.id);
        let location = match &self.location {
            SessionLocation::Memory => SessionLocation::Memory,
            SessionLocation::Deferred(_) | SessionLocation::File(_) => {
                SessionLocation::Deferred(self.directory.join(name))
            }
        };
        let saved = match &location {
            SessionLocation::Deferred(path) if save_now => Some((
                write_new_file(&*self.storage, path, &content)?,
                path.clone(),
            )),
            SessionLocation::Memory | SessionLocation::Deferred(_) | SessionLocation::File(_) => {
                None
            }
        };
        let mut session = Self::from_content(
            Arc::clone(&self.storage),
            self.env.clone(),
            location,
            self.cwd.clone(),
            header,
            content,
        )?;
        if let Some((log, path)) = saved {
            session.entries.log = log;
            session.location = SessionLocation::File(path);
        }
        Ok(session)
    }

    /// Serializes the current branch as a separate session: a header with the current time and the
    /// entries from the root to the leaf as a linear chain.
    pub fn export_branch(&self) -> Result<Vec<u8>, SessionError> {
        let header = SessionHeader::new(
            self.id(),
            timestamp::to_iso(self.env.now_ms()),
            self.cwd.to_string_lossy(),
        );
        let mut content = encode_record(&header)?;
        self.current_branch()
            .copy_lines(LabelHandling::Keep, &mut content)?;
        Ok(content)
    }
}

impl SessionBranch<'_> {
    fn has_response(self) -> bool {
        self.slots_from_leaf().any(|slot| {
            let record = self.source.index.record(slot);
            record.is_some_and(|record| record.kind == EntryKind::ASSISTANT)
        })
    }

    /// Copies the lines, linking each to the previous one. Returns the ID of the last
    /// entry.
    fn copy_lines(
        self,
        labels: LabelHandling,
        content: &mut Vec<u8>,
    ) -> Result<Option<EntryId>, SessionError> {
        // If a compaction keeps from a dropped label, it keeps from the entry after the label
        // instead.
        let mut successors: HashMap<EntryId, EntryId> = HashMap::new();
        let mut dropped: Vec<EntryId> = Vec::new();
        let mut parent: Option<EntrySlot> = None;
        for slot in self.slots() {
            let record = self.source.record(slot)?;
            if labels == LabelHandling::Drop && record.kind == EntryKind::Label {
                dropped.push(record.id.clone());
                continue;
            }
            for label in dropped.drain(..) {
                successors.insert(label, record.id.clone());
            }
            let line = self.source.line_at(slot)?;
            let is_linked = parent.is_some() && record.parent.slot() == parent;
            let is_affected = record.kind == EntryKind::Compaction && !successors.is_empty();
            if is_linked && !is_affected {
                content.extend_from_slice(line.as_bytes());
                content.push(b'\n');
            } else {
                let parent_id = parent.map(|slot| self.source.record(slot)).transpose()?;
                let parent_id = parent_id.map(|record| &record.id);
                content.extend(relink_line(&line, parent_id, &successors)?);
            }
            parent = Some(slot);
        }
        let last = parent.map(|slot| self.source.record(slot)).transpose()?;
        Ok(last.map(|record| record.id.clone()))
    }

    /// Appends the current labels of the entries, with their timestamps.
    fn copy_labels(
        self,
        mut parent_id: Option<EntryId>,
        content: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        let mut taken: HashSet<EntryId> = self
            .slots_from_leaf()
            .filter_map(|slot| self.source.index.record(slot))
            .filter(|record| record.kind != EntryKind::Label)
            .map(|record| record.id.clone())
            .collect();
        for (target_id, label) in self.source.index.labels() {
            if !taken.contains(target_id) {
                continue;
            }
            let entry = Entry {
                id: new_entry_id(|id| taken.contains(id)),
                parent_id,
                timestamp: label.timestamp.clone(),
                body: LabelEntry {
                    target_id: target_id.clone(),
                    label: Some(label.text.clone()),
                }
                .into(),
                extra: JsonObject::new(),
            };
            content.extend(encode_record(&entry)?);
            parent_id = Some(entry.id.clone());
            taken.insert(entry.id);
        }
        Ok(())
    }
}

/// Rewrites the parent of an entry, and the first kept entry of a compaction if that was dropped.
fn relink_line(
    line: &str,
    parent_id: Option<&EntryId>,
    successors: &HashMap<EntryId, EntryId>,
) -> Result<Vec<u8>, SessionError> {
    let mut object: JsonObject =
        pi_protocol::json::from_str_lenient(line).map_err(SessionError::Serialize)?;
    let parent = parent_id.map_or(Value::Null, |id| Value::from(id.as_str()));
    object.insert("parentId".to_owned(), parent);
    if let Some(Value::String(kept)) = object.get_mut("firstKeptEntryId")
        && let Some(successor) = successors.get(kept.as_str())
    {
        *kept = successor.as_str().to_owned();
    }
    encode_record(&object)
}
