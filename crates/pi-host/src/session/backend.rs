//! Performs the machine's effects with the components of a session.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_context::to_model_messages;
use pi_core::{
    Backend, BarrierPoint, CompactionJob, ContextCheck, Control, ConversationTail,
    FinishedToolCall, FinishedTurn, HookError, NestedToolCall, NestedToolResult, OmitTarget,
    OpenTurn, PendingToolCall, PreparedRun, Prompt, PromptInput, RegisteredTool, Rejection,
    ReviewedToolCall, RunFailure, RunTrigger, SessionServices, Tool, ToolContext, ToolResultUpdate,
    TurnDecision, run_nested_call,
};
use pi_extensions::is_on_extension_thread;
use pi_protocol::{
    AgentMessage, Answer, CompactionDecision, RecoveryFailure, Request, SessionEvent,
    SharedMessage, ThinkingLevel, ToolCall, describe_error,
};
use pi_providers::StreamOptions;
use pi_session::{Session, SessionError};
use pi_stream::AssistantStream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::compaction::FinishedCompaction;
use super::config_watch::ConfigReporter;
use super::prompt::{PromptError, rejection_error};
use super::publish::within_publication;
use super::state::RunOverrides;
use super::transcript::Transcript;
use super::{AgentSession, barrier, pending, preferences};

impl Backend for AgentSession {
    type Error = PromptError;
    type Compaction = FinishedCompaction;

    fn control(&self) -> &Control {
        &self.0.control
    }

    fn span(&self) -> Span {
        tracing::info_span!("session", id = %self.session_id())
    }

    fn in_context_of_caller<T: Send + 'static>(
        &self,
        work: BoxFuture<'static, T>,
    ) -> BoxFuture<'static, T> {
        within_publication(work)
    }

    fn starts_at_once(&self) -> bool {
        is_on_extension_thread()
    }

    fn on_panic(&self, message: &str) {
        self.0.report("run", None, &HookError::new(message));
    }

    fn run_event_hooks<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(self.0.participants.on_event(event))
    }

    fn publish(&self, event: SessionEvent) -> BoxFuture<'_, ()> {
        Box::pin(self.0.publish(event))
    }

    fn publish_queue(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.queue().publish())
    }

    fn resolve_prompt(
        &self,
        prompt: Prompt,
    ) -> BoxFuture<'_, Result<Option<PromptInput>, PromptError>> {
        Box::pin(self.intake().resolve(prompt))
    }

    fn check_prompt(&self) -> BoxFuture<'_, Result<(), PromptError>> {
        Box::pin(self.intake().check_model())
    }

    fn prepare_run(&self, trigger: RunTrigger) -> BoxFuture<'_, PreparedRun> {
        Box::pin(self.intake().prepare_messages(trigger))
    }

    fn append(&self, message: AgentMessage) -> BoxFuture<'_, Result<(), PromptError>> {
        Box::pin(async move {
            self.history().append_message(message).await?;
            pending::keep_or_report(self);
            Ok(())
        })
    }

    fn compose(&self) -> BoxFuture<'_, Result<Option<AgentMessage>, HookError>> {
        Box::pin(async move {
            self.tools().update_loadout().await;
            let update = self.tools().system_update();
            let update = update.map_err(|error| hook_error(&error))?;
            Ok(update.map(AgentMessage::from))
        })
    }

    fn record(&self, message: SharedMessage) -> BoxFuture<'_, Result<SharedMessage, HookError>> {
        Box::pin(record_message(self, message))
    }

    fn route(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<(), HookError>> {
        Box::pin(self.selection().route_next(cancel))
    }

    fn thinking_level(&self) -> ThinkingLevel {
        self.selection().request_level()
    }

    fn stream(
        &self,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<AssistantStream, HookError>> {
        Box::pin(start_request(self, cancel))
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let state = self.tools().state_with_tools();
        let machine = self.0.machine();
        let mut active = machine.selection().active_tools.iter();
        let active = active.find(|active| *active == name)?;
        let tool = state.tools.get(active)?;
        Some(Arc::clone(&tool.tool))
    }

    fn callable_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tools = self.tools().callable();
        let found = tools.into_iter().find(|tool| tool.name() == name);
        found.map(|tool| tool.tool)
    }

    fn ask_approval(&self, request: Request) -> BoxFuture<'_, Answer> {
        Box::pin(self.requests().ask_approval(request))
    }

    fn tool_context(&self, call: &ToolCall) -> ToolContext {
        ConfigReporter(self).begin_tool(call);
        let environment = self.0.state().tools.environment().for_call(&call.id);
        ToolContext::new(call.id.as_str(), Arc::new(self.clone()), environment)
    }

    fn before_tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(async move {
            self.tools().follow_routed_model();
            self.0.participants.tool_call(call, cancel).await
        })
    }

    fn after_tool_call<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        Box::pin(async move {
            let configuration = ConfigReporter(self);
            configuration.report(&call.pending.call.id, "a tool").await;
            let mut update = self.0.participants.tool_result(call, cancel).await?;
            let content = update.content.as_ref().unwrap_or(&call.output.content);
            if pi_tools::has_images(content) {
                let limits = self.tools().image_limits();
                let fitted =
                    pi_tools::fit_tool_result_images(content.clone(), limits, cancel).await;
                if update.content.is_none() && update.structured_content.is_none() {
                    // Resizing changes nothing that structured content would contradict.
                    update.structured_content = call.output.structured_content.clone();
                }
                update.content = Some(fitted);
            }
            Ok(update)
        })
    }

    fn finish_turn(&self, turn: FinishedTurn) -> BoxFuture<'_, TurnDecision> {
        Box::pin(async move { self.turn_end().run_turn_end_hook(&turn).await })
    }

    fn check_context(&self, check: ContextCheck) -> CompactionDecision {
        self.compaction().decide(check)
    }

    fn omit(&self, target: OmitTarget) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let (event, targets) = match target {
                OmitTarget::Message(message) => {
                    if let AgentMessage::Assistant(failed) = &*message {
                        self.0.state().failed = Some(Arc::clone(failed));
                    }
                    let entry = self.0.transcript().entry_of(&message);
                    ("retry", entry.into_iter().collect())
                }
                OmitTarget::Entries(entries) => ("compaction", entries),
            };
            let omitted = self.retries().omit_entries(targets).await;
            if let Err(error) = &omitted {
                self.0.report(event, None, error);
            }
            omitted.is_ok()
        })
    }

    fn plan_compaction(&self) -> bool {
        self.compaction().plan_next()
    }

    fn compact(
        &self,
        job: CompactionJob,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, (FinishedCompaction, bool)> {
        Box::pin(async move {
            let compaction = self.compaction().perform(job, &cancel).await;
            let is_stored = compaction.result.is_ok();
            (compaction, is_stored)
        })
    }

    fn crashed_compaction(&self) -> FinishedCompaction {
        FinishedCompaction::crashed()
    }

    fn compaction_ended(
        &self,
        job: CompactionJob,
        compaction: FinishedCompaction,
    ) -> BoxFuture<'_, FinishedCompaction> {
        Box::pin(async move {
            self.compaction().publish_end(job, &compaction).await;
            compaction
        })
    }

    fn recovery_failed(&self, failure: RecoveryFailure) -> BoxFuture<'_, ()> {
        Box::pin(self.compaction().publish_recovery_failure(failure))
    }

    fn read_tail(&self) -> ConversationTail {
        let mut transcript = self.0.transcript();
        let messages = match transcript.messages() {
            Ok(messages) => messages,
            Err(error) => {
                tracing::warn!(%error, "cannot read the conversation");
                return ConversationTail::Empty;
            }
        };
        let is_message = |message: &&SharedMessage| !matches!(***message, AgentMessage::System(_));
        match messages.last().map(Arc::as_ref) {
            Some(AgentMessage::Assistant(_)) => ConversationTail::Response,
            _ if messages.iter().any(|message| is_message(&message)) => ConversationTail::Pending,
            _ => ConversationTail::Empty,
        }
    }

    fn wait_at_barrier(&self, point: BarrierPoint) -> BoxFuture<'_, bool> {
        Box::pin(barrier::wait(self, point))
    }

    fn read_open_turn(&self, begun: &[String]) -> Option<OpenTurn> {
        match self.history().messages() {
            Ok(messages) => barrier::read_open_turn(self, &messages, begun),
            Err(error) => {
                tracing::warn!(%error, "cannot read the conversation");
                None
            }
        }
    }

    fn before_settle(&self) -> BoxFuture<'_, bool> {
        Box::pin(self.turn_end().run_settle_hook())
    }

    fn reload(&self) {
        self.0.transcript().forget_views();
    }

    fn end_run(&self) {
        {
            let mut state = self.0.state();
            state.run = RunOverrides::default();
            (state.route, state.failed) = (None, None);
        }
        self.0.transcript().clear_recorded();
        pending::keep_or_report(self);
    }

    fn report_failure(&self, failure: RunFailure) {
        self.0.report("run", None, &failure);
    }

    fn report_rejection(&self, rejection: Rejection, error: Option<PromptError>) {
        let error = error.unwrap_or_else(|| rejection_error(rejection));
        self.0.report("prompt", None, &error);
    }
}

impl SessionServices for AgentSession {
    fn session_id(&self) -> Option<String> {
        Some(Self::session_id(self))
    }

    fn cwd(&self) -> &Path {
        Self::cwd(self)
    }

    fn callable_tools(&self) -> Vec<RegisteredTool> {
        self.tools().callable()
    }

    fn registered_tools(&self) -> Vec<RegisteredTool> {
        self.tools().toolset().tools().to_vec()
    }

    fn active_tools(&self) -> Vec<String> {
        self.tools().active_names()
    }

    fn activate_tools(&self, names: &[String]) {
        let mut active = self.tools().active_names();
        active.extend_from_slice(names);
        self.tools().set_active(&active);
    }

    fn custom_entries(&self, custom_type: &str) -> Vec<Value> {
        let read = |session: &Session| session.current_branch().custom_data(custom_type);
        match self.history().with_session(read) {
            Ok(data) => data,
            Err(error) => {
                tracing::warn!(%error, custom_type, "cannot read entries of the session");
                Vec::new()
            }
        }
    }

    fn append_custom_entry<'a>(
        &'a self,
        custom_type: &'a str,
        data: Value,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        Box::pin(async move {
            let appended = self.history().append_custom_entry(custom_type, Some(data));
            appended.await.map_err(|error| hook_error(&error))?;
            Ok(())
        })
    }

    fn execute_tool<'a>(
        &'a self,
        caller: &'a ToolContext,
        call: NestedToolCall,
    ) -> BoxFuture<'a, NestedToolResult> {
        Box::pin(run_nested_call(self, caller, call))
    }
}

fn hook_error(error: &SessionError) -> HookError {
    HookError::new(describe_error(error))
}

/// Lets the hooks replace a message, then stores it.
async fn record_message(
    session: &AgentSession,
    message: SharedMessage,
) -> Result<SharedMessage, HookError> {
    let message = match session.0.participants.message_end(&message).await {
        Some(other) if has_same_role(&other, &message) => Arc::new(other),
        Some(_) | None => message,
    };
    if session.0.machine().has_storage_failed() || !is_stored_as_message(&message) {
        return Ok(message);
    }
    let record = |transcript: &mut Transcript| {
        let entry = transcript.append_message(&message)?;
        transcript.record_entry(&message, &entry);
        Ok(())
    };
    let written = session.writer().write(record);
    written.map_err(|error| hook_error(&error))?;
    Ok(message)
}

/// Starts a request with the current conversation, model and options.
async fn start_request(
    session: &AgentSession,
    cancel: CancellationToken,
) -> Result<AssistantStream, HookError> {
    let messages = session
        .history()
        .messages()
        .map_err(|error| hook_error(&error))?;
    let messages = session.0.participants.context(messages, &cancel).await?;
    let messages = session.tools().with_forced_prompt(messages);
    let mut messages = to_model_messages(messages.iter().map(Arc::as_ref));
    session.tools().hide_declarations(&mut messages);
    let settings = session.0.settings.settings();
    if settings.images.block_images() {
        pi_tools::block_images(&mut messages);
    }
    let (model, reasoning) = session
        .selection()
        .take_route()
        .ok_or_else(|| HookError::new("no model selected"))?;
    let options = StreamOptions {
        hooks: session.0.participants.request_hooks(),
        session_id: Some(session.session_id()),
        cancel: cancel.child_token(),
        reasoning,
        ..preferences::stream_options(&settings)
    };
    Ok(session.0.models.stream(&model, messages, options))
}

/// Returns whether the role is one that runs add; other roles are stored where they are created.
fn is_stored_as_message(message: &AgentMessage) -> bool {
    matches!(
        message,
        AgentMessage::System(_)
            | AgentMessage::User(_)
            | AgentMessage::Assistant(_)
            | AgentMessage::ToolResult(_)
            | AgentMessage::Custom(_)
    )
}

fn has_same_role(one: &AgentMessage, other: &AgentMessage) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}
