//! Compactions.

use futures_util::future::BoxFuture;
use pi_context::CompactionResult;
use pi_extensions::events::{
    BeforeCompact, CompactionDone, CompactionFailure, CompactionPreparation, FileLists,
    SummarySettings,
};
use pi_protocol::EntryId;

use super::ExtensionParticipant;
use crate::participants::{
    CompactionCompleted, CompactionFailed, CompactionHook, CompactionProposal, CompactionVerdict,
};

impl CompactionHook for ExtensionParticipant {
    fn before_compact<'a>(
        &'a self,
        proposal: CompactionProposal<'a>,
    ) -> BoxFuture<'a, CompactionVerdict> {
        Box::pin(async move {
            let plan = proposal.plan;
            let event = || BeforeCompact {
                preparation: CompactionPreparation {
                    first_kept_entry_id: plan.first_kept_entry_id.to_string(),
                    messages_to_summarize: plan.history_messages().collect(),
                    turn_prefix_messages: plan.turn_prefix_messages().collect(),
                    is_split_turn: plan.is_split_turn(),
                    tokens_before: plan.tokens_before,
                    previous_summary: plan.previous_summary.as_deref(),
                    file_ops: FileLists {
                        read: &plan.files.read,
                        written: &plan.files.written,
                        edited: &plan.files.edited,
                    },
                    settings: SummarySettings {
                        enabled: plan.settings.enabled,
                        reserve_tokens: plan.settings.reserve_tokens,
                        keep_recent_tokens: plan.settings.keep_recent_tokens,
                    },
                },
                branch_entries: proposal
                    .session
                    .history()
                    .with_session(|session| session.current_branch().entries())
                    .unwrap_or_default(),
                custom_instructions: proposal.instructions,
                reason: proposal.reason.as_str(),
                will_retry: proposal.will_retry,
            };
            let Some(result) = self.extensions.emit(Some(proposal.cancel), event).await else {
                return CompactionVerdict::Proceed;
            };
            match (result.cancel, result.compaction) {
                (Some(true), _) => CompactionVerdict::Cancel,
                (_, Some(data)) => CompactionVerdict::Use(CompactionResult {
                    summary: data.summary,
                    first_kept_entry_id: data.first_kept_entry_id.map(EntryId::from),
                    tokens_before: data.tokens_before.unwrap_or(plan.tokens_before),
                    details: data.details,
                    usage: data.usage,
                }),
                (_, None) => CompactionVerdict::Proceed,
            }
        })
    }

    fn compacted<'a>(&'a self, compacted: CompactionCompleted<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let event = || CompactionDone {
                compaction_entry: compacted.entry,
                from_extension: compacted.author.from_hook(),
                reason: compacted.reason.as_str(),
                will_retry: compacted.will_retry,
            };
            self.extensions.emit(None, event).await;
        })
    }

    fn compaction_failed(&self, failed: CompactionFailed) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let event = || CompactionFailure {
                reason: failed.reason.as_str(),
                error_message: failed.error_message.as_deref(),
                aborted: failed.aborted,
                from_extension: failed.author.from_hook(),
            };
            self.extensions.emit(None, event).await;
        })
    }
}
