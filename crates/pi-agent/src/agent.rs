//! The agent: a transcript, tools, a model, and at most one run at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use pi_ai::{
    AgentMessage, AssistantStream, Content, Env, ImageContent, InputBlock, LiveMessage, Message,
    Model, Models, StreamOptions, StreamPhase, ThinkingLevel, UserMessage,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::driver::RunDriver;
use crate::error::AgentError;
use crate::event::{AgentEvent, SharedMessage};
use crate::hooks::{AgentHooks, LoopContext, LoopUpdate, NoHooks};
use crate::machine::{ContextUpdate, Effect, MachineInput, Machine, ToolSpec};
use crate::queue::QueueMode;
use crate::tool::{ExecutionMode, Tool};
use crate::turn::FinishedTurn;
use crate::validation::Validators;

/// Reaches a model. [`Models`] does, and so does any closure of this shape.
pub trait ModelStream: Send + Sync {
    /// Asks the model; failures are told in the stream.
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

/// Hears of everything an agent does. Listeners are told in the order of their subscription, one
/// after the other, and the run waits for each.
pub trait AgentListener: Send + Sync {
    /// Takes an event; `cancel` is the run's.
    fn on_event<'a>(
        &'a self,
        event: &'a AgentEvent,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ()>;
}

/// What an agent starts with.
pub struct AgentOptions {
    pub models: Arc<dyn ModelStream>,
    /// The model to ask.
    pub model: Arc<Model>,
    /// How much it shall think.
    pub thinking_level: ThinkingLevel,
    /// What it may call.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The conversation so far.
    pub messages: Vec<SharedMessage>,
    /// The application's part in the loop.
    pub hooks: Arc<dyn AgentHooks>,
    /// How steering is delivered.
    pub steering_mode: QueueMode,
    /// How follow-ups are delivered.
    pub follow_up_mode: QueueMode,
    /// Whether calls of one answer run side by side.
    pub execution_mode: ExecutionMode,
    /// How requests are made; cancellation and thinking level are the loop's.
    pub stream_options: StreamOptions,
    pub env: Env,
}

impl AgentOptions {
    /// Creates options with a model and defaults for the rest.
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

/// What all handles and the driver share.
pub(crate) struct AgentCore {
    pub(crate) models: Arc<dyn ModelStream>,
    pub(crate) hooks: Arc<dyn AgentHooks>,
    state: Mutex<AgentCoreState>,
    /// Whether a run is under way; `wait_for_idle` watches it.
    running: watch::Sender<bool>,
    /// What the request under way is doing; none between requests.
    pub(crate) request_phase: watch::Sender<Option<StreamPhase>>,
    /// The argument schemas of the tools that were called.
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

/// A subscription; dropping it ends it.
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
    /// Creates an idle agent.
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

    /// Begins to hear of what the agent does.
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

    /// Sends a text with images and waits until the agent is idle again.
    pub async fn prompt_text(
        &self,
        text: &str,
        images: Vec<ImageContent>,
    ) -> Result<(), AgentError> {
        let message = self.user_message(text, images);
        self.prompt(vec![message]).await
    }

    /// Goes on from the transcript as it is, and waits until the agent is idle again. Where the
    /// model has already answered, queued messages are sent instead.
    pub async fn resume(&self) -> Result<(), AgentError> {
        self.start(Machine::resume)?;
        self.wait_for_idle().await;
        Ok(())
    }

    /// Creates a user message of now.
    pub fn user_message(&self, text: &str, images: Vec<ImageContent>) -> AgentMessage {
        let mut blocks = vec![InputBlock::text(text)];
        blocks.extend(images.into_iter().map(InputBlock::Image));
        AgentMessage::from(UserMessage {
            content: Content::Blocks(blocks),
            timestamp: self.core.lock().machine.now_ms(),
            ..UserMessage::default()
        })
    }

    /// The check and the start are one step under the lock, so two prompts cannot both begin.
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
        self.core.runs.spawn(async move {
            // Whatever happens to the driver, nobody waits for ever.
            let _idle = IdleGuard(Arc::clone(&core));
            RunDriver::new(core, cancel, effects).run().await;
        });
        Ok(())
    }

    /// Queues a message for the next turn.
    pub fn steer(&self, message: AgentMessage) {
        self.core.step(MachineInput::Steer(message));
    }

    /// Queues a message for when the run would end.
    pub fn follow_up(&self, message: AgentMessage) {
        self.core.step(MachineInput::FollowUp(message));
    }

    /// Asks the run to end. It does so in a valid state; [`Agent::wait_for_idle`] tells when.
    pub fn abort(&self) {
        let mut state = self.core.lock();
        if state.machine.is_running() {
            state.machine.step(MachineInput::Abort);
            state.cancel.cancel();
        }
    }

    /// Waits until no run is under way and the listeners of `agent_end` have settled.
    pub async fn wait_for_idle(&self) {
        let mut running = self.core.running.subscribe();
        if running.wait_for(|running| !running).await.is_err() {
            // The sender lives in `self`, which we hold.
            tracing::debug!("agent is gone while waited for");
        }
    }

    /// Returns what the request under way is doing, as a value that can be watched; none between
    /// requests.
    pub fn request_phase(&self) -> watch::Receiver<Option<StreamPhase>> {
        self.core.request_phase.subscribe()
    }

    /// Looks at the agent's state.
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

    /// Returns the tools that can run.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.core.lock().tools.clone()
    }

    /// Replaces the tools; the model is told before the next request.
    pub fn set_tools(&self, tools: Vec<Arc<dyn Tool>>) {
        let mut state = self.core.lock();
        state.machine.tools = tool_specs(&tools);
        state.tools = tools;
    }

    /// Replaces the transcript.
    pub fn set_messages(&self, messages: Vec<SharedMessage>) {
        self.core.lock().machine.transcript = messages;
    }

    /// Adds a message to the transcript without telling anybody; not while a tool call waits for its
    /// result.
    pub fn append_message(&self, message: SharedMessage) {
        self.core.lock().machine.transcript.push(message);
    }

    /// Returns how many messages the transcript has.
    pub fn message_count(&self) -> usize {
        self.core.lock().machine.transcript.len()
    }

    /// Returns whether anything waits in the queues.
    pub fn has_queued_messages(&self) -> bool {
        let state = self.core.lock();
        !state.machine.steering.is_empty() || !state.machine.follow_ups.is_empty()
    }

    /// Replaces the model for requests to come.
    pub fn set_model(&self, model: Arc<Model>) {
        self.core.lock().machine.model = model;
    }

    /// Replaces the thinking level for requests to come.
    pub fn set_thinking_level(&self, level: ThinkingLevel) {
        self.core.lock().machine.thinking_level = level;
    }

    /// Changes how requests to come are made.
    pub fn update_stream_options(&self, change: impl FnOnce(&mut StreamOptions)) {
        change(&mut self.core.lock().stream_options);
    }

    /// Changes how steering is delivered.
    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.core.lock().machine.steering.set_mode(mode);
    }

    /// Changes how follow-ups are delivered.
    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.core.lock().machine.follow_ups.set_mode(mode);
    }

    /// Returns the waiting messages: steering, then follow-ups.
    pub fn queued_messages(&self) -> (Vec<AgentMessage>, Vec<AgentMessage>) {
        let state = self.core.lock();
        let machine = &state.machine;
        (
            machine.steering.iter().cloned().collect(),
            machine.follow_ups.iter().cloned().collect(),
        )
    }

    /// Returns what the next turn would take from the queues.
    pub fn peek_queued_messages(&self) -> Vec<AgentMessage> {
        let state = self.core.lock();
        let steering = state.machine.steering.peek();
        if steering.is_empty() {
            state.machine.follow_ups.peek()
        } else {
            steering
        }
    }

    /// Empties the queues and returns what waited: steering, then follow-ups.
    pub fn clear_queues(&self) -> (Vec<AgentMessage>, Vec<AgentMessage>) {
        let mut state = self.core.lock();
        (
            state.machine.steering.clear(),
            state.machine.follow_ups.clear(),
        )
    }

    /// Forgets the conversation and the queues; prompt and tools stay declared.
    pub fn reset(&self) -> Result<(), AgentError> {
        let mut state = self.core.lock();
        if state.machine.is_running() {
            return Err(AgentError::Busy);
        }
        state.machine.clear_conversation();
        Ok(())
    }
}

/// A look at an agent.
#[derive(Debug, Clone)]
pub struct AgentState {
    pub messages: Vec<SharedMessage>,
    /// The model in use.
    pub model: Arc<Model>,
    /// The thinking level in use.
    pub thinking_level: ThinkingLevel,
    /// Whether a run is under way.
    pub is_running: bool,
    /// The answer that is arriving.
    pub streaming_message: Option<LiveMessage>,
    /// Calls that have begun and not ended.
    pub pending_tool_calls: Vec<String>,
    /// Why the last turn failed.
    pub error_message: Option<String>,
}

/// Ends a run when it is dropped. As with the start, the machine and who waits for it change in one step
/// under the lock: a prompt that comes meanwhile is of the next run, which this one must not end.
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
        // The machine's steps do not panic; a poisoned lock is somebody else's doing.
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

    /// Takes over the part of an update that the machine does not hold: the tools themselves.
    pub(crate) fn adopt(&self, update: LoopUpdate) -> ContextUpdate {
        let facts = update.tools.as_deref().map(tool_specs);
        if let Some(tools) = update.tools {
            self.lock().tools = tools;
        }
        ContextUpdate {
            transcript: update.transcript,
            messages: update.messages,
            tools: facts,
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
