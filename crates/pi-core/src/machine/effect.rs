//! Effects requested by the machine.

use std::time::Duration;

use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentMessage, CompactionReason, EntryId, ImageContent, QueuedTexts, RecoveryFailure,
    RecoveryState, Request, RequestId, SessionEvent, SharedMessage, ToolCall,
};

use super::input::Input;
use crate::barrier::BarrierPoint;
use crate::prompt::Prompt;
use crate::turn::FinishedTurn;

/// What starts a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunTrigger {
    Prompt {
        text: String,
        images: Vec<ImageContent>,
    },
    /// A message of an extension.
    Message(AgentMessage),
}

/// An action for the driver.
///
/// The effects of one input are performed in order, in the lane that fed it. Effects marked with an outcome
/// are followed by exactly one [`Input::Outcome`](super::Input::Outcome) in the same lane, and the machine returns
/// at most one of them at a time; only [`Effect::Execute`] and [`Effect::Ask`] run concurrently with others.
#[derive(Debug)]
pub enum Effect {
    /// Let the hooks process the event, then publish it.
    Emit(SessionEvent),
    /// Publish the event.
    Publish(SessionEvent),
    /// Publish the current queue.
    PublishQueue,
    /// Complete the request of this lane. What follows belongs to the run and does not delay the caller.
    Reply(Reply),
    /// Wait until the session has settled, then feed the input again.
    AwaitSettled(Box<Input>),
    /// Cancel work in progress, or work of this kind that is about to start.
    Cancel(CancelScope),
    /// Run the command or the input hooks of a prompt that was deferred until the session settled. Outcome:
    /// `DeferredResolved`.
    SubmitDeferred(Box<Prompt>),

    /// Check that the selected model can be used. Outcome: `PromptChecked`.
    CheckPrompt,
    /// Run the start hooks and build the first messages. Outcome: `RunPrepared`.
    PrepareRun(RunTrigger),

    /// Append a message of a client, outside of a run.
    AppendNow(AgentMessage),
    /// Append a message that waited for this point. Outcome: `Appended`.
    Append(AgentMessage),
    /// Build the system message that announces changes of prompt and tools. Outcome: `Composed`.
    Compose,
    /// Let the hooks replace a complete message, then store it. Outcome: `Recorded`.
    Record(SharedMessage),
    /// Do nothing. Outcome: `Continued`, after the hooks of the events before it.
    Continue,
    /// Choose the model that answers the next request of a virtual model. Outcome: `Routed`.
    Route,
    /// Wait until the supervisor of the session lets the run proceed. Outcome: `BarrierPassed`.
    Barrier(BarrierPoint),
    /// Wait until the supervisor has acknowledged the end of the run.
    ConfirmSettled,
    /// Call the model. Outcome: any number of `Response`, the last of which is terminal, or `RequestFailed`.
    Stream,
    /// Validate a call and decide about it. Outcome: `Preflighted`.
    Preflight(ToolCall),
    /// Run a call. Outcome: any number of `ToolUpdated` and one `ToolFinished`.
    Execute {
        /// The index of the call in the batch.
        index: usize,
        call: ToolCall,
        arguments: JsonObject,
    },
    /// Publish the request of a call. Outcome: `Answered`, once it is answered or canceled.
    Ask(Request),
    /// Continue the call whose request was answered or canceled, in the lane that asked.
    Resolve(RequestId),
    /// Let the hooks decide about the end of a turn. Outcome: `TurnFinished`.
    FinishTurn(FinishedTurn),

    /// Decide whether the context must be compacted. Outcome: `ContextChecked`.
    CheckContext(ContextCheck),
    /// Omit entries from the context. Outcome: `Omitted`.
    Omit(OmitTarget),
    /// Find out whether there is anything to compact. Outcome: `CompactionPlanned`.
    PlanCompaction,
    /// Write and store a summary. Outcome: `Compacted`.
    Compact(CompactionJob),
    /// Publish the result of the last `Compact`, and notify the hooks if it failed.
    EndCompaction(CompactionJob),
    /// Publish that a context cannot be recovered.
    FailRecovery(RecoveryFailure),
    /// Wait. Outcome: `Slept`.
    Sleep(Duration),

    /// Find out how the conversation ends. Outcome: `TailRead`.
    ReadTail,
    /// Read the last turn, whose calls may lack results. The calls with these IDs have started before. Outcome:
    /// `OpenTurnRead`.
    ReadOpenTurn { begun: Vec<String> },
    /// Let the hooks decide whether to settle. Outcome: `SettleDecided`.
    BeforeSettle,
    /// Reload the conversation, dropping messages that could not be stored.
    Reload,
    /// Report a failure that no caller receives.
    Report(RunFailure),
    /// Forget what hooks set for this run only.
    EndRun,
}

impl Effect {
    /// Whether the machine waits for exactly one outcome in the same lane.
    pub(crate) fn has_outcome(&self) -> bool {
        match self {
            Self::SubmitDeferred(_)
            | Self::CheckPrompt
            | Self::PrepareRun(_)
            | Self::Append(_)
            | Self::Compose
            | Self::Record(_)
            | Self::Continue
            | Self::Route
            | Self::Barrier(_)
            | Self::Stream
            | Self::Preflight(_)
            | Self::FinishTurn(_)
            | Self::CheckContext(_)
            | Self::Omit(_)
            | Self::PlanCompaction
            | Self::Compact(_)
            | Self::Sleep(_)
            | Self::ReadTail
            | Self::ReadOpenTurn { .. }
            | Self::BeforeSettle => true,
            Self::Emit(_)
            | Self::Publish(_)
            | Self::PublishQueue
            | Self::Reply(_)
            | Self::AwaitSettled(_)
            | Self::Cancel(_)
            | Self::AppendNow(_)
            | Self::ConfirmSettled
            | Self::Execute { .. }
            | Self::Ask(_)
            | Self::Resolve(_)
            | Self::EndCompaction(_)
            | Self::FailRecovery(_)
            | Self::Reload
            | Self::Report(_)
            | Self::EndRun => false,
        }
    }
}

/// Work that can be canceled on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CancelScope {
    /// The run, or the preparation of one, with everything in it.
    Run,
    /// The delay before the next attempt.
    Retry,
    Compaction,
    Navigation,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A run has started.
    Started,
    /// The message is queued, or deferred until the session has settled.
    Queued,
    /// The request is complete.
    Done,
    Cleared(QueuedTexts),
    Rejected(Rejection),
    AnswerRejected(AnswerError),
}

/// Why an answer to a request has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("no request waits for this answer")]
    Unknown,
    #[error("another client has answered first")]
    AlreadyAnswered,
    #[error("this request expects {expected}")]
    Invalid { expected: &'static str },
}

/// Why a request was rejected; nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    Closed,
    /// A run is in progress.
    Busy,
    /// A compaction or a move in the tree is in progress.
    Compacting,
    /// The check of the prompt failed; the driver has the error.
    CheckFailed,
    /// The prompt was canceled before its run started.
    Canceled,
    /// A hook or the backend panicked before the request was fulfilled.
    Crashed,
}

/// The point at which the context is checked.
#[derive(Debug, Clone)]
pub enum ContextCheck {
    BeforePrompt {
        recovery: RecoveryState,
    },
    BetweenTurns,
    /// A request of a virtual model was routed to a model, whose context window may be smaller.
    Routed,
    AfterRun {
        response: SharedMessage,
        tool_results: Vec<SharedMessage>,
        recovery: RecoveryState,
    },
}

#[derive(Debug, Clone)]
pub enum OmitTarget {
    /// The entry of a message of this run.
    Message(SharedMessage),
    Entries(Vec<EntryId>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionJob {
    pub reason: CompactionReason,
    /// Whether the failed request is sent again afterwards.
    pub will_retry: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RunFailure {
    #[error("no message to continue from: send a prompt first")]
    NothingToContinue,
}
