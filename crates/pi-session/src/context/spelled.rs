//! The messages the model sees, as JSON.
//!
//! Most of them stand in the file just as a client gets them, so that a long session is copied and not
//! read: a message is taken out of its line as it is.

use memchr::memmem;

use super::Edits;
use crate::error::SessionError;
use crate::index::Slot;
use crate::kind::{EntryKind, MessageRole};
use crate::scan::{Line, Scanner};
use crate::store::Session;

/// How much of the file is read at once, so that many short lines are one read.
const COPIED_AT_ONCE: u64 = 256 * 1024;

impl Session {
    /// Spells the messages of [`Session::projection`] as a list of JSON. Those of the models' roles are
    /// spelled as in the file, unless a compaction or an edit decides what is seen of them.
    pub fn messages_json(&self) -> Result<String, SessionError> {
        let mut list = MessageList::default();
        match self.plain_path() {
            Some(path) => self.copy_messages(&path, &mut list)?,
            None => {
                for message in self.projection()?.messages() {
                    list.spell(message)?;
                }
            }
        }
        Ok(list.finish())
    }

    /// Returns the way from the root to the leaf, if every entry on it shows what it holds.
    fn plain_path(&self) -> Option<Vec<Slot>> {
        let mut path = Vec::new();
        for slot in self.leaf.into_iter().flat_map(|leaf| self.index.path(leaf)) {
            if matches!(
                self.index.record(slot)?.kind,
                EntryKind::Compaction | EntryKind::ContextEdit
            ) {
                return None;
            }
            path.push(slot);
        }
        path.reverse();
        Some(path)
    }

    fn copy_messages(&self, path: &[Slot], list: &mut MessageList) -> Result<(), SessionError> {
        let mut scanner = Scanner::default();
        let mut rest = path.iter().copied().peekable();
        while let Some(first) = rest.peek().copied() {
            self.each_line_from(first, COPIED_AT_ONCE, |slot, line| {
                // Entries of other branches may stand between those of this one.
                if rest.next_if_eq(&slot).is_none() {
                    return Ok(());
                }
                let record = self.record(slot)?;
                match message_as_written(&mut scanner, line, record.kind, record.id.as_str()) {
                    Some(message) => list.push(message),
                    None => {
                        for message in Edits::none().show(&self.entry_at(slot)?).messages() {
                            list.spell(message)?;
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Takes the message out of the line of an entry, if it can be handed on as it is.
fn message_as_written<'line>(
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
    let Line::Object(fields) = scanner.scan(line) else {
        return None;
    };
    let message = std::str::from_utf8(fields.message?).ok()?;
    let can_be_copied = fields.id.as_deref() == Some(id) && is_strict(message.as_bytes());
    can_be_copied.then_some(message)
}

/// Returns whether JSON that we can read is JSON to everybody: no string of it has control characters or,
/// maybe, half a surrogate pair.
fn is_strict(json: &[u8]) -> bool {
    // The least of all bytes: without an early end, which is several times as fast.
    let has_controls = json.iter().min().is_some_and(|least| *least < 0x20);
    let mut escapes = memmem::find_iter(json, b"\\u");
    !has_controls && !escapes.any(|at| matches!(json.get(at + 2), Some(b'd' | b'D')))
}

/// A list of messages under way.
#[derive(Default)]
struct MessageList {
    json: String,
}

impl MessageList {
    fn push(&mut self, message: &str) {
        self.json.push(if self.json.is_empty() { '[' } else { ',' });
        self.json.push_str(message);
    }

    fn spell(&mut self, message: &pi_ai::AgentMessage) -> Result<(), SessionError> {
        let message = pi_ai::json::to_string(message).map_err(SessionError::Serialize)?;
        self.push(&message);
        Ok(())
    }

    fn finish(mut self) -> String {
        self.json
            .push_str(if self.json.is_empty() { "[]" } else { "]" });
        self.json
    }
}
