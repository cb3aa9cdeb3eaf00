//! Session storage: an append-only log of entries that form a tree.
//!
//! A session file contains JSON lines: a [`SessionHeader`](pi_protocol::SessionHeader), then one
//! [`Entry`](pi_protocol::Entry) per line. Entries
//! point to their parents, so one file holds every branch of a conversation, and written records
//! are never changed. [`SessionStore`] creates, lists, finds and forks the sessions of a working
//! directory; [`Session`] opens one file, appends to it and moves in its tree; [`SessionEntries`]
//! reads all branches and [`SessionBranch`] one path; [`SessionCheck`] and [`SessionRepair`] deal
//! with damaged files.
//!
//! A [`Projection`] is the part of a session that the model sees. It is read with the index of the
//! file, so that only the entries after the last compaction are parsed. What to do when it grows too
//! large is decided in `pi-context`.
//!
//! ```
//! use std::path::Path;
//!
//! use pi_protocol::SessionInfoEntry;
//! use pi_session::{NewSession, Session};
//!
//! # fn main() -> Result<(), pi_session::SessionError> {
//! let mut session = Session::in_memory(Path::new("/project"), NewSession::default())?;
//! let entry = session.append(SessionInfoEntry {
//!     name: Some("a name".to_owned()),
//! })?;
//! assert_eq!(session.leaf_id(), Some(&entry.id));
//! assert_eq!(session.name(), Some("a name"));
//! # Ok(())
//! # }
//! ```

mod cache;
mod check;
mod checksums;
mod context;
mod directory;
mod error;
mod file_history;
mod index;
pub mod listing;
mod load;
mod log;
mod migrate;
mod pending;
mod reader;
mod removal;
mod repair;
mod scan;
mod session;
mod session_id;
mod session_store;
mod stats;
mod storage;
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
mod tree;

pub use check::SessionCheck;
pub use check::problem::{ProblemKind, SessionProblem, Severity};
pub use context::{
    ContextEdits, ContextModel, ContextOutline, EntryMetadata, EntrySource, MAX_CONTEXT_MESSAGES,
    PathEntries, PathSettings, PathStep, ProjectedEntry, Projection, project, project_path,
};
pub use directory::sessions_root;
pub use error::SessionError;
pub use file_history::file_history_directory;
pub use log::AppendError;
pub use pending::PendingRecord;
pub use removal::{Removal, RemovalError, delete_session};
pub use repair::{RepairError, SessionRepair};
pub use session::Pending;
pub use session::append::AppendedEntries;
pub use session::branch::SessionBranch;
pub use session::entries::SessionEntries;
pub use session::fork::{ForkPosition, ForkedSession};
pub use session::navigation::BranchSummary;
pub use session::packed_index::PackedIndex;
pub use session::{NewSession, OpenReport, OpenSession, Session};
pub use session_id::{InvalidSessionId, check_session_id};
pub use session_store::SessionStore;
pub use stats::{ModelUsage, SessionTotals};
pub use storage::AccessMode;
