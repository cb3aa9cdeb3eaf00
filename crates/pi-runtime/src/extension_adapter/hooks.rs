//! Session hooks of the extensions: every hook becomes an event, and results become verdicts.
//!
//! An event without handlers costs a set lookup. Invalid results are ignored; how several results
//! are merged is defined in JavaScript (`js/pi/dispatch.js`).

mod calls;
mod lifetime;
mod prompting;
mod request;
mod steps;
mod turn_end_hooks;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures_util::future::BoxFuture;
use pi_core::{
    FinishedToolCall, HookError, PendingToolCall, SessionEvent, SharedMessage, ToolCallVerdict,
    ToolResultUpdate,
};
use pi_protocol::{AgentMessage, ThinkingLevel};
use pi_providers::RequestHooks;
use pi_session::{EntryId, ForkPosition};
use tokio_util::sync::CancellationToken;

use crate::hooks::{
    AgentStart, AgentStartChanges, BoundaryDecision, CompactionCompleted, CompactionFailed,
    CompactionProposal, CompactionVerdict, HookFailure, InputVerdict, ModelSelected, ModelSource,
    SessionHooks, SessionShutdown, SessionStart, SessionSwitch, SettleBoundary, TreeMoved,
    TreeProposal, TreeVerdict, TurnBoundary, UserBashVerdict, UserCommand, UserInput,
};
use pi_extensions::events::{
    AgentEnded, AgentSettled, CancelResult, CompactionDone, CompactionFailure, ModelSelect,
    SessionInfoChanged, ThinkingLevelSelect, TreeNavigated,
};
use pi_extensions::{ExtensionFailure, SessionExtensions};

pub(super) struct ExtensionHooks {
    extensions: SessionExtensions,
    turn: AtomicU64,
}

impl ExtensionHooks {
    pub(super) fn new(extensions: SessionExtensions) -> Self {
        Self {
            extensions,
            turn: AtomicU64::new(0),
        }
    }
}

impl SessionHooks for ExtensionHooks {
    fn has_command(&self, name: &str) -> bool {
        self.extensions.has_command(name)
    }

    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.extensions.run_command(name, arguments))
    }

    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        Box::pin(self.handle_input(input))
    }

    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        Box::pin(self.handle_before_agent_start(start))
    }

    fn context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        Box::pin(self.handle_context(messages, cancel))
    }

    fn request_hooks(&self) -> Option<Arc<dyn RequestHooks>> {
        Some(Arc::new(request::WireHooks(self.extensions.clone())))
    }

    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolCallVerdict, HookError>> {
        Box::pin(self.handle_tool_call(call, cancel))
    }

    fn tool_result<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        Box::pin(self.handle_tool_result(call, cancel))
    }

    fn message_end<'a>(
        &'a self,
        message: &'a SharedMessage,
    ) -> BoxFuture<'a, Option<AgentMessage>> {
        Box::pin(self.handle_message_end(message))
    }

    fn turn_end<'a>(&'a self, turn: TurnBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        Box::pin(self.handle_turn_end(turn))
    }

    fn before_settle<'a>(&'a self, settle: SettleBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        Box::pin(self.handle_settling(settle))
    }

    fn before_compact<'a>(
        &'a self,
        proposal: CompactionProposal<'a>,
    ) -> BoxFuture<'a, CompactionVerdict> {
        Box::pin(self.handle_compaction(proposal))
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

    fn before_tree<'a>(&'a self, proposal: TreeProposal<'a>) -> BoxFuture<'a, TreeVerdict> {
        Box::pin(self.handle_tree(proposal))
    }

    fn tree<'a>(&'a self, moved: TreeMoved<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let event = || TreeNavigated {
                new_leaf_id: moved.new_leaf_id.map(ToString::to_string),
                old_leaf_id: moved.old_leaf_id.map(ToString::to_string),
                summary_entry: moved.summary,
                from_extension: moved.author.map(pi_context::SummaryAuthor::from_hook),
            };
            self.extensions.emit(None, event).await;
        })
    }

    fn user_bash(&self, command: UserCommand) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        Box::pin(self.handle_user_bash(command))
    }

    fn model_selected(&self, selected: ModelSelected) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let event = || ModelSelect {
                model: selected.model,
                previous_model: selected.previous,
                source: match selected.source {
                    ModelSource::Set => "set",
                    ModelSource::Cycle => "cycle",
                    ModelSource::Restore => "restore",
                },
            };
            self.extensions.emit(None, event).await;
        })
    }

    fn thinking_level_selected(
        &self,
        level: ThinkingLevel,
        previous: ThinkingLevel,
    ) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let event = || ThinkingLevelSelect {
                level: level.as_str(),
                previous_level: previous.as_str(),
            };
            self.extensions.emit(None, event).await;
        })
    }

    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match event {
                SessionEvent::Agent(step) => self.handle_step(step).await,
                SessionEvent::AgentEnd { messages, .. } => {
                    self.extensions.emit(None, || AgentEnded { messages }).await;
                }
                SessionEvent::AgentSettled => {
                    self.extensions.emit(None, || AgentSettled {}).await;
                }
                SessionEvent::SessionInfoChanged { name } => {
                    let name = name.as_deref();
                    self.extensions
                        .emit(None, || SessionInfoChanged { name })
                        .await;
                }
                _ => {}
            }
        })
    }

    fn session_start(&self, start: SessionStart) -> BoxFuture<'_, ()> {
        Box::pin(self.handle_session_start(start))
    }

    fn before_switch(&self, switch: SessionSwitch) -> BoxFuture<'_, bool> {
        Box::pin(self.handle_before_switch(switch))
    }

    fn before_fork<'a>(
        &'a self,
        entry: &'a EntryId,
        position: ForkPosition,
    ) -> BoxFuture<'a, bool> {
        Box::pin(self.handle_before_fork(entry, position))
    }

    fn session_shutdown(&self, shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        Box::pin(self.handle_session_shutdown(shutdown))
    }

    fn report(&self, failure: HookFailure) {
        self.extensions.report_failure(ExtensionFailure {
            extension: failure.origin,
            event: failure.event.to_owned(),
            error: failure.message,
            stack: None,
        });
    }
}

/// Returns whether a handler canceled the operation.
fn is_cancelled(result: Option<CancelResult>) -> bool {
    result.and_then(|result| result.cancel) == Some(true)
}
