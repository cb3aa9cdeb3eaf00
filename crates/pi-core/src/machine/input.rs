//! Inputs of the machine.

use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentMessage, Answer, AssistantMessageEvent, BashExecutionMessage, CompactionDecision,
    Delivery, ImageContent, Request, RequestId, SharedMessage, ToolOutput,
};

use super::batch::CallOutcome;
use crate::barrier::OpenTurn;
use crate::prompt::{InputSource, Prompt};
use crate::turn::TurnDecision;

/// An event fed into the machine: a request of a client, or the outcome of an effect.
#[derive(Debug, Clone)]
pub enum Input {
    /// Starts a run, or queues the prompt during one. Input hooks and expansion are done.
    Prompt(PromptInput),
    /// Submits a prompt of a hook that runs while the session settles: it is handled afterwards.
    DeferPrompt(Prompt),
    /// Queues a message, also when the session is idle.
    Enqueue {
        message: AgentMessage,
        text: String,
        delivery: Delivery,
    },
    /// Adds a message of an extension.
    SendCustom(CustomInput),
    /// Stores the result of a user's shell command; during a run, when the run ends.
    BashFinished(BashExecutionMessage),
    /// Answers a request of a tool call. The first answer wins.
    Answer {
        request: RequestId,
        answer: Answer,
    },
    ClearQueue,
    /// Ends what is in progress as soon as it can end in a valid state. Queued messages are kept.
    Abort,
    /// Ends the run after its current turn, without canceling anything. Queued messages are kept.
    Pause,
    /// Starts a run that answers the last message, which is not a response.
    Resume,
    /// Starts a run that continues where a killed process has stopped: it runs the open calls of the last response,
    /// repeats a failed request or answers the last message. `begun` lists the calls that may have started.
    ResumeTurn {
        begun: Vec<String>,
    },
    AbortRetry,
    AbortCompaction,
    AbortNavigation,
    /// Begins a compaction on request.
    Compact,
    /// Begins a move in the tree; `Outcome::Navigated` ends it.
    Navigate,
    /// Aborts, and rejects every later request.
    Close,
    Outcome(Outcome),
}

impl Input {
    /// Whether a closed session rejects it.
    pub(super) fn adds_work(&self) -> bool {
        match self {
            Self::Prompt(_)
            | Self::DeferPrompt(_)
            | Self::Enqueue { .. }
            | Self::SendCustom(_)
            | Self::BashFinished(_)
            | Self::Resume
            | Self::ResumeTurn { .. }
            | Self::Compact
            | Self::Navigate => true,
            Self::Answer { .. }
            | Self::ClearQueue
            | Self::Abort
            | Self::Pause
            | Self::AbortRetry
            | Self::AbortCompaction
            | Self::AbortNavigation
            | Self::Close
            | Self::Outcome(_) => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PromptInput {
    pub text: String,
    pub images: Vec<ImageContent>,
    /// The message to queue if a run is in progress.
    pub message: AgentMessage,
    /// How to queue the prompt; with `None` it is rejected during a run.
    pub delivery: Option<Delivery>,
    pub source: InputSource,
    /// Whether the caller cannot wait for the session to settle, because settling waits for the caller.
    pub is_in_hook: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CustomInput {
    pub message: AgentMessage,
    pub options: CustomMessageOptions,
}

/// When an extension's message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomDelivery {
    /// With the next turn.
    Steer,
    /// When the run would end.
    FollowUp,
    /// With the next prompt.
    NextTurn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CustomMessageOptions {
    /// Whether to call the model. If unset, the message joins the current run but starts none.
    pub trigger_turn: Option<bool>,
    pub deliver_as: Option<CustomDelivery>,
}

/// The outcome of an effect.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Whether the prompt passed the check.
    PromptChecked(bool),
    RunPrepared {
        /// The user's message.
        prompt: AgentMessage,
        /// Messages of the start hooks.
        added: Vec<AgentMessage>,
    },
    Appended,
    Composed(Result<Option<AgentMessage>, String>),
    /// The stored message, which may differ from the one to record.
    Recorded(Result<SharedMessage, String>),
    Continued,
    Response(AssistantMessageEvent),
    /// The request of a virtual model has a route, or why it has none.
    Routed(Result<(), String>),
    /// Whether the run proceeds; otherwise it ends here, without the effect that follows.
    BarrierPassed(bool),
    /// A hook failed before the request was sent.
    RequestFailed(String),
    Preflighted(PreflightOutcome),
    ToolUpdated(usize, ToolOutput),
    ToolFinished(usize, CallOutcome),
    /// A request of a call was answered or canceled; the call continues.
    Answered(RequestId),
    TurnFinished(TurnDecision),
    ContextChecked(CompactionDecision),
    /// Whether the entries are omitted now.
    Omitted(bool),
    /// Whether there is something to compact.
    CompactionPlanned(bool),
    /// Whether the summary is stored.
    Compacted(bool),
    /// Whether the delay has passed; otherwise it was canceled.
    Slept(bool),
    TailRead(ConversationTail),
    /// The last turn; `None` if other messages follow it.
    OpenTurnRead(Option<OpenTurn>),
    /// Whether a hook wants another turn.
    SettleDecided(bool),
    /// The deferred prompt to start; `None` if a command or hook completed it, or if it was rejected.
    DeferredResolved(Option<PromptInput>),
    Navigated,
    /// An effect of the lane that continues the activity panicked; it has no other outcome.
    Panicked(String),
}

#[derive(Debug, Clone)]
pub enum PreflightOutcome {
    /// The call may run with these arguments.
    Ready(JsonObject),
    /// The call may run with these arguments if a client approves it.
    Asks {
        request: Request,
        arguments: JsonObject,
    },
    /// The call ended before it started: unknown tool, invalid arguments, blocked or aborted.
    Refused(ToolOutput),
}

/// How the conversation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationTail {
    /// It has no messages except system messages.
    Empty,
    Response,
    /// A message the model can respond to.
    Pending,
}
