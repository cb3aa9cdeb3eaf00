//! Hooks that let extensions append entries, write summaries, or run user shell commands.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pi_context::CompactionResult;
use pi_core::{ActivityOutcome, HookError};
use pi_protocol::{ContextReplacement, EntryId};
use pi_session::BranchSummary;
use pi_tools::ShellResult;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ExtensionHooks, is_cancelled};
use crate::extensions::builtin::JavaScriptShell;
use crate::extensions::front_end::ExtensionFailure;
use crate::extensions::send_message::DraftData;
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
    fn from(draft: EntryDraftData) -> Self {
        match draft {
            EntryDraftData::Custom { custom_type, data } => Self::Custom { custom_type, data },
            EntryDraftData::CustomMessage(draft) => Self::CustomMessage(draft.into()),
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

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct CompactionData {
    summary: String,
    first_kept_entry_id: Option<String>,
    tokens_before: Option<u64>,
    details: Option<Value>,
    usage: Option<pi_protocol::Usage>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct TreeData {
    cancel: bool,
    summary: Option<SummaryData>,
    custom_instructions: Option<String>,
    replace_instructions: Option<bool>,
    label: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SummaryData {
    summary: String,
    details: Option<Value>,
    usage: Option<pi_protocol::Usage>,
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
        let index = self.turn.load(Ordering::Relaxed);
        let result = self.emit("turn_end", || {
            json!({
                "turnIndex": index,
                "message": turn.message,
                "toolResults": turn.tool_results,
                "messageEntryId": turn.message_entry_id.to_string(),
                "toolResultEntryIds": turn.tool_result_entry_ids.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "outcome": outcome_name(turn.outcome),
                "entries": [],
                "continue": false,
                "context": context(&turn.view),
            })
        });
        let result = result.await;
        self.decision("turn_end", result).await
    }

    pub(super) async fn handle_settling(&self, settle: SettleBoundary<'_>) -> BoundaryDecision {
        let result = self.emit("agent_before_settle", || {
            json!({
                "outcome": outcome_name(settle.outcome),
                "entries": [],
                "continue": false,
                "context": context(&settle.view),
            })
        });
        let result = result.await;
        self.decision("agent_before_settle", result).await
    }

    async fn decision(&self, event: &str, result: Option<Value>) -> BoundaryDecision {
        let Some(result) = result else {
            return BoundaryDecision::default();
        };
        let drafts = result.get("entries").cloned().unwrap_or(json!([]));
        match serde_json::from_value::<Vec<EntryDraftData>>(drafts) {
            Ok(drafts) => BoundaryDecision {
                entries: drafts.into_iter().map(Into::into).collect(),
                proceed: result.get("continue") == Some(&Value::Bool(true)),
            },
            Err(error) => {
                let failure = ExtensionFailure {
                    extension: None,
                    event: event.to_owned(),
                    error: format!("invalid entries: {error}"),
                    stack: None,
                };
                self.shared.bridge.ui.report_failure(failure).await;
                BoundaryDecision::default()
            }
        }
    }

    pub(super) async fn handle_compaction(
        &self,
        proposal: CompactionProposal<'_>,
    ) -> CompactionVerdict {
        let plan = proposal.plan;
        let event = || {
            let entries = proposal
                .session
                .with_session(pi_session::Session::branch_entries);
            json!({
                "preparation": {
                    "firstKeptEntryId": plan.first_kept_entry_id.to_string(),
                    "messagesToSummarize": plan.history_messages().collect::<Vec<_>>(),
                    "turnPrefixMessages": plan.turn_prefix_messages().collect::<Vec<_>>(),
                    "isSplitTurn": plan.is_split_turn(),
                    "tokensBefore": plan.tokens_before,
                    "previousSummary": plan.previous_summary,
                    "fileOps": {
                        "read": plan.files.read,
                        "written": plan.files.written,
                        "edited": plan.files.edited,
                    },
                    "settings": {
                        "enabled": plan.settings.enabled,
                        "reserveTokens": plan.settings.reserve_tokens,
                        "keepRecentTokens": plan.settings.keep_recent_tokens,
                    },
                },
                "branchEntries": entries.unwrap_or_default(),
                "customInstructions": proposal.instructions,
                "reason": proposal.reason.as_str(),
                "willRetry": proposal.will_retry,
            })
        };
        let result = self.emit_cancellable("session_before_compact", Some(proposal.cancel), event);
        let Some(result) = result.await else {
            return CompactionVerdict::Proceed;
        };
        if is_cancelled(Some(&result)) {
            return CompactionVerdict::Cancel;
        }
        let data = result.get("compaction").cloned();
        let data = data.map(serde_json::from_value::<CompactionData>);
        match data {
            Some(Ok(data)) => CompactionVerdict::Use(CompactionResult {
                summary: data.summary,
                first_kept_entry_id: data.first_kept_entry_id.map(EntryId::from),
                tokens_before: data.tokens_before.unwrap_or(plan.tokens_before),
                details: data.details,
                usage: data.usage,
            }),
            Some(Err(_)) | None => CompactionVerdict::Proceed,
        }
    }

    pub(super) async fn handle_tree(&self, proposal: TreeProposal<'_>) -> TreeVerdict {
        let event = || {
            json!({
                "preparation": {
                    "targetId": proposal.target_id.to_string(),
                    "oldLeafId": proposal.old_leaf_id.map(ToString::to_string),
                    "commonAncestorId": proposal.left.common_ancestor_id.as_ref().map(ToString::to_string),
                    "entriesToSummarize": proposal.left.entries,
                    "userWantsSummary": proposal.summarize,
                    "customInstructions": proposal.instructions,
                    "replaceInstructions": proposal.replace_instructions,
                    "label": proposal.label,
                },
            })
        };
        let result = self.emit_cancellable("session_before_tree", Some(proposal.cancel), event);
        let data = result.await.map(serde_json::from_value::<TreeData>);
        let Some(Ok(data)) = data else {
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
        let result = self.emit("user_bash", || {
            json!({
                "command": command.command,
                "excludeFromContext": command.exclude_from_context,
                "cwd": command.cwd,
            })
        });
        let Some(result) = result.await else {
            return Ok(UserBashVerdict::Run);
        };
        if let Some(failure) = result.get("failure").and_then(Value::as_str) {
            return Err(HookError::new(failure));
        }
        if let Some(number) = result.get("operations").and_then(Value::as_u64) {
            let callback = self.shared.bridge.callback(None, number);
            let callback = callback.map_err(|error| HookError::new(error.message))?;
            return Ok(UserBashVerdict::RunWith(Arc::new(JavaScriptShell::new(
                callback,
            ))));
        }
        let Some(shell) = result.get("result") else {
            return Err(HookError::new(
                "an extension returned neither operations nor a result for a command",
            ));
        };
        let shell = serde_json::from_value::<ShellData>(shell.clone()).map_err(|error| {
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
fn context(view: &BoundaryView<'_>) -> Value {
    match view.context(&[]) {
        Ok(context) => json!({
            "entries": context.entries,
            "messages": context.messages,
            "llmMessages": context.model_messages,
            "pendingMessages": context.pending,
            "canContinue": context.can_continue,
        }),
        Err(error) => {
            tracing::warn!(%error, "cannot compute the context for extensions");
            Value::Null
        }
    }
}
