//! The messages of the context as JSON. Most messages are stored exactly as clients receive them,
//! so they are copied from the file without parsing.

use memchr::memmem;
use pi_protocol::{EntryKind, MessageRole};

use super::{ContextEdits, MAX_CONTEXT_MESSAGES};
use crate::error::SessionError;
use crate::index::EntrySlot;
use crate::scan::{ScannedLine, Scanner};
use crate::session::branch::SessionBranch;

/// How much of the file is read at once, so that many short lines need one read.
const COPY_CHUNK_BYTES: u64 = 256 * 1024;

impl SessionBranch<'_> {
    /// Serializes the messages of [`SessionBranch::projection`] as a JSON array. Messages with model
    /// roles are copied verbatim from the file unless the path contains a compaction or an edit.
    pub fn messages_json(self) -> Result<String, SessionError> {
        let mut list = JsonMessageList::default();
        match self.plain_path() {
            Some(path) => self.copy_messages(&path, &mut list)?,
            None => {
                for message in self.projection()?.messages() {
                    list.push_serialized(message)?;
                }
            }
        }
        Ok(list.finish())
    }

    /// Returns the path from the root to the leaf, if it has no compaction and no edit, and is not too long.
    fn plain_path(self) -> Option<Vec<EntrySlot>> {
        let mut path = Vec::new();
        for slot in self.slots_from_leaf() {
            if matches!(
                self.source.index.record(slot)?.kind,
                EntryKind::Compaction | EntryKind::ContextEdit
            ) {
                return None;
            }
            path.push(slot);
            if path.len() > MAX_CONTEXT_MESSAGES {
                return None;
            }
        }
        path.reverse();
        Some(path)
    }

    fn copy_messages(
        self,
        path: &[EntrySlot],
        list: &mut JsonMessageList,
    ) -> Result<(), SessionError> {
        let mut scanner = Scanner::default();
        let mut rest = path.iter().copied().peekable();
        while let Some(first) = rest.peek().copied() {
            self.source
                .each_line_from(first, COPY_CHUNK_BYTES, |slot, line| {
                    // Entries of other branches may lie between those of this one.
                    if rest.next_if_eq(&slot).is_none() {
                        return Ok(());
                    }
                    let record = self.source.record(slot)?;
                    match raw_message(&mut scanner, line, record.kind, record.id.as_str()) {
                        Some(message) => list.push(message),
                        None => {
                            for message in ContextEdits::none()
                                .show(&self.source.entry_at(slot)?)
                                .messages()
                            {
                                list.push_serialized(message)?;
                            }
                        }
                    }
                    Ok(())
                })?;
        }
        Ok(())
    }
}

/// Returns the message of an entry line, if it can be copied verbatim.
fn raw_message<'line>(
    scanner: &mut Scanner,
    line: &'line [u8],
    kind: EntryKind,
    id: &str,
) -> Option<&'line str> {
    let EntryKind::Message(
        MessageRole::System | MessageRole::User | MessageRole::Assistant | MessageRole::ToolResult,
    ) = kind
    else {
        return None;
    };
    let ScannedLine::Object(fields) = scanner.scan(line) else {
        return None;
    };
    let message = std::str::from_utf8(fields.message?).ok()?;
    let can_be_copied = fields.id.as_deref() == Some(id) && is_strict(message.as_bytes());
    can_be_copied.then_some(message)
}

/// Returns whether leniently parsed JSON is also valid for strict parsers: it has no raw control
/// characters and no escape that may be a lone surrogate.
fn is_strict(json: &[u8]) -> bool {
    // Finding the minimum has no early exit, which makes it several times faster.
    let has_controls = json.iter().min().is_some_and(|least| *least < 0x20);
    let mut escapes = memmem::find_iter(json, b"\\u");
    !has_controls && !escapes.any(|at| matches!(json.get(at + 2), Some(b'd' | b'D')))
}

/// A JSON array of messages being built.
#[derive(Default)]
struct JsonMessageList {
    json: String,
}

impl JsonMessageList {
    fn push(&mut self, message: &str) {
        self.json.push(if self.json.is_empty() { '[' } else { ',' });
        self.json.push_str(message);
    }

    fn push_serialized(&mut self, message: &pi_protocol::AgentMessage) -> Result<(), SessionError> {
        let message = pi_protocol::json::to_string(message).map_err(SessionError::Serialize)?;
        self.push(&message);
        Ok(())
    }

    fn finish(mut self) -> String {
        self.json
            .push_str(if self.json.is_empty() { "[]" } else { "]" });
        self.json
    }
}
