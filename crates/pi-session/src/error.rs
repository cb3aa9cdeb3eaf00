//! What can go wrong with a session, told so that the user knows what to do next.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::entry::EntryId;
use crate::log::AppendError;
use crate::session_id::InvalidSessionId;

/// Why something with a session did not work.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// There is no such file.
    #[error("there is no session file at {}", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("the session file {} cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file holds something else; it was not touched.
    #[error(
        "{} is no pi session: its first line is no session header. The file was left as it is",
        path.display()
    )]
    NotASession { path: PathBuf },
    /// The file could not be created or rewritten.
    #[error("the session file {} cannot be written", path.display())]
    Unwritable {
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A new session would take the place of another file.
    #[error("{} exists already; nothing was overwritten", path.display())]
    AlreadyExists { path: PathBuf },
    /// The record was not stored.
    #[error("nothing was added to the session {}: {source}", path.display())]
    AppendFailed {
        /// The file; empty for a session in memory.
        path: PathBuf,
        #[source]
        source: AppendError,
    },
    /// The session is open elsewhere and its old format cannot be brought up to date meanwhile.
    #[error("the session {} has an old format and is open in another pi: close it there first", path.display())]
    InUse { path: PathBuf },
    /// The id the user gave cannot be one.
    #[error(transparent)]
    InvalidId(#[from] InvalidSessionId),
    /// Another session has the id.
    #[error(
        "the session id `{id}` is taken by {}: open that session, or choose another id",
        path.display()
    )]
    IdTaken {
        id: String,
        /// The session that has it.
        path: PathBuf,
    },
    /// No entry has the id.
    #[error("there is no entry `{id}` in this session")]
    UnknownEntry { id: EntryId },
    /// An entry cannot be read back.
    #[error("the entry `{id}` cannot be read from the session file")]
    UnreadableEntry {
        id: EntryId,
        #[source]
        source: io::Error,
    },
    /// The entry to be edited is not on the active branch.
    #[error("the entry `{id}` is not on the active branch: go to its branch to edit it")]
    NotOnBranch { id: EntryId },
    /// The entry to be edited shows nothing to the model.
    #[error(
        "the entry `{id}` cannot be edited: only user, assistant, tool result and custom messages can"
    )]
    NotEditable { id: EntryId },
    /// A context edit has no content to replace with.
    #[error("the replacement for the entry `{id}` must be text or a list of content blocks")]
    InvalidReplacement { id: EntryId },
    /// A message that has its own type of entry, or is not finished.
    #[error("a message {what} is not stored as a message")]
    NotAMessage {
        /// What kind of message it is.
        what: &'static str,
    },
    /// A fork before an entry that is no user message.
    #[error("the entry `{id}` is no user message: fork before one of those, or at this entry")]
    NotAUserMessage { id: EntryId },
    /// A fork of a session that has no file yet.
    #[error("this session is not saved yet, so it cannot be forked or cloned: say something first")]
    Unsaved,
    /// A clone of a session without entries.
    #[error("this session has no entries yet, so there is nothing to clone")]
    Empty,
    /// The directory the session works in does not exist.
    #[error(
        "the working directory {} of the session {} does not exist: create it, or continue the session in another directory",
        cwd.display(), path.display()
    )]
    MissingCwd {
        cwd: PathBuf,
        /// The session; empty for a session in memory.
        path: PathBuf,
    },
    /// An entry could not be spelled as JSON.
    #[error("the entry cannot be written as JSON")]
    Serialize(#[source] serde_json::Error),
}
