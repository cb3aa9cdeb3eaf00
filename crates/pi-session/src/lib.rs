//! Session storage: an append-only log of entries that form a tree, plus the logic built on it.
//!
//! A session file contains JSON lines: a [`SessionHeader`], then one [`Entry`] per line. Entries
//! point to their parents, so one file holds every branch of a conversation, and written records
//! are never changed. [`Session`] opens, reads and appends; [`listing`] finds sessions.
//!
//! A [`Projection`] is the part of a session that the model sees. When it grows too large, a
//! [`CompactionPlan`] decides what is summarized and what is kept. Both are pure data: this crate
//! never calls a model.
//!
//! ```
//! use std::path::Path;
//!
//! use pi_session::{NewSession, Session, SessionInfoEntry};
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

mod branch_summary;
mod cache;
mod cache_miss;
mod check;
mod compaction;
mod context;
mod directory;
mod entry;
mod error;
mod fork;
mod header;
mod index;
mod kind;
pub mod listing;
mod load;
mod log;
mod migrate;
mod model_messages;
mod reader;
mod removal;
mod repair;
mod scan;
mod sections;
mod session_id;
mod stats;
mod storage;
mod store;
#[cfg(test)]
mod testing;
mod timestamp;
mod tree;

pub use branch_summary::{AbandonedBranch, BranchSummaryPlan, NavigationTarget};
pub use cache_miss::{CacheMiss, CacheMissDetector};
pub use check::SessionCheck;
pub use check::problem::{ProblemKind, SessionProblem, Severity};
pub use compaction::estimate::{exceeds_threshold, message_tokens};
pub use compaction::files::{FileLists, TouchedFiles};
pub use compaction::prompt::SummaryInstructions;
pub use compaction::request::{Summarizer, Summary, SummaryError, SummaryPurpose, SummaryRequest};
pub use compaction::serialize::serialize_conversation;
pub use compaction::settings::{CompactionSettings, CompactionSettingsError};
pub use compaction::trigger::{
    CompactionCheck, CompactionDecision, CompactionPhase, CompactionReason, RecoveryFailure,
    RecoveryState, needs_compaction,
};
pub use compaction::{
    CompactionPlan, CompactionResult, MessageSelection, NothingToCompact, SummaryAuthor,
};
pub use context::{
    ContextModel, ContextOutline, EntryMetadata, EntrySource, PathSettings, PathStep,
    ProjectedEntry, Projection, project, project_path,
};
pub use directory::{SessionDirectory, sessions_root};
pub use entry::{
    BranchSummaryEntry, CompactionEntry, ContextEditEntry, ContextReplacement, CustomEntry,
    CustomMessageEntry, Entry, EntryBody, EntryId, LabelEntry, ModelChangeEntry, SessionInfoEntry,
    ThinkingLevelChangeEntry, UnknownEntry, UsageEntry,
};
pub use error::SessionError;
pub use fork::{ForkPosition, ForkedSession};
pub use header::{CURRENT_VERSION, SessionHeader};
pub use kind::{EntryKind, MessageRole};
pub use log::AppendError;
pub use model_messages::{bash_execution_text, to_model_message, to_model_messages};
pub use removal::{Removal, RemovalError, delete_session};
pub use repair::{RepairError, SessionRepair};
pub use sections::{
    InvalidSectionName, PromptSection, PromptSections, section_changes, system_update,
};
pub use session_id::{InvalidSessionId, check_session_id};
pub use stats::{ContextUsage, ModelUsage, SessionTotals, TokenTotals};
pub use storage::AccessMode;
pub use store::append::AppendedEntries;
pub use store::{NewSession, OpenReport, OpenSession, Session};
pub use tree::{BranchSummary, NodeLabel, SessionTree, TreeNode};
