//! A session in memory: a list of messages, tools, hooks and a model.

// The benchmarks include this file as well, from another directory.
#[path = "no_operations.rs"]
mod no_operations;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::{BoxFuture, ready};
use pi_core::{
    Backend, CompactionJob, ContextCheck, Control, ConversationTail, FinishedToolCall,
    FinishedTurn, HookError, Machine, NoSession, OmitTarget, PendingToolCall, PreparedRun, Prompt,
    PromptInput, Rejection, ReviewedToolCall, RunFailure, RunTrigger, Selection, Tool, ToolContext,
    ToolResultUpdate, TurnDecision,
};
use pi_protocol::retry::RetryPolicy;
use pi_protocol::{
    AgentMessage, CompactionDecision, Message, RecoveryFailure, SessionEvent, SharedMessage,
    SystemMessage, ToolCall, UserMessage,
};
use pi_stream::AssistantStream;
use tokio_util::sync::CancellationToken;

/// Delay before the first retry. Tests that wait for it pause the clock.
const RETRY_DELAY: Duration = Duration::from_mins(1);

/// Responds to requests.
pub(crate) trait TestModel: Send + Sync + 'static {
    fn stream(&self, messages: Vec<Message>, cancel: CancellationToken) -> AssistantStream;
}

impl<Respond> TestModel for Respond
where
    Respond: Fn(Vec<Message>, CancellationToken) -> AssistantStream + Send + Sync + 'static,
{
    fn stream(&self, messages: Vec<Message>, cancel: CancellationToken) -> AssistantStream {
        self(messages, cancel)
    }
}

/// The hooks of a test session. Every default leaves things as they are.
pub(crate) trait TestHooks: Send + Sync + 'static {
    fn on_event<'a>(
        &'a self,
        _backend: &'a TestBackend,
        _event: &'a SessionEvent,
    ) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }

    fn resolve_prompt<'a>(
        &'a self,
        _backend: &'a TestBackend,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(ready(Ok(())))
    }

    fn check_prompt<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(ready(Ok(())))
    }

    fn prepare_run<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, Vec<AgentMessage>> {
        Box::pin(ready(Vec::new()))
    }

    fn replace_message(&self, message: SharedMessage) -> Result<SharedMessage, HookError> {
        Ok(message)
    }

    /// Converts the conversation to a request.
    fn context(&self, messages: &[SharedMessage]) -> Result<Vec<Message>, HookError> {
        let messages = messages.iter();
        Ok(messages
            .filter_map(|message| pi_core::model_message(message))
            .collect())
    }

    fn before_tool_call<'a>(
        &'a self,
        _backend: &'a TestBackend,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(ready(Ok(ReviewedToolCall::allow(call.arguments))))
    }

    fn after_tool_call(&self, _call: &FinishedToolCall) -> Result<ToolResultUpdate, HookError> {
        Ok(ToolResultUpdate::default())
    }

    fn finish_turn<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, TurnDecision> {
        Box::pin(ready(TurnDecision::Default))
    }

    fn check_context(&self, _check: &ContextCheck) -> CompactionDecision {
        CompactionDecision::Skip
    }

    /// Writes a summary. Returns whether it was stored.
    fn compact(&self, _cancel: CancellationToken) -> BoxFuture<'_, bool> {
        Box::pin(ready(true))
    }

    fn before_settle<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, bool> {
        Box::pin(ready(false))
    }
}

/// Hooks that do nothing.
pub(crate) struct NoHooks;

impl TestHooks for NoHooks {}

/// A session in memory.
#[derive(Clone)]
pub(crate) struct TestBackend(Arc<TestSession>);

struct TestSession {
    control: Control,
    model: Arc<dyn TestModel>,
    tools: Vec<Arc<dyn Tool>>,
    hooks: Arc<dyn TestHooks>,
    messages: Mutex<Vec<SharedMessage>>,
    events: Mutex<Vec<SessionEvent>>,
    /// Failures that no caller receives.
    reports: Mutex<Vec<String>>,
}

impl TestBackend {
    pub(crate) fn new(
        model: Arc<dyn TestModel>,
        tools: Vec<Arc<dyn Tool>>,
        hooks: Arc<dyn TestHooks>,
    ) -> Self {
        let retries = RetryPolicy {
            base_delay: RETRY_DELAY,
            ..RetryPolicy::default()
        };
        let machine = Machine::new(Selection::default());
        Self(Arc::new(TestSession {
            control: Control::new(machine, move |machine| machine.configure(0, retries)),
            model,
            tools,
            hooks,
            messages: Mutex::default(),
            events: Mutex::default(),
            reports: Mutex::default(),
        }))
    }

    pub(crate) fn messages(&self) -> MutexGuard<'_, Vec<SharedMessage>> {
        self.0.messages.lock().unwrap()
    }

    /// Returns the published events.
    pub(crate) fn events(&self) -> MutexGuard<'_, Vec<SessionEvent>> {
        self.0.events.lock().unwrap()
    }

    pub(crate) fn reports(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.reports.lock().unwrap()
    }

    fn add(&self, event: SessionEvent) {
        self.events().push(event);
    }
}

pub(crate) fn user_message(text: &str) -> AgentMessage {
    AgentMessage::from(UserMessage {
        content: text.into(),
        ..UserMessage::default()
    })
}

pub(crate) fn prompt_input(text: String) -> PromptInput {
    PromptInput {
        message: user_message(&text),
        text,
        images: Vec::new(),
        delivery: None,
        source: pi_core::InputSource::Interactive,
        is_in_hook: false,
    }
}

impl Backend for TestBackend {
    type Error = String;
    type Compaction = bool;

    fn control(&self) -> &Control {
        &self.0.control
    }

    fn span(&self) -> tracing::Span {
        tracing::Span::none()
    }

    fn on_panic(&self, message: &str) {
        self.reports().push(format!("panic: {message}"));
    }

    fn run_event_hooks<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        self.0.hooks.on_event(self, event)
    }

    fn publish(&self, event: SessionEvent) -> BoxFuture<'_, ()> {
        self.add(event);
        Box::pin(ready(()))
    }

    fn publish_queue(&self) -> BoxFuture<'_, ()> {
        let texts = self.control().machine().queue().texts();
        self.publish(SessionEvent::QueueUpdate {
            steering: texts.steering,
            follow_up: texts.follow_up,
        })
    }

    fn resolve_prompt(&self, prompt: Prompt) -> BoxFuture<'_, Result<Option<PromptInput>, String>> {
        Box::pin(async move {
            self.0.hooks.resolve_prompt(self).await?;
            Ok(Some(prompt_input(prompt.text)))
        })
    }

    fn check_prompt(&self) -> BoxFuture<'_, Result<(), String>> {
        self.0.hooks.check_prompt(self)
    }

    fn prepare_run(&self, trigger: RunTrigger) -> BoxFuture<'_, PreparedRun> {
        Box::pin(async move {
            PreparedRun {
                prompt: match trigger {
                    RunTrigger::Prompt { text, .. } => user_message(&text),
                    RunTrigger::Message(message) => message,
                },
                added: self.0.hooks.prepare_run(self).await,
            }
        })
    }

    fn append(&self, message: AgentMessage) -> BoxFuture<'_, Result<(), String>> {
        self.messages().push(Arc::new(message));
        Box::pin(ready(Ok(())))
    }

    fn compose(&self) -> BoxFuture<'_, Result<Option<AgentMessage>, HookError>> {
        let is_announced = |message: &SharedMessage| matches!(**message, AgentMessage::System(_));
        let is_composed = self.messages().iter().any(is_announced);
        let tools = self.0.tools.iter();
        let message = (!self.0.tools.is_empty() && !is_composed).then(|| SystemMessage {
            tools_added: Some(tools.map(|tool| tool.declaration().clone()).collect()),
            ..SystemMessage::default()
        });
        Box::pin(ready(Ok(message.map(AgentMessage::from))))
    }

    fn record(&self, message: SharedMessage) -> BoxFuture<'_, Result<SharedMessage, HookError>> {
        let replaced = self.0.hooks.replace_message(message);
        if let Ok(message) = &replaced {
            self.messages().push(Arc::clone(message));
        }
        Box::pin(ready(replaced))
    }

    fn stream(
        &self,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<AssistantStream, HookError>> {
        let messages = self.0.hooks.context(&self.messages());
        let response = messages.map(|messages| self.0.model.stream(messages, cancel));
        Box::pin(ready(response))
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let mut tools = self.0.tools.iter();
        tools.find(|tool| tool.declaration().name == name).cloned()
    }

    fn tool_context(&self, call: &ToolCall) -> ToolContext {
        let session = Arc::new(NoSession::at("/project"));
        ToolContext::new(call.id.as_str(), session, no_operations::environment())
    }

    fn before_tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        self.0.hooks.before_tool_call(self, call, cancel)
    }

    fn after_tool_call<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        Box::pin(ready(self.0.hooks.after_tool_call(call)))
    }

    fn finish_turn(&self, _turn: FinishedTurn) -> BoxFuture<'_, TurnDecision> {
        self.0.hooks.finish_turn(self)
    }

    fn check_context(&self, check: ContextCheck) -> CompactionDecision {
        self.0.hooks.check_context(&check)
    }

    fn omit(&self, target: OmitTarget) -> BoxFuture<'_, bool> {
        if let OmitTarget::Message(omitted) = target {
            self.messages()
                .retain(|message| !Arc::ptr_eq(message, &omitted));
        }
        Box::pin(ready(true))
    }

    fn plan_compaction(&self) -> bool {
        true
    }

    fn compact(
        &self,
        _job: CompactionJob,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, (bool, bool)> {
        Box::pin(async move {
            let is_stored = self.0.hooks.compact(cancel).await;
            (is_stored, is_stored)
        })
    }

    fn crashed_compaction(&self) -> bool {
        false
    }

    fn compaction_ended(&self, job: CompactionJob, is_stored: bool) -> BoxFuture<'_, bool> {
        self.add(SessionEvent::CompactionEnd {
            reason: job.reason,
            result: None,
            aborted: !is_stored,
            will_retry: job.will_retry,
            error_message: None,
        });
        Box::pin(ready(is_stored))
    }

    fn recovery_failed(&self, failure: RecoveryFailure) -> BoxFuture<'_, ()> {
        self.reports().push(failure.to_string());
        Box::pin(ready(()))
    }

    fn read_tail(&self) -> ConversationTail {
        match self.messages().last().map(Arc::as_ref) {
            Some(AgentMessage::Assistant(_)) => ConversationTail::Response,
            Some(AgentMessage::System(_)) | None => ConversationTail::Empty,
            Some(_) => ConversationTail::Pending,
        }
    }

    fn before_settle(&self) -> BoxFuture<'_, bool> {
        self.0.hooks.before_settle(self)
    }

    fn reload(&self) {}

    fn end_run(&self) {}

    fn report_failure(&self, failure: RunFailure) {
        self.reports().push(failure.to_string());
    }

    fn report_rejection(&self, rejection: Rejection, error: Option<String>) {
        let text = error.unwrap_or_else(|| format!("{rejection:?}"));
        self.reports().push(text);
    }
}
