//! The extensions' part in a session: every hook becomes an event, every result a verdict.
//!
//! An event nobody hears costs a look into a set. What an extension returns that has no sense is
//! passed over; the rules of how several results become one are JavaScript's (`js/pi/dispatch.js`).

mod boundary;
mod request;
mod results;
mod steps;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures_util::future::BoxFuture;
use pi_agent::{CallVerdict, FinishedCall, HookError, PendingCall, ResultUpdate, SharedMessage};
use pi_ai::transcript::current_system_message;
use pi_ai::{AgentMessage, RequestHooks, SystemMessage, ThinkingLevel};
use pi_ext::EngineError;
use pi_session::{EntryId, ForkPosition};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use results::{ResultData, StartData};

use super::Shared;
use super::front_end::ExtensionFailure;
use crate::event::SessionEvent;
use crate::hooks::{
    AgentStart, AgentStartChanges, BoundaryDecision, Compacted, CompactionFailed,
    CompactionProposal, CompactionVerdict, HookProblem, InputVerdict, ModelSelected, ModelSource,
    SessionHooks, SessionShutdown, SessionStart, SessionSwitch, SettleBoundary, StartReason,
    TreeMoved, TreeProposal, TreeVerdict, TurnBoundary, UserBashVerdict, UserCommand, UserInput,
};
use crate::session::{Delivery, InputSource};

impl Shared {
    /// Waits for something that an extension does, and tells it when the work is cancelled.
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
            tracing::debug!(%error, "an extension cannot be told that its work is cancelled");
        }
        running.await
    }

    /// Tells of an event that somebody hears; returns what the extensions make of it.
    async fn emit(&self, event: Value, cancel: Option<&CancellationToken>) -> Option<Value> {
        let name = event.get("type").and_then(Value::as_str)?.to_owned();
        let outcome = match cancel {
            Some(cancel) => {
                let signal = self.bridge.new_signal();
                let running = self.engine.emit(event, Some(signal));
                self.until_cancelled(running, signal, cancel).await
            }
            None => self.engine.emit(event, None).await,
        };
        match outcome {
            Ok(Value::Null) => None,
            Ok(value) => Some(value),
            Err(error) => {
                let failure = ExtensionFailure {
                    extension: None,
                    event: name,
                    error: error.to_string(),
                    stack: None,
                };
                self.bridge.ui.fail(failure).await;
                None
            }
        }
    }
}

/// The extensions' part in a session.
pub(super) struct ExtensionHooks {
    shared: Arc<Shared>,
    turn: AtomicU64,
}

impl ExtensionHooks {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            turn: AtomicU64::new(0),
        }
    }

    /// Tells of an event, made only if somebody hears of it.
    async fn emit(&self, name: &str, event: impl FnOnce() -> Value) -> Option<Value> {
        self.emit_cancellable(name, None, event).await
    }

    async fn emit_cancellable(
        &self,
        name: &str,
        cancel: Option<&CancellationToken>,
        event: impl FnOnce() -> Value,
    ) -> Option<Value> {
        if !self.shared.bridge.hears(name) {
            return None;
        }
        self.shared.emit(typed(name, event()), cancel).await
    }

    /// Returns the extension and own name of a command.
    fn command(&self, name: &str) -> Option<(String, String)> {
        let registry = self.shared.bridge.registry();
        let mut commands = registry.named_commands();
        let (_, command) = commands.find(|(known, _)| known == name)?;
        Some((command.extension.clone(), command.data.name.clone()))
    }

    async fn transform(
        &self,
        name: &'static str,
        messages: &[SharedMessage],
        cancel: &CancellationToken,
    ) -> Option<Vec<SharedMessage>> {
        let spelled = Value::Array(messages.iter().map(|message| json!(message)).collect());
        let event = || json!({ "messages": spelled });
        let result = self.emit_cancellable(name, Some(cancel), event).await?;
        let returned = result.get("messages")?;
        if *returned == spelled {
            return None;
        }
        match serde_json::from_value::<Vec<AgentMessage>>(returned.clone()) {
            Ok(messages) => Some(messages.into_iter().map(Arc::new).collect()),
            Err(error) => {
                let failure = ExtensionFailure {
                    extension: None,
                    event: name.to_owned(),
                    error: format!("the messages have no sense: {error}"),
                    stack: None,
                };
                self.shared.bridge.ui.fail(failure).await;
                None
            }
        }
    }
}

/// Puts the name of an event first.
fn typed(name: &str, event: Value) -> Value {
    let mut object = Map::new();
    object.insert("type".to_owned(), name.into());
    if let Value::Object(members) = event {
        // What is absent is undefined in JavaScript, not null.
        object.extend(members.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Value::Object(object)
}

fn reason_name(reason: StartReason) -> &'static str {
    match reason {
        StartReason::Startup => "startup",
        StartReason::Reload => "reload",
        StartReason::New => "new",
        StartReason::Resume => "resume",
        StartReason::Fork => "fork",
    }
}

fn source_name(source: InputSource) -> &'static str {
    match source {
        InputSource::Interactive | InputSource::Cli => "interactive",
        InputSource::Rpc => "rpc",
        InputSource::Extension => "extension",
    }
}

fn is_system(message: &SharedMessage) -> bool {
    matches!(**message, AgentMessage::System(_))
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
                self.shared.bridge.ui.fail(failure).await;
            }
        })
    }

    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        Box::pin(async move {
            let result = self.emit("input", || {
                json!({
                    "text": input.text,
                    "images": (!input.images.is_empty()).then_some(&input.images),
                    "source": source_name(input.source),
                    "streamingBehavior": input.delivery.map(|delivery| match delivery {
                        Delivery::Steer => "steer",
                        Delivery::FollowUp => "followUp",
                    }),
                })
            });
            let Some(result) = result.await else {
                return InputVerdict::Continue;
            };
            let text = result.get("text").and_then(Value::as_str);
            match (result.get("action").and_then(Value::as_str), text) {
                (Some("handled"), _) => InputVerdict::Handled,
                (Some("transform"), Some(text)) => InputVerdict::Replace {
                    text: text.to_owned(),
                    images: result
                        .get("images")
                        .and_then(|images| serde_json::from_value(images.clone()).ok()),
                },
                _ => InputVerdict::Continue,
            }
        })
    }

    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        Box::pin(async move {
            let result = self.emit("before_agent_start", || {
                let prompt = pi_ai::transcript::system_text(&SystemMessage {
                    sections: Some(start.sections.rendered()),
                    ..SystemMessage::default()
                });
                json!({
                    "prompt": start.prompt,
                    "images": (!start.images.is_empty()).then_some(&start.images),
                    "systemPrompt": prompt,
                    "systemPromptOptions": { "sections": {}, "selectedTools": start.tools },
                })
            });
            let data = result.await.map(serde_json::from_value::<StartData>);
            let Some(Ok(data)) = data else {
                return AgentStartChanges::default();
            };
            let options = data.options.unwrap_or_default();
            let mut sections = start.sections.clone();
            for (name, text) in &options.sections {
                let text = text.as_str().unwrap_or_default();
                if let Err(error) = sections.set_extension(name, text) {
                    tracing::warn!(%error, "an extension's section is left out");
                }
            }
            AgentStartChanges {
                messages: data.messages.into_iter().map(Into::into).collect(),
                sections: (sections != start.sections).then_some(sections),
                forced_prompt: data.system_prompt,
                tools: options.selected_tools.filter(|tools| *tools != start.tools),
            }
        })
    }

    fn context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        Box::pin(async move {
            let mut messages = messages;
            if self.shared.bridge.hears("context") {
                let others = messages.iter().filter(|message| !is_system(message));
                let others: Vec<SharedMessage> = others.cloned().collect();
                if let Some(changed) = self.transform("context", &others, cancel).await {
                    // What the system messages add up to, at the head of another conversation.
                    let systems = messages.iter().filter(|message| is_system(message));
                    let systems: Vec<_> = systems
                        .filter_map(|message| pi_agent::model_message(message))
                        .collect();
                    let head = current_system_message(&systems).map(AgentMessage::System);
                    messages = head.map(Arc::new).into_iter().chain(changed).collect();
                }
            }
            if self.shared.bridge.hears("context_with_system")
                && let Some(changed) = self
                    .transform("context_with_system", &messages, cancel)
                    .await
            {
                messages = changed;
            }
            Ok(messages)
        })
    }

    fn request_hooks(&self) -> Option<Arc<dyn RequestHooks>> {
        Some(Arc::new(request::WireHooks(Arc::clone(&self.shared))))
    }

    fn tool_call<'a>(
        &'a self,
        call: PendingCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CallVerdict, HookError>> {
        Box::pin(async move {
            let result = self.emit_cancellable("tool_call", Some(cancel), || {
                json!({
                    "toolName": call.call.name,
                    "toolCallId": call.call.id,
                    "input": call.arguments,
                })
            });
            let Some(result) = result.await else {
                return Ok(CallVerdict::Run(call.arguments));
            };
            if let Some(failure) = result.get("failure").and_then(Value::as_str) {
                return Err(HookError::new(failure));
            }
            if result.get("block").is_some() {
                let reason = result.get("reason").and_then(Value::as_str);
                return Ok(CallVerdict::Block {
                    reason: reason.map(str::to_owned),
                    terminate: result.get("terminate") == Some(&Value::Bool(true)),
                });
            }
            match result.get("input") {
                Some(Value::Object(input)) => Ok(CallVerdict::Run(input.clone())),
                _ => Ok(CallVerdict::Run(call.arguments)),
            }
        })
    }

    fn tool_result<'a>(
        &'a self,
        call: &'a FinishedCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ResultUpdate, HookError>> {
        Box::pin(async move {
            let result = self.emit_cancellable("tool_result", Some(cancel), || {
                json!({
                    "toolName": call.pending.call.name,
                    "toolCallId": call.pending.call.id,
                    "input": call.pending.arguments,
                    "content": call.output.content,
                    "details": call.output.details,
                    "isError": call.is_error,
                    "usage": call.output.usage,
                })
            });
            let data = result.await.map(serde_json::from_value::<ResultData>);
            let Some(Ok(data)) = data else {
                return Ok(ResultUpdate::default());
            };
            Ok(ResultUpdate {
                content: data.content,
                details: data.details,
                is_error: data.is_error,
                usage: data.usage,
                terminate: None,
            })
        })
    }

    fn message_end<'a>(
        &'a self,
        message: &'a SharedMessage,
    ) -> BoxFuture<'a, Option<AgentMessage>> {
        Box::pin(async move {
            let event = || json!({ "message": message });
            let result = self.emit("message_end", event).await?;
            serde_json::from_value(result.get("message")?.clone()).ok()
        })
    }

    fn turn_end<'a>(&'a self, turn: TurnBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        Box::pin(self.at_turn_end(turn))
    }

    fn before_settle<'a>(&'a self, settle: SettleBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        Box::pin(self.at_settling(settle))
    }

    fn before_compact<'a>(
        &'a self,
        proposal: CompactionProposal<'a>,
    ) -> BoxFuture<'a, CompactionVerdict> {
        Box::pin(self.at_compaction(proposal))
    }

    fn compacted<'a>(&'a self, compacted: Compacted<'a>) -> BoxFuture<'a, ()> {
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
        Box::pin(self.at_tree(proposal))
    }

    fn tree<'a>(&'a self, moved: TreeMoved<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.emit("session_tree", || {
                json!({
                    "newLeafId": moved.new_leaf_id.map(ToString::to_string),
                    "oldLeafId": moved.old_leaf_id.map(ToString::to_string),
                    "summaryEntry": moved.summary,
                    "fromExtension": moved.author.map(pi_session::SummaryAuthor::from_hook),
                })
            })
            .await;
        })
    }

    fn user_bash(&self, command: UserCommand) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        Box::pin(self.at_user_bash(command))
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
                SessionEvent::Agent(step) => self.at_step(step).await,
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
        Box::pin(async move {
            self.emit("session_start", || {
                json!({
                    "reason": reason_name(start.reason),
                    "previousSessionFile": start.previous_session_file,
                })
            })
            .await;
            self.emit("resources_discover", || {
                let reason = match start.reason {
                    StartReason::Reload => "reload",
                    _ => "startup",
                };
                json!({ "cwd": self.cwd(), "reason": reason })
            })
            .await;
        })
    }

    fn before_switch(&self, switch: SessionSwitch) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let result = self.emit("session_before_switch", || {
                json!({
                    "reason": reason_name(switch.reason),
                    "targetSessionFile": switch.target_session_file,
                })
            });
            !is_cancelled(result.await.as_ref())
        })
    }

    fn before_fork<'a>(
        &'a self,
        entry: &'a EntryId,
        position: ForkPosition,
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let result = self.emit("session_before_fork", || {
                json!({
                    "entryId": entry.to_string(),
                    "position": match position {
                        ForkPosition::Before => "before",
                        ForkPosition::At => "at",
                    },
                })
            });
            !is_cancelled(result.await.as_ref())
        })
    }

    fn session_shutdown(&self, shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.emit("session_shutdown", || {
                json!({
                    "reason": shutdown.next.map_or("quit", reason_name),
                    "targetSessionFile": shutdown.target_session_file,
                })
            })
            .await;
            self.shared.bridge.retire();
        })
    }

    fn report(&self, problem: HookProblem) {
        self.shared.bridge.fail(ExtensionFailure {
            extension: problem.origin,
            event: problem.event.to_owned(),
            error: problem.message,
            stack: None,
        });
    }
}

/// Tells whether a handler refused.
fn is_cancelled(result: Option<&Value>) -> bool {
    result.and_then(|result| result.get("cancel")) == Some(&Value::Bool(true))
}

impl ExtensionHooks {
    fn cwd(&self) -> Option<std::path::PathBuf> {
        let session = self.shared.bridge.session().ok()?;
        Some(session.cwd().to_owned())
    }
}
