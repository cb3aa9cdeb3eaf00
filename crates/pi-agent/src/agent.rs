//! The agent: a transcript, tools, a model, and at most one run at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use pi_ai::{
    AgentMessage, AssistantStream, Env, ImageContent, InputBlock, LiveMessage, Message,
    MessageContent, Model, Models, StreamOptions, StreamPhase, ThinkingLevel, UserMessage,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::driver::RunDriver;
use crate::error::AgentError;
use crate::event::{AgentEvent, SharedMessage};
use crate::hooks::{AgentHooks, LoopContext, LoopUpdate, NoHooks};
use crate::machine::{ContextUpdate, Effect, Machine, MachineInput, ToolSpec};
use crate::queue::QueueMode;
use crate::tool::{ExecutionMode, Tool};
use crate::turn::FinishedTurn;
use crate::validation::Validators;

/// Streams responses from a model. Implemented by [`Models`] and by any closure of this shape.
pub trait ModelStream: Send + Sync {
    /// Starts a request. Failures are reported in the stream.
    fn stream(
        &self,
        model: Arc<Model>,
        messages: Arc<[Message]>,
        options: StreamOptions,
    ) -> AssistantStream;
}

impl ModelStream for Models {
    fn stream(
        &self,
        model: Arc<Model>,
        messages: Arc<[Message]>,
        options: StreamOptions,
    ) -> AssistantStream {
        Self::stream(self, &model, messages, options)
    }
}

impl<Function> ModelStream for Function
where
    Function: Fn(Arc<Model>, Arc<[Message]>, StreamOptions) -> AssistantStream + Send + Sync,
{
    fn stream(
        &self,
        model: Arc<Model>,
        messages: Arc<[Message]>,
        options: StreamOptions,
    ) -> AssistantStream {
        self(model, messages, options)
    }
}

/// Receives every [`AgentEvent`]. Listeners are called one after the other in subscription order,
/// and the run awaits each call.
pub trait AgentListener: Send + Sync {
    /// Handles an event; `cancel` is the cancellation token of the run.
    fn on_event<'a>(
        &'a self,
        event: &'a AgentEvent,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ()>;
}

pub struct AgentOptions {
    pub models: Arc<dyn ModelStream>,
    pub model: Arc<Model>,
    /// Reasoning effort for requests.
    pub thinking_level: ThinkingLevel,
    pub tools: Vec<Arc<dyn Tool>>,
    /// Initial transcript.
    pub messages: Vec<SharedMessage>,
    pub hooks: Arc<dyn AgentHooks>,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    /// Whether the tool calls of one response run in parallel.
    pub execution_mode: ExecutionMode,
    /// Options for every request. The loop sets cancellation and thinking level itself.
    pub stream_options: StreamOptions,
    pub env: Env,
}

impl AgentOptions {
    pub fn new(models: Arc<dyn ModelStream>, model: Arc<Model>) -> Self {
        Self {
            models,
            model,
            thinking_level: ThinkingLevel::Off,
            tools: Vec::new(),
            messages: Vec::new(),
            hooks: Arc::new(NoHooks),
            steering_mode: QueueMode::default(),
            follow_up_mode: QueueMode::default(),
            execution_mode: ExecutionMode::default(),
            stream_options: StreamOptions::default(),
            env: Env::process(),
        }
    }
}

/// An agent. Handles are cheap to clone and share one transcript.
#[derive(Clone)]
pub struct Agent {
    core: Arc<AgentCore>,
}

/// State shared by all handles and the driver.
pub(crate) struct AgentCore {
    pub(crate) models: Arc<dyn ModelStream>,
    pub(crate) hooks: Arc<dyn AgentHooks>,
    state: Mutex<AgentCoreState>,
    /// Whether a run is in progress; watched by `wait_for_idle`.
    running: watch::Sender<bool>,
    /// Phase of the current request; `None` between requests.
    pub(crate) request_phase: watch::Sender<Option<StreamPhase>>,
    /// Compiled argument schemas of the tools called so far.
    pub(crate) validators: Validators,
    runs: TaskTracker,
}

struct AgentCoreState {
    machine: Machine,
    tools: Vec<Arc<dyn Tool>>,
    listeners: Vec<(u64, Arc<dyn AgentListener>)>,
    next_listener: u64,
    stream_options: StreamOptions,
    cancel: CancellationToken,
}

/// Unsubscribes the listener when dropped.
pub struct Subscription {
    core: std::sync::Weak<AgentCore>,
    id: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.lock().listeners.retain(|(id, _)| *id != self.id);
        }
    }
}

impl Agent {
    pub fn new(options: AgentOptions) -> Self {
        let env = options.env;
        let mut machine = Machine::new(options.model, move || env.now_ms());
        machine.transcript = options.messages;
        machine.tools = tool_specs(&options.tools);
        machine.thinking_level = options.thinking_level;
        machine.execution_mode = options.execution_mode;
        machine.steering.set_mode(options.steering_mode);
        machine.follow_ups.set_mode(options.follow_up_mode);
        let state = AgentCoreState {
            machine,
            tools: options.tools,
            listeners: Vec::new(),
            next_listener: 0,
            stream_options: options.stream_options,
            cancel: CancellationToken::new(),
        };
        Self {
            core: Arc::new(AgentCore {
                models: options.models,
                hooks: options.hooks,
                state: Mutex::new(state),
                running: watch::Sender::new(false),
                request_phase: watch::Sender::new(None),
                validators: Validators::default(),
                runs: TaskTracker::new(),
            }),
        }
    }

    pub fn subscribe(&self, listener: Arc<dyn AgentListener>) -> Subscription {
        let mut state = self.core.lock();
        let id = state.next_listener;
        state.next_listener += 1;
        state.listeners.push((id, listener));
        Subscription {
            core: Arc::downgrade(&self.core),
            id,
        }
    }

    /// Sends messages and waits until the agent is idle again.
    pub async fn prompt(&self, messages: Vec<AgentMessage>) -> Result<(), AgentError> {
        self.start(|machine| machine.prompt(messages))?;
        self.wait_for_idle().await;
        Ok(())
    }

    /// Sends text and images and waits until the agent is idle again.
    pub async fn prompt_text(
        &self,
        text: &str,
        images: Vec<ImageContent>,
    ) -> Result<(), AgentError> {
        let message = self.user_message(text, images);
        self.prompt(vec![message]).await
    }

    /// Continues from the current transcript and waits until the agent is idle again. If the
    /// transcript ends with a model response, sends the queued messages instead.
    pub async fn resume(&self) -> Result<(), AgentError> {
        self.start(Machine::resume)?;
        self.wait_for_idle().await;
        Ok(())
    }

    /// Creates a user message with the current time.
    pub fn user_message(&self, text: &str, images: Vec<ImageContent>) -> AgentMessage {
        let mut blocks = vec![InputBlock::text(text)];
        blocks.extend(images.into_iter().map(InputBlock::Image));
        AgentMessage::from(UserMessage {
            content: MessageContent::Blocks(blocks),
            timestamp: self.core.lock().machine.now_ms(),
            ..UserMessage::default()
        })
    }

    /// Checks and starts under one lock, so two prompts cannot both begin.
    fn start(
        &self,
        begin: impl FnOnce(&mut Machine) -> Result<Vec<Effect>, AgentError>,
    ) -> Result<(), AgentError> {
        let (effects, cancel) = {
            let mut state = self.core.lock();
            let effects = begin(&mut state.machine)?;
            state.cancel = CancellationToken::new();
            self.core.running.send_replace(true);
            (effects, state.cancel.clone())
        };
        let core = Arc::clone(&self.core);
        let run = async move {
            // Marks the agent idle even if the driver panics, so callers never wait forever.
            let _idle = IdleGuard(Arc::clone(&core));
            RunDriver::new(core, cancel, effects).run().await;
        };
        // Log lines of the run name the caller's session.
        self.core.runs.spawn(run.in_current_span());
        Ok(())
    }

    /// Queues a message for the next turn.
    pub fn steer(&self, message: AgentMessage) {
        self.core.step(MachineInput::Steer(message));
    }

    /// Queues a message for the point where the run would end.
    pub fn follow_up(&self, message: AgentMessage) {
        self.core.step(MachineInput::FollowUp(message));
    }

    /// Cancels the run. It still ends in a valid state; use [`Agent::wait_for_idle`] to wait for
    /// that.
    pub fn abort(&self) {
        let mut state = self.core.lock();
        if state.machine.is_running() {
            state.machine.step(MachineInput::Abort);
            state.cancel.cancel();
        }
    }

    /// Waits until no run is in progress and the listeners of `agent_end` have returned.
    pub async fn wait_for_idle(&self) {
        let mut running = self.core.running.subscribe();
        if running.wait_for(|running| !running).await.is_err() {
            // The sender lives in `self`, so it cannot be dropped here.
            tracing::debug!("agent dropped while waiting for idle");
        }
    }

    /// Watches the phase of the current request; `None` between requests.
    pub fn request_phase(&self) -> watch::Receiver<Option<StreamPhase>> {
        self.core.request_phase.subscribe()
    }

    /// Returns a copy of the agent's state.
    pub fn state(&self) -> AgentState {
        let state = self.core.lock();
        AgentState {
            messages: state.machine.transcript.clone(),
            model: Arc::clone(&state.machine.model),
            thinking_level: state.machine.thinking_level,
            is_running: state.machine.is_running(),
            streaming_message: state.machine.streaming.clone(),
            pending_tool_calls: state.machine.pending_calls(),
            error_message: state.machine.error_message.clone(),
        }
    }

    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.core.lock().tools.clone()
    }

    /// Replaces the tools. The change is announced to the model before the next request.
    pub fn set_tools(&self, tools: Vec<Arc<dyn Tool>>) {
        let mut state = self.core.lock();
        state.machine.tools = tool_specs(&tools);
        state.tools = tools;
    }

    pub fn set_messages(&self, messages: Vec<SharedMessage>) {
        self.core.lock().machine.transcript = messages;
    }

    /// Adds a message to the transcript without emitting events. Must not be called while a tool
    /// call is waiting for its result.
    pub fn append_message(&self, message: SharedMessage) {
        self.core.lock().machine.transcript.push(message);
    }

    pub fn message_count(&self) -> usize {
        self.core.lock().machine.transcript.len()
    }

    pub fn has_queued_messages(&self) -> bool {
        let state = self.core.lock();
        !state.machine.steering.is_empty() || !state.machine.follow_ups.is_empty()
    }

    /// Replaces the model for future requests.
    pub fn set_model(&self, model: Arc<Model>) {
        self.core.lock().machine.model = model;
    }

    /// Replaces the thinking level for future requests.
    pub fn set_thinking_level(&self, level: ThinkingLevel) {
        self.core.lock().machine.thinking_level = level;
    }

    /// Changes the options of future requests.
    pub fn update_stream_options(&self, change: impl FnOnce(&mut StreamOptions)) {
        change(&mut self.core.lock().stream_options);
    }

    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.core.lock().machine.steering.set_mode(mode);
    }

    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.core.lock().machine.follow_ups.set_mode(mode);
    }

    /// Returns the queued messages: steering, then follow-ups.
    pub fn queued_messages(&self) -> (Vec<AgentMessage>, Vec<AgentMessage>) {
        let state = self.core.lock();
        let machine = &state.machine;
        (
            machine.steering.iter().cloned().collect(),
            machine.follow_ups.iter().cloned().collect(),
        )
    }

    /// Returns the messages the next turn would take from the queues.
    pub fn peek_queued_messages(&self) -> Vec<AgentMessage> {
        let state = self.core.lock();
        let steering = state.machine.steering.peek();
        if steering.is_empty() {
            state.machine.follow_ups.peek()
        } else {
            steering
        }
    }

    /// Empties the queues and returns their messages: steering, then follow-ups.
    pub fn clear_queues(&self) -> (Vec<AgentMessage>, Vec<AgentMessage>) {
        let mut state = self.core.lock();
        (
            state.machine.steering.clear(),
            state.machine.follow_ups.clear(),
        )
    }

    /// Clears the conversation and the queues; system prompt and tools stay declared.
    pub fn reset(&self) -> Result<(), AgentError> {
        let mut state = self.core.lock();
        if state.machine.is_running() {
            return Err(AgentError::Busy);
        }
        state.machine.clear_conversation();
        Ok(())
    }
}

/// A copy of an agent's state.
#[derive(Debug, Clone)]
pub struct AgentState {
    pub messages: Vec<SharedMessage>,
    pub model: Arc<Model>,
    pub thinking_level: ThinkingLevel,
    pub is_running: bool,
    /// The response being streamed.
    pub streaming_message: Option<LiveMessage>,
    /// IDs of tool calls that have started and not finished.
    pub pending_tool_calls: Vec<String>,
    /// Why the last turn failed.
    pub error_message: Option<String>,
}

/// Marks the run as finished when dropped. The machine and the `running` flag change under one
/// lock, as when a run starts: a prompt sent in between belongs to the next run, which this guard must
/// not end.
struct IdleGuard(Arc<AgentCore>);

impl Drop for IdleGuard {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.machine.step(MachineInput::Settled);
        self.0.running.send_replace(false);
    }
}

impl AgentCore {
    fn lock(&self) -> MutexGuard<'_, AgentCoreState> {
        // The machine's steps do not panic, so a poisoned lock still holds valid state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn step(&self, input: MachineInput) -> Vec<Effect> {
        self.lock().machine.step(input)
    }

    pub(crate) async fn emit(&self, event: &AgentEvent, cancel: &CancellationToken) {
        let listeners: Vec<_> = self
            .lock()
            .listeners
            .iter()
            .map(|(_, listener)| Arc::clone(listener))
            .collect();
        for listener in listeners {
            listener.on_event(event, cancel).await;
        }
    }

    pub(crate) fn context(&self) -> LoopContext {
        let state = self.lock();
        LoopContext {
            messages: state.machine.transcript.clone(),
            tools: state.tools.clone(),
            model: Arc::clone(&state.machine.model),
            thinking_level: state.machine.thinking_level,
        }
    }

    pub(crate) fn last_turn(&self) -> Option<FinishedTurn> {
        self.lock().machine.last_turn().cloned()
    }

    pub(crate) fn current_response(&self) -> Option<SharedMessage> {
        self.lock().machine.running_assistant_message()
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.lock()
            .tools
            .iter()
            .find(|tool| tool.declaration().name == name)
            .cloned()
    }

    pub(crate) fn stream_options(
        &self,
        reasoning: ThinkingLevel,
        cancel: CancellationToken,
    ) -> StreamOptions {
        StreamOptions {
            cancel,
            reasoning,
            ..self.lock().stream_options.clone()
        }
    }

    /// Applies the part of an update the machine does not own (the tools) and returns the rest.
    pub(crate) fn apply_tools(&self, update: LoopUpdate) -> ContextUpdate {
        let specs = update.tools.as_deref().map(tool_specs);
        if let Some(tools) = update.tools {
            self.lock().tools = tools;
        }
        ContextUpdate {
            transcript: update.transcript,
            messages: update.messages,
            tools: specs,
            model: update.model,
            thinking_level: update.thinking_level,
        }
    }
}

fn tool_specs(tools: &[Arc<dyn Tool>]) -> Vec<ToolSpec> {
    tools
        .iter()
        .map(|tool| ToolSpec {
            declaration: tool.declaration().clone(),
            mode: tool.execution_mode(),
        })
        .collect()
}
