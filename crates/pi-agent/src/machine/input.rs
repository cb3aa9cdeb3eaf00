//! What the machine is told.

use std::sync::Arc;

use pi_ai::json::JsonObject;
use pi_ai::{AgentMessage, AssistantMessageEvent, Model, ThinkingLevel};

use super::batch::CallOutcome;
use super::state::ToolSpec;
use crate::event::SharedMessage;
use crate::tool::ToolOutput;
use crate::turn::TurnDecision;

/// Something that happened. The first three come from callers at any moment, the rest answer
/// effects.
#[derive(Debug, Clone)]
pub(crate) enum MachineInput {
    /// A message for the next turn.
    Steer(AgentMessage),
    /// A message for when the run would end.
    FollowUp(AgentMessage),
    /// The run shall end as soon as it validly can.
    Abort,
    /// A hook failed; the run cannot go on.
    Failed(String),
    /// A hook put another message in the place of one whose end is being told.
    MessageReplaced {
        /// The message as the machine knows it.
        was: SharedMessage,
        /// What it has become.
        is: SharedMessage,
    },
    /// A message could not be finished; it and what came after it do not count.
    MessageRefused {
        message: SharedMessage,
        error: String,
    },
    /// Answers `Resume`.
    Resumed,
    /// Answers `PrepareNextTurn`.
    NextTurnPrepared(ContextUpdate),
    /// Answers `PrepareRequest`.
    RequestPrepared(ContextUpdate),
    /// Answers `Stream`, many times.
    Stream(AssistantMessageEvent),
    /// Answers `Preflight`.
    Preflighted(PreflightOutcome),
    /// A running call has something to show.
    ToolUpdated(usize, ToolOutput),
    /// Answers `Execute`.
    ToolFinished(usize, CallOutcome),
    /// Answers `FinishTurn`.
    TurnFinished(TurnDecision),
    /// Answers `Finish`, after the listeners of `agent_end`.
    Settled,
}

/// What a hook changes before a turn or a request; what is absent stays.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContextUpdate {
    /// Another transcript, after a compaction for instance.
    pub transcript: Option<Vec<SharedMessage>>,
    /// Messages to append, with events of their own.
    pub messages: Vec<AgentMessage>,
    pub tools: Option<Vec<ToolSpec>>,
    pub model: Option<Arc<Model>>,
    pub thinking_level: Option<ThinkingLevel>,
}

/// What checking a call came to.
#[derive(Debug, Clone)]
pub(crate) enum PreflightOutcome {
    /// The call may run with these arguments.
    Ready(JsonObject),
    /// The call is over before it began: unknown tool, bad arguments, blocked, aborted.
    Refused(ToolOutput),
}
