//! Whether a context is compacted, and what a compaction that did not help means.

use std::fmt;

use crate::id::EntryId;
use crate::session_event::CompactionReason;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionDecision {
    Skip,
    Compact {
        reason: CompactionReason,
        /// Entries to omit from the context first, each with a context edit: the failed response
        /// and its tool results.
        omit: Vec<EntryId>,
        /// Whether to retry the request afterwards.
        retry: bool,
    },
    /// Compaction was already tried and did not help.
    Failed(RecoveryFailure),
}

/// The context was compacted to recover a failed response, and the response failed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryFailure {
    /// The context is still too large.
    Overflow,
    /// The response is still truncated.
    Length,
}

impl fmt::Display for RecoveryFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Overflow => {
                "the context is still too large for the model after compaction; shorten the request or \
                 switch to a model with a larger context window"
            }
            Self::Length => "the response is still truncated after compaction",
        })
    }
}

impl std::error::Error for RecoveryFailure {}

/// Whether a compaction was already tried to recover the response to the last user message.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryState {
    #[default]
    NotAttempted,
    Attempted,
}
