//! One session as a pure state machine, and the driver that performs its effects.
//!
//! [`Machine`] decides what a session does next; it has no files, tasks, clock or model. The driver performs its
//! effects through a backend and feeds the outcomes back. Tools implement [`Tool`].

mod barrier;
mod driver;
mod environment;
mod error;
mod event_log;
mod joined_update;
mod machine;
mod model_message;
mod prompt;
mod queue;
mod request_phase;
mod retry_end;
mod session_services;
mod start_order;
mod tool;
mod tool_call;
mod turn;
mod validation;

pub use barrier::{BarrierPoint, OpenCall, OpenTurn};
pub use driver::{Backend, Control, LaneReply, PendingReply, PreparedRun, run_nested_call, submit};
pub use environment::{
    DirectoryEntry, Environment, ExitCode, FileError, FileFuture, FileKind, FileOperations,
    FileStatus, FoundLine, FoundLines, FoundPath, FoundPaths, LineQuery, MatchedFile,
    ObservedChange, OpenFile, PathQuery, ProcessError, ProcessOperations, SearchError,
    SearchFuture, SearchOperations, ShellCommand, ShellLanguage, UnreadablePaths, Variables,
};
pub use error::HookError;
pub use event_log::{EventLog, GrowingMessage, Observed, Observer};
pub use joined_update::join_waiting;
pub use machine::{
    AnswerError, CallOutcome, CancelScope, CompactionJob, ContextCheck, ConversationTail,
    CustomDelivery, CustomInput, CustomMessageOptions, Effect, Input, Machine, OmitTarget, Outcome,
    PreflightOutcome, PromptInput, Rejection, Reply, RunFailure, RunTrigger, Selection,
};
pub use model_message::model_message;
pub use prompt::{InputSource, Prompt, PromptOutcome};
pub use queue::{MessageQueue, Queued};
pub use session_services::{
    InteractionUnavailable, NoSession, SessionServices, UserAnswer, UserQuestion,
};
pub use start_order::StartOrder;
pub use tool::{
    CallId, ExecutionMode, LoadoutChanges, NestedScope, NestedSummary, NestedToolCall,
    NestedToolResult, Progress, ReachedTools, RegisteredTool, Tool, ToolContext, ToolError,
    ToolExposure, ToolLoadout, ToolMetadata, ToolNamespace, ToolOrigin, ToolRegistry, ToolSource,
    merge_tools,
};
pub use tool_call::{
    Decision, DenialReason, FinishedToolCall, PendingToolCall, ReviewedToolCall, ToolResultUpdate,
};
pub use turn::{ActivityOutcome, FinishedTurn, TurnDecision};
pub use validation::{ArgumentError, validate_arguments};
