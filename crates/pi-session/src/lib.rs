//! The session tree on disk: what a conversation leaves behind and how it is found again.
//!
//! A session is a file of JSON lines, first a [`SessionHeader`], then one [`Entry`] a line. Entries
//! point to their parents, so one file holds every branch of a conversation, and nothing written is
//! ever changed.

mod entry;
mod header;
mod moment;

pub use entry::{
    BranchSummaryEntry, CompactionEntry, ContextEditEntry, ContextReplacement, CustomEntry,
    CustomMessageEntry, Entry, EntryBody, EntryId, LabelEntry, ModelChangeEntry, SessionInfoEntry,
    ThinkingLevelChangeEntry, UnknownEntry, UsageEntry,
};
pub use header::{CURRENT_VERSION, SessionHeader};
