//! Session hooks of the extensions: every hook becomes an event, and results become verdicts.
//!
//! An event without handlers costs a set lookup. Invalid results are ignored; how several results
//! are merged is defined in JavaScript (`js/pi/dispatch.js`).

mod calls;
mod lifetime;
mod prompting;
mod request;
mod results;
mod steps;
mod turn_end_hooks;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_core::{
    FinishedToolCall, HookError, PendingToolCall, ReviewedToolCall, SessionEvent, SharedMessage,
    ToolResultUpdate,
};
use pi_ext::EngineError;
use pi_protocol::{AgentMessage, ThinkingLevel};
use pi_providers::RequestHooks;
use pi_session::{EntryId, ForkPosition};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::ExtensionsInner;
use super::front_end::ExtensionFailure;
use super::registration::OwnedCommand;
use crate::hooks::{
    AgentStart, AgentStartChanges, BoundaryDecision, CompactionCompleted, CompactionFailed,
    CompactionProposal, CompactionVerdict, HookFailure, InputVerdict, ModelSelected, ModelSource,
    SessionHooks, SessionShutdown, SessionStart, SessionSwitch, SettleBoundary, TreeMoved,
    TreeProposal, TreeVerdict, TurnBoundary, UserBashVerdict, UserCommand, UserInput,
};

/// Time an extension has to finish canceled work; a promise that never settles would block the
/// session forever.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Events whose handlers decide whether something runs. A handler that fails, or that the engine
/// had to stop, blocks it (`js/pi/dispatch.js`).
const FAIL_CLOSED_EVENTS: [&str; 2] = ["tool_call", "user_bash"];

impl ExtensionsInner {
    /// Awaits work of an extension and signals cancellation to it.
    pub(super) async fn until_cancelled(
        &self,
        running: impl Future<Output = Result<Value, EngineError>>,
        signal: u64,
        cancel: &CancellationToken,
    ) -> Result<Value, EngineError> {
        let mut running = std::pin::pin!(running);
        tokio::select! {
            biased;
            outcome = &mut running => return outcome,
            () = cancel.cancelled() => {}
        }
        if let Err(error) = self.engine.abort(signal).await {
            tracing::debug!(%error, "cannot signal cancellation to extension");
        }
        let late = |_elapsed| EngineError::TimedOut(CANCEL_TIMEOUT);
        tokio::time::timeout(CANCEL_TIMEOUT, running)
            .await
            .map_err(late)?
    }

    /// Dispatches an event and returns the merged result. If the engine stops one extension, the
    /// others still receive the event.
    pub(super) async fn emit(
        &self,
        event: Value,
        cancel: Option<&CancellationToken>,
    ) -> Option<Value> {
        let name = event.get("type").and_then(Value::as_str)?.to_owned();
        let dispatch = self.bridge.new_signal();
        let mut event = Some(event);
        loop {
            let signal = cancel.map(|_| self.bridge.new_signal());
            let running = self.engine.emit(dispatch, event.take(), signal);
            let outcome = match (cancel, signal) {
                (Some(cancel), Some(signal)) => self.until_cancelled(running, signal, cancel).await,
                _ => running.await,
            };
            let error = match outcome {
                Ok(Value::Null) => return None,
                Ok(value) => return Some(value),
                Err(error) => error,
            };
            let can_continue = matches!(
                error,
                EngineError::Runaway(_) | EngineError::TimedOut(_) | EngineError::OutOfMemory(_)
            );
            let failure = ExtensionFailure {
                extension: None,
                event: name.clone(),
                error: error.to_string(),
                stack: None,
            };
            self.bridge.ui.report_failure(failure).await;
            if FAIL_CLOSED_EVENTS.contains(&name.as_str()) {
                return Some(json!({ "failure": error.to_string() }));
            }
            if !can_continue {
                return None;
            }
        }
    }
}

pub(super) struct ExtensionHooks {
    shared: Arc<ExtensionsInner>,
    turn: AtomicU64,
}

impl ExtensionHooks {
    pub(super) fn new(shared: Arc<ExtensionsInner>) -> Self {
        Self {
            shared,
            turn: AtomicU64::new(0),
        }
    }

    /// Emits an event; `event` is only built if there are handlers.
    async fn emit(&self, name: &str, event: impl FnOnce() -> Value) -> Option<Value> {
        self.emit_cancellable(name, None, event).await
    }

    async fn emit_cancellable(
        &self,
        name: &str,
        cancel: Option<&CancellationToken>,
        event: impl FnOnce() -> Value,
    ) -> Option<Value> {
        if !self.shared.bridge.has_handler(name) {
            return None;
        }
        self.shared.emit(typed(name, event()), cancel).await
    }

    /// Returns the extension and the registered name of a command.
    fn command(&self, name: &str) -> Option<(String, String)> {
        let registry = self.shared.bridge.registry();
        registry.command(name).map(OwnedCommand::owner_and_name)
    }
}

/// Inserts the event type as the first member.
pub(super) fn typed(name: &str, event: Value) -> Value {
    let mut object = Map::new();
    object.insert("type".to_owned(), name.into());
    if let Value::Object(members) = event {
        // Absent values are undefined in JavaScript, not null.
        object.extend(members.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Value::Object(object)
}

impl SessionHooks for ExtensionHooks {
    fn has_command(&self, name: &str) -> bool {
        self.command(name).is_some()
    }

    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some((extension, own)) = self.command(name) else {
                return;
            };
            let ran = self.shared.engine.run_command(&extension, &own, arguments);
            if let Err(error) = ran.await {
                let failure = ExtensionFailure {
                    extension: Some(extension),
                    event: "command".to_owned(),
                    error: error.to_string(),
                    stack: None,
                };
                self.shared.bridge.ui.report_failure(failure).await;
            }
        })
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
        Some(Arc::new(request::WireHooks(Arc::clone(&self.shared))))
    }

    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
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
            self.emit("session_compact", || {
                json!({
                    "compactionEntry": compacted.entry,
                    "fromExtension": compacted.author.from_hook(),
                    "reason": compacted.reason.as_str(),
                    "willRetry": compacted.will_retry,
                })
            })
            .await;
        })
    }

    fn compaction_failed(&self, failed: CompactionFailed) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.emit("session_compact_failed", || {
                json!({
                    "reason": failed.reason.as_str(),
                    "errorMessage": failed.error_message,
                    "aborted": failed.aborted,
                    "fromExtension": failed.author.from_hook(),
                })
            })
            .await;
        })
    }

    fn before_tree<'a>(&'a self, proposal: TreeProposal<'a>) -> BoxFuture<'a, TreeVerdict> {
        Box::pin(self.handle_tree(proposal))
    }

    fn tree<'a>(&'a self, moved: TreeMoved<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.emit("session_tree", || {
                json!({
                    "newLeafId": moved.new_leaf_id.map(ToString::to_string),
                    "oldLeafId": moved.old_leaf_id.map(ToString::to_string),
                    "summaryEntry": moved.summary,
                    "fromExtension": moved.author.map(pi_context::SummaryAuthor::from_hook),
                })
            })
            .await;
        })
    }

    fn user_bash(&self, command: UserCommand) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        Box::pin(self.handle_user_bash(command))
    }

    fn model_selected(&self, selected: ModelSelected) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.emit("model_select", || {
                json!({
                    "model": selected.model,
                    "previousModel": selected.previous,
                    "source": match selected.source {
                        ModelSource::Set => "set",
                        ModelSource::Cycle => "cycle",
                        ModelSource::Restore => "restore",
                    },
                })
            })
            .await;
        })
    }

    fn thinking_level_selected(
        &self,
        level: ThinkingLevel,
        previous: ThinkingLevel,
    ) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.emit(
                "thinking_level_select",
                || json!({ "level": level.as_str(), "previousLevel": previous.as_str() }),
            )
            .await;
        })
    }

    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match event {
                SessionEvent::Agent(step) => self.handle_step(step).await,
                SessionEvent::AgentEnd { messages, .. } => {
                    self.emit("agent_end", || json!({ "messages": messages }))
                        .await;
                }
                SessionEvent::AgentSettled => {
                    self.emit("agent_settled", || json!({})).await;
                }
                SessionEvent::SessionInfoChanged { name } => {
                    self.emit("session_info_changed", || json!({ "name": name }))
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
        self.shared.bridge.report_failure(ExtensionFailure {
            extension: failure.origin,
            event: failure.event.to_owned(),
            error: failure.message,
            stack: None,
        });
    }
}

/// Returns whether a handler canceled the operation.
fn is_cancelled(result: Option<&Value>) -> bool {
    result.and_then(|result| result.get("cancel")) == Some(&Value::Bool(true))
}
