//! Hooks that let extensions append entries, write summaries, or run user shell commands.

use std::sync::atomic::Ordering;

use pi_context::CompactionResult;
use pi_core::{ActivityOutcome, HookError};
use pi_extensions::DraftData;
use pi_extensions::events::{
    BeforeCompact, BeforeSettle, BeforeTree, BoundaryContextData, CompactionPreparation,
    DraftedEntries, ExtensionEvent, FileLists, SummarySettings, TreePreparation, TurnEnd, UserBash,
};
use pi_session::{BranchSummary, ContextReplacement, EntryId};
use pi_tools::ShellResult;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::session::draft;
use super::ExtensionHooks;
use crate::hooks::{
    BoundaryDecision, CompactionProposal, CompactionVerdict, EntryDraft, SettleBoundary,
    TreeProposal, TreeVerdict, TurnBoundary, UserBashVerdict, UserCommand,
};
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShellData {
    output: String,
    exit_code: Option<i32>,
    #[serde(default)]
    cancelled: bool,
    #[serde(default)]
    truncated: bool,
    full_output_path: Option<std::path::PathBuf>,
}

impl ExtensionHooks {
    pub(super) async fn handle_turn_end(&self, turn: TurnBoundary<'_>) -> BoundaryDecision {
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
    }

    pub(super) async fn handle_settling(&self, settle: SettleBoundary<'_>) -> BoundaryDecision {
        let event = || BeforeSettle {
            outcome: outcome_name(settle.outcome),
            entries: [],
            r#continue: false,
            context: context(&settle.view),
        };
        let result = self.extensions.emit(None, event).await;
        self.decision(BeforeSettle::NAME, result).await
    }

    async fn decision(&self, event: &str, result: Option<DraftedEntries>) -> BoundaryDecision {
        let Some(result) = result else {
            return BoundaryDecision::default();
        };
        let drafts = result.entries.unwrap_or_else(|| json!([]));
        match serde_json::from_value::<Vec<EntryDraftData>>(drafts) {
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

    pub(super) async fn handle_compaction(
        &self,
        proposal: CompactionProposal<'_>,
    ) -> CompactionVerdict {
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
                .with_session(pi_session::Session::branch_entries)
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
    }

    pub(super) async fn handle_tree(&self, proposal: TreeProposal<'_>) -> TreeVerdict {
        let ancestor = proposal.left.common_ancestor_id.as_ref();
        let event = || BeforeTree {
            preparation: TreePreparation {
                target_id: proposal.target_id.to_string(),
                old_leaf_id: proposal.old_leaf_id.map(ToString::to_string),
                common_ancestor_id: ancestor.map(ToString::to_string),
                entries_to_summarize: &proposal.left.entries,
                user_wants_summary: proposal.summarize,
                custom_instructions: proposal.instructions,
                replace_instructions: proposal.replace_instructions,
                label: proposal.label,
            },
        };
        let Some(data) = self.extensions.emit(Some(proposal.cancel), event).await else {
            return TreeVerdict::default();
        };
        TreeVerdict {
            cancel: data.cancel,
            summary: data.summary.map(|summary| BranchSummary {
                summary: summary.summary,
                details: summary.details,
                usage: summary.usage,
                from_hook: Some(true),
            }),
            instructions: data.custom_instructions,
            replace_instructions: data.replace_instructions,
            label: data.label,
        }
    }

    pub(super) async fn handle_user_bash(
        &self,
        command: UserCommand,
    ) -> Result<UserBashVerdict, HookError> {
        let event = || UserBash {
            command: &command.command,
            exclude_from_context: command.exclude_from_context,
            cwd: &command.cwd,
        };
        let Some(result) = self.extensions.emit(None, event).await else {
            return Ok(UserBashVerdict::Run);
        };
        if let Some(failure) = result.failure {
            return Err(HookError::new(failure));
        }
        if let Some(number) = result.operations {
            let shell = self.extensions.shell_operations(number);
            let shell = shell.map_err(|error| HookError::new(error.message))?;
            return Ok(UserBashVerdict::RunWith(shell));
        }
        let Some(shell) = result.result else {
            return Err(HookError::new(
                "an extension returned neither operations nor a result for a command",
            ));
        };
        let shell = serde_json::from_value::<ShellData>(shell).map_err(|error| {
            HookError::new(format!("an extension returned an invalid result: {error}"))
        })?;
        Ok(UserBashVerdict::Result(ShellResult {
            output: shell.output,
            exit_code: shell.exit_code,
            cancelled: shell.cancelled,
            truncated: shell.truncated,
            full_output_path: shell.full_output_path,
        }))
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
