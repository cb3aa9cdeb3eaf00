//! One session as a pure state machine, and the driver that performs its effects.
//!
//! [`Machine`] decides what a session does next; it has no files, tasks, clock or model. The driver performs its
//! effects through a backend and feeds the outcomes back. Tools implement [`Tool`].

mod driver;
mod error;
mod event;
mod event_log;
mod machine;
mod prompt;
mod queue;
mod request_phase;
mod session_event;
mod tool;
mod tool_call;
mod turn;
mod validation;

pub use driver::{Backend, Control, LaneReply, PendingReply, PreparedRun, SessionActivity, submit};
pub use error::HookError;
pub use event::{AgentEvent, SharedMessage, model_message};
pub use event_log::{Cursor, Envelope, EventLog, Observed, Observer};
pub use machine::{
    ActivityKind, AnswerError, CallOutcome, CancelScope, CompactionJob, ContextCheck,
    ConversationTail, CustomDelivery, CustomInput, CustomMessageOptions, Effect, Input, Machine,
    OmitTarget, Outcome, PreflightOutcome, PromptInput, Rejection, Reply, RunFailure, Selection,
};
pub use prompt::{InputSource, Prompt, PromptOutcome};
pub use queue::{Delivery, MessageQueue, QueueId, QueueMode, Queued, QueuedTexts};
pub use session_event::{CompactionOutcome, SessionEvent, SummarySource, UpdateFormat};
pub use tool::{ExecutionMode, Tool, ToolError, ToolOutput, UpdateSink};
pub use tool_call::{
    Decision, DenialReason, FinishedToolCall, PendingToolCall, ReviewedToolCall, ToolResultUpdate,
};
pub use turn::{ActivityOutcome, FinishedTurn, TurnDecision};
pub use validation::{ArgumentError, validate_arguments};
