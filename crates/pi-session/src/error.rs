//! Errors of session operations, with a hint about what to do next where there is one.

use std::io;
use std::path::PathBuf;

use pi_protocol::EntryId;
use thiserror::Error;

use crate::log::AppendError;
use crate::session_id::InvalidSessionId;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    #[error("session file not found: {}", path.display())]
    Missing { path: PathBuf },
    #[error("cannot read session file {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file has no session header; it was not modified.
    #[error(
        "not a pi session: {}: the first line is not a session header; the file was not modified",
        path.display()
    )]
    NotASession { path: PathBuf },
    /// The file could not be created or rewritten.
    #[error("cannot write session file {}", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("file already exists: {}", path.display())]
    AlreadyExists { path: PathBuf },
    #[error("cannot append to session {}: {source}", path.display())]
    AppendFailed {
        /// Empty for a session in memory.
        path: PathBuf,
        #[source]
        source: AppendError,
    },
    /// The session must be migrated to the current format, but another process has it open.
    #[error("cannot migrate session {}: it is open in another pi process; close it there first", path.display())]
    InUse { path: PathBuf },
    #[error(transparent)]
    InvalidId(#[from] InvalidSessionId),
    #[error(
        "session ID `{id}` is already used by {}; open that session or choose another ID",
        path.display()
    )]
    IdTaken {
        id: String,
        /// The session that uses the ID.
        path: PathBuf,
    },
    #[error("Entry {id} not found")]
    UnknownEntry { id: EntryId },
    #[error("cannot read entry `{id}` from the session file")]
    UnreadableEntry {
        id: EntryId,
        #[source]
        source: io::Error,
    },
    #[error("entry `{id}` is not on the active branch; switch to its branch to edit it")]
    NotOnBranch { id: EntryId },
    /// The edited entry contributes no editable message to the context.
    #[error(
        "cannot edit entry `{id}`: only user, assistant, tool result and custom messages can be edited"
    )]
    NotEditable { id: EntryId },
    #[error("the replacement for entry `{id}` must be text or a list of content blocks")]
    InvalidReplacement { id: EntryId },
    /// The message has its own entry type or is not complete.
    #[error("cannot store {what} as a message entry")]
    NotAMessage { what: &'static str },
    #[error("entry `{id}` is not a user message; fork before a user message, or at this entry")]
    NotAUserMessage { id: EntryId },
    #[error("cannot fork or clone: the session is not saved yet; send a message first")]
    Unsaved,
    #[error("cannot clone: the session has no entries")]
    Empty,
    #[error(
        "working directory {} of session {} does not exist; create it or continue the session in another directory",
        cwd.display(), path.display()
    )]
    MissingCwd {
        cwd: PathBuf,
        /// Session file; empty for a session in memory.
        path: PathBuf,
    },
    #[error("this session was closed; use the one that replaced it")]
    Closed,
    #[error("cannot serialize entry as JSON")]
    Serialize(#[source] serde_json::Error),
}
