//! Compactions before and after they happen.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_context::{CompactionPlan, CompactionResult, SummaryAuthor};
use pi_protocol::CompactionReason;
use pi_protocol::Entry;
use tokio_util::sync::CancellationToken;

use super::{Participants, ready};
use crate::session::AgentSession;

/// Cancels compactions, or writes their summaries.
pub trait CompactionHook: Send + Sync {
    /// Called before a compaction calls a model.
    fn before_compact<'a>(
        &'a self,
        proposal: CompactionProposal<'a>,
    ) -> BoxFuture<'a, CompactionVerdict> {
        let _ = proposal;
        ready(CompactionVerdict::Proceed)
    }

    /// Called after a compaction is stored.
    fn compacted<'a>(&'a self, compacted: CompactionCompleted<'a>) -> BoxFuture<'a, ()> {
        let _ = compacted;
        ready(())
    }

    /// Called when a compaction failed or was canceled.
    fn compaction_failed(&self, failed: CompactionFailed) -> BoxFuture<'_, ()> {
        let _ = failed;
        ready(())
    }
}

/// A compaction that is about to call a model.
#[derive(Clone)]
pub struct CompactionProposal<'a> {
    /// Which entries would be summarized and which kept.
    pub plan: &'a CompactionPlan,
    pub session: &'a AgentSession,
    /// The user's instructions for the summary.
    pub instructions: Option<&'a str>,
    pub reason: CompactionReason,
    /// Whether the failed request is sent again afterwards.
    pub will_retry: bool,
    /// Canceled when the compaction is.
    pub cancel: &'a CancellationToken,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CompactionVerdict {
    /// Let a model write the summary.
    Proceed,
    Cancel,
    /// Store this summary.
    Use(CompactionResult),
}

/// A compaction that was stored.
#[derive(Clone)]
pub struct CompactionCompleted<'a> {
    pub entry: &'a Arc<Entry>,
    pub author: SummaryAuthor,
    pub reason: CompactionReason,
    /// Whether the failed request is sent again.
    pub will_retry: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionFailed {
    pub reason: CompactionReason,
    /// The error; `None` if the compaction was canceled.
    pub error_message: Option<String>,
    pub aborted: bool,
    /// Who wrote or was to write the summary.
    pub author: SummaryAuthor,
}

impl Participants {
    /// The first hook that cancels the compaction or writes the summary decides.
    pub(crate) async fn before_compact(
        &self,
        proposal: CompactionProposal<'_>,
    ) -> CompactionVerdict {
        for hook in &self.compaction {
            match hook.before_compact(proposal.clone()).await {
                CompactionVerdict::Proceed => {}
                verdict => return verdict,
            }
        }
        CompactionVerdict::Proceed
    }

    pub(crate) async fn compacted(&self, compacted: CompactionCompleted<'_>) {
        for hook in &self.compaction {
            hook.compacted(compacted.clone()).await;
        }
    }

    pub(crate) async fn compaction_failed(&self, failed: CompactionFailed) {
        for hook in &self.compaction {
            hook.compaction_failed(failed.clone()).await;
        }
    }
}
