//! Inputs of the machine.

use std::sync::Arc;

use pi_protocol::json::JsonObject;
use pi_protocol::{AgentMessage, AssistantMessageEvent, Model, ThinkingLevel};

use super::batch::CallOutcome;
use super::state::ToolSpec;
use crate::event::SharedMessage;
use crate::tool::ToolOutput;
use crate::turn::TurnDecision;

/// An event fed into the machine. The first three come from callers at any time, the others are
/// outcomes of effects.
#[derive(Debug, Clone)]
pub(crate) enum MachineInput {
    /// A message for the next turn.
    Steer(AgentMessage),
    /// A message for the point where the run would end.
    FollowUp(AgentMessage),
    /// Ends the run as soon as it can end in a valid state.
    Abort,
    /// A hook failed; the run cannot continue.
    Failed(String),
    /// A hook replaced a message before its `message_end`.
    MessageReplaced {
        /// The message in the transcript.
        old: SharedMessage,
        /// Its replacement.
        new: SharedMessage,
    },
    /// A message could not be finished; it and everything after it are discarded.
    MessageRejected {
        message: SharedMessage,
        error: String,
    },
    /// Outcome of `Resume`.
    Resumed,
    /// Outcome of `PrepareNextTurn`.
    NextTurnPrepared(ContextUpdate),
    /// Outcome of `PrepareRequest`.
    RequestPrepared(ContextUpdate),
    /// An event of `Stream`; fed many times.
    Stream(AssistantMessageEvent),
    /// Outcome of `Preflight`.
    Preflighted(PreflightOutcome),
    /// A partial result of a running call.
    ToolUpdated(usize, ToolOutput),
    /// Outcome of `Execute`.
    ToolFinished(usize, CallOutcome),
    /// Outcome of `FinishTurn`.
    TurnFinished(TurnDecision),
    /// Outcome of `Finish`, after the listeners of `agent_end`.
    Settled,
}

/// Changes a hook makes before a turn or a request; `None` leaves the value unchanged.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContextUpdate {
    /// A new transcript, after a compaction for example.
    pub transcript: Option<Vec<SharedMessage>>,
    /// Messages to append; each emits its own events.
    pub messages: Vec<AgentMessage>,
    pub tools: Option<Vec<ToolSpec>>,
    pub model: Option<Arc<Model>>,
    pub thinking_level: Option<ThinkingLevel>,
}

#[derive(Debug, Clone)]
pub(crate) enum PreflightOutcome {
    /// The call may run with these arguments.
    Ready(JsonObject),
    /// The call ended before it started: unknown tool, invalid arguments, blocked or aborted.
    Refused(ToolOutput),
}
