//! What all activities of a session use: the selection, the messages that wait, and the effects of the current step.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_protocol::{
    AgentEvent, AgentMessage, BashExecutionMessage, Delivery, Model, RecoveryState, ScopedModel,
    SessionEvent, SharedMessage, ThinkingLevel,
};

use super::effect::{Effect, Rejection, Reply};
use super::retry::RetryState;
use crate::prompt::Prompt;
use crate::queue::{MessageQueue, queued_texts};
use crate::retry_end::RetryEnd;
use crate::tool::ExecutionMode;
use crate::turn::ActivityOutcome;

#[derive(Debug, Default)]
pub(super) struct Context {
    pub selection: Selection,
    pub queue: MessageQueue,
    pub waiting: WaitingMessages,
    pub retry: RetryState,
    pub recovery: RecoveryState,
    /// The outcome of the last response.
    pub outcome: ActivityOutcome,
    pub now_ms: i64,
    /// The effects of the current step.
    effects: Vec<Effect>,
}

/// What the next request uses.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// `None` until a model is selected.
    pub model: Option<Arc<Model>>,
    /// The model of the last request, if the selected one is virtual.
    pub routed: Option<Arc<Model>>,
    /// Reasoning effort for requests.
    pub thinking_level: ThinkingLevel,
    /// The models to cycle through; if empty, all available ones.
    pub scoped_models: Vec<ScopedModel>,
    /// Names of the tools the model may call.
    pub active_tools: Vec<String>,
    /// Those of the active tools that must run alone.
    pub sequential_tools: Vec<String>,
    /// Whether the tool calls of one response run in parallel.
    pub execution_mode: ExecutionMode,
    /// Whether a supervisor decides before requests and calls.
    pub is_supervised: bool,
}

impl Selection {
    pub(super) fn is_virtual(&self) -> bool {
        self.model.as_ref().is_some_and(|model| model.is_virtual())
    }

    /// Returns the model whose limits apply to the last request.
    fn limits_model(&self) -> Option<&Arc<Model>> {
        let routed = self.routed.as_ref().filter(|_| self.is_virtual());
        routed.or(self.model.as_ref())
    }
}

/// Messages that are accepted, but neither stored nor queued.
#[derive(Debug, Default)]
pub(super) struct WaitingMessages {
    /// For the end of the turn, where they do not separate a tool call from its result.
    pub custom: VecDeque<AgentMessage>,
    /// For the end of the run.
    pub bash: VecDeque<BashExecutionMessage>,
    /// For the next prompt.
    pub next_turn: Vec<AgentMessage>,
    /// Requests made while the session was settling or compacting.
    pub deferred: VecDeque<Deferred>,
}

/// A request to fulfill once the session is idle.
#[derive(Debug)]
pub(super) enum Deferred {
    Prompt(Prompt),
    Message(AgentMessage),
}

impl WaitingMessages {
    /// Returns the next message to append at the end of a run.
    pub(super) fn pop_at_end(&mut self) -> Option<AgentMessage> {
        let bash = self.bash.pop_front().map(AgentMessage::BashExecution);
        bash.or_else(|| self.custom.pop_front())
    }
}

impl Context {
    pub(super) fn new(selection: Selection) -> Self {
        Self {
            selection,
            ..Self::default()
        }
    }

    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub(super) fn push(&mut self, effect: Effect) {
        if self.effects.is_empty() {
            // Deltas of a response have one effect each, and effects are large.
            self.effects.reserve_exact(1);
        }
        self.effects.push(effect);
    }

    pub(super) fn emit(&mut self, event: AgentEvent) {
        self.push(Effect::Emit(SessionEvent::Agent(event)));
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        self.push(Effect::Reply(reply));
    }

    pub(super) fn reject(&mut self, rejection: Rejection) {
        self.reply(Reply::Rejected(rejection));
    }

    /// Queues a message that is shown, and replies.
    pub(super) fn enqueue(&mut self, message: AgentMessage, text: String, delivery: Delivery) {
        self.queue.push(message, Some(text), delivery);
        self.push(Effect::PublishQueue);
        self.reply(Reply::Queued);
    }

    /// Empties the queue. Exactly the messages it returns will not be delivered.
    pub(super) fn clear_queue(&mut self) {
        let cleared = self.queue.clear();
        self.push(Effect::PublishQueue);
        self.reply(Reply::Cleared(queued_texts(cleared.iter())));
    }

    /// Returns queued messages that were taken but not stored.
    pub(super) fn put_back_queued(&mut self) {
        if self.queue.put_back() {
            self.push(Effect::PublishQueue);
        }
    }

    /// Whether a failed response is going to be repeated.
    pub(super) fn is_retry_due(&self, message: &SharedMessage) -> bool {
        let model = self.selection.limits_model();
        let window = model.map_or(0, |model| model.context_window);
        self.retry.is_due(message, window)
    }

    /// Ends retrying, if an attempt was announced.
    pub(super) fn end_retry(&mut self, end: RetryEnd) {
        if let Some(event) = self.retry.end(end) {
            self.push(Effect::Publish(event));
        }
    }
}
