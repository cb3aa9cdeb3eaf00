//! Complete messages, ends of turns and settling.

use std::sync::atomic::Ordering;

use futures_util::future::BoxFuture;
use pi_core::ActivityOutcome;
use pi_extensions::DraftData;
use pi_extensions::events::{
    BeforeSettle, BoundaryContextData, DraftedEntries, ExtensionEvent, MessageEnd, TurnEnd,
};
use pi_protocol::{AgentMessage, ContextReplacement, EntryId, SharedMessage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::session::draft;
use super::ExtensionParticipant;
use crate::participants::{BoundaryDecision, EntryDraft, SettleBoundary, TurnBoundary, TurnHook};
use crate::session::BoundaryView;

/// An entry drafted by an extension.
#[derive(Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
enum EntryDraftData {
    Custom {
        custom_type: String,
        data: Option<Value>,
    },
    CustomMessage(DraftData),
    ContextEdit {
        target_id: String,
        replacement: Option<ContextReplacement>,
    },
    Compaction {
        summary: String,
        first_kept_entry_id: Option<String>,
        details: Option<Value>,
        usage: Option<pi_protocol::Usage>,
    },
}

impl From<EntryDraftData> for EntryDraft {
    fn from(entry: EntryDraftData) -> Self {
        match entry {
            EntryDraftData::Custom { custom_type, data } => Self::Custom { custom_type, data },
            EntryDraftData::CustomMessage(message) => Self::CustomMessage(draft(message)),
            EntryDraftData::ContextEdit {
                target_id,
                replacement,
            } => Self::ContextEdit {
                target_id: EntryId::from(target_id),
                replacement,
            },
            EntryDraftData::Compaction {
                summary,
                first_kept_entry_id,
                details,
                usage,
            } => Self::Compaction {
                summary,
                first_kept_entry_id: first_kept_entry_id.map(EntryId::from),
                details,
                usage,
            },
        }
    }
}

impl TurnHook for ExtensionParticipant {
    fn message_end<'a>(
        &'a self,
        message: &'a SharedMessage,
    ) -> BoxFuture<'a, Option<AgentMessage>> {
        Box::pin(async move {
            self.extensions
                .emit(None, || MessageEnd { message })
                .await?
                .message
        })
    }

    fn turn_end<'a>(&'a self, turn: TurnBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        Box::pin(async move {
            let event = || TurnEnd {
                turn_index: self.turn.load(Ordering::Relaxed),
                message: turn.message,
                tool_results: turn.tool_results,
                message_entry_id: turn.message_entry_id.to_string(),
                tool_result_entry_ids: turn
                    .tool_result_entry_ids
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
                outcome: outcome_name(turn.outcome),
                entries: [],
                r#continue: false,
                context: context(&turn.view),
            };
            let result = self.extensions.emit(None, event).await;
            self.decision(TurnEnd::NAME, result).await
        })
    }

    fn before_settle<'a>(&'a self, settle: SettleBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        Box::pin(async move {
            let event = || BeforeSettle {
                outcome: outcome_name(settle.outcome),
                entries: [],
                r#continue: false,
                context: context(&settle.view),
            };
            let result = self.extensions.emit(None, event).await;
            self.decision(BeforeSettle::NAME, result).await
        })
    }
}

impl ExtensionParticipant {
    async fn decision(&self, event: &str, result: Option<DraftedEntries>) -> BoundaryDecision {
        let Some(result) = result else {
            return BoundaryDecision::default();
        };
        let drafts = result.entries.unwrap_or_else(|| json!([]));
        match pi_protocol::json::from_value::<Vec<EntryDraftData>>(&drafts) {
            Ok(drafts) => BoundaryDecision {
                entries: drafts.into_iter().map(Into::into).collect(),
                proceed: result.r#continue == Some(true),
            },
            Err(error) => {
                let error = format!("invalid entries: {error}");
                self.extensions.report_event_failure(event, error).await;
                BoundaryDecision::default()
            }
        }
    }
}

fn outcome_name(outcome: ActivityOutcome) -> &'static str {
    match outcome {
        ActivityOutcome::Completed => "completed",
        ActivityOutcome::Aborted => "aborted",
        ActivityOutcome::Error => "error",
    }
}

/// Returns the context the model would see next.
fn context(view: &BoundaryView<'_>) -> Option<BoundaryContextData> {
    match view.context(&[]) {
        Ok(context) => Some(BoundaryContextData {
            entries: context.entries,
            messages: context.messages,
            llm_messages: context.model_messages,
            pending_messages: context.pending,
            can_continue: context.can_continue,
        }),
        Err(error) => {
            tracing::warn!(%error, "cannot compute the context for extensions");
            None
        }
    }
}
