//! State of the machine.

use std::fmt;
use std::sync::Arc;

use pi_protocol::transcript::current_system_message;
use pi_protocol::{
    AgentMessage, LiveMessage, Message, Model, ThinkingLevel, Tool as ToolDeclaration,
};

use super::TurnOutcome;
use super::batch::Batch;
use crate::event::SharedMessage;
use crate::queue::MessageQueue;
use crate::tool::ExecutionMode;
use crate::turn::FinishedTurn;

/// State of the loop: transcript, queues, and the phase of the run.
pub(crate) struct Machine {
    pub transcript: Vec<SharedMessage>,
    pub tools: Vec<ToolSpec>,
    pub model: Arc<Model>,
    pub thinking_level: ThinkingLevel,
    pub execution_mode: ExecutionMode,
    pub steering: MessageQueue,
    pub follow_ups: MessageQueue,
    pub streaming: Option<LiveMessage>,
    pub error_message: Option<String>,
    pub(super) phase: Phase,
    pub(super) run: RunData,
    pub(super) clock: Box<dyn Fn() -> i64 + Send + Sync>,
}

impl fmt::Debug for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Machine")
            .field("phase", &self.phase)
            .field("messages", &self.transcript.len())
            .finish_non_exhaustive()
    }
}

impl Machine {
    pub(crate) fn new(model: Arc<Model>, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self {
            transcript: Vec::new(),
            tools: Vec::new(),
            model,
            thinking_level: ThinkingLevel::Off,
            execution_mode: ExecutionMode::default(),
            steering: MessageQueue::default(),
            follow_ups: MessageQueue::default(),
            streaming: None,
            error_message: None,
            phase: Phase::Idle,
            run: RunData::default(),
            clock: Box::new(clock),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    /// Returns the IDs of calls that have started and not finished.
    pub(crate) fn pending_calls(&self) -> Vec<String> {
        match &self.phase {
            Phase::RunningTools { batch, .. } => batch.open_call_ids(),
            _ => Vec::new(),
        }
    }

    /// Returns the last finished turn of this run.
    pub(crate) fn last_turn(&self) -> Option<&FinishedTurn> {
        self.run.last_turn.as_ref()
    }

    /// Returns the response whose tool calls are running.
    pub(crate) fn running_assistant_message(&self) -> Option<SharedMessage> {
        match &self.phase {
            Phase::RunningTools { response, .. } => Some(Arc::clone(response)),
            _ => None,
        }
    }

    /// Keeps the combined effect of the system messages and drops everything else.
    pub(crate) fn clear_conversation(&mut self) {
        let system: Vec<Message> = self
            .transcript
            .iter()
            .filter_map(|message| match &**message {
                AgentMessage::System(system) => Some(Message::System(system.clone())),
                _ => None,
            })
            .collect();
        self.transcript = current_system_message(&system)
            .map(|message| Arc::new(message.into()))
            .into_iter()
            .collect();
        self.steering.clear();
        self.follow_ups.clear();
        self.streaming = None;
        self.error_message = None;
    }

    pub(crate) fn now_ms(&self) -> i64 {
        (self.clock)()
    }
}

/// A tool, as far as the machine needs to know it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSpec {
    pub declaration: ToolDeclaration,
    /// Whether it must run alone.
    pub mode: ExecutionMode,
}

#[derive(Debug)]
pub(super) enum Phase {
    Idle,
    Polling(PollPoint),
    PreparingNextTurn,
    PreparingRequest,
    Streaming {
        started: bool,
    },
    RunningTools {
        response: SharedMessage,
        batch: Batch,
    },
    FinishingTurn {
        turn: FinishedTurn,
        outcome: TurnOutcome,
    },
    Ending,
}

/// A point where the queues are polled.
#[derive(Debug, Clone, Copy)]
pub(super) enum PollPoint {
    RunStart {
        skip: bool,
    },
    AfterTurn {
        calls_remain: bool,
        asked_to_continue: bool,
    },
}

#[derive(Debug, Default)]
pub(super) struct RunData {
    pub new_messages: Vec<SharedMessage>,
    pub pending: Vec<AgentMessage>,
    pub last_turn: Option<FinishedTurn>,
    pub aborted: bool,
}
