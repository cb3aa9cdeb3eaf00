//! Events a session emits to its front ends.
//!
//! The JSON form is the one of RPC and JSON mode, field by field. Agent events are forwarded
//! unchanged; the other events come from the session. Listeners are called after the change is
//! written to the session file.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent_event::{AgentEvent, SharedMessage};
use crate::entry::Entry;
use crate::id::{EntryId, SessionId};
use crate::interaction::{Answer, Request, RequestId};
use crate::json::present;
use crate::mcp::McpServerStatus;
use crate::queue::QueueMode;
use crate::task::TaskStatus;
use crate::thinking::ThinkingLevel;

mod compaction;
mod compatibility;

pub use compaction::{CompactionOutcome, CompactionReason, SummarySource};
pub use compatibility::UpdateFormat;

/// An event of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum SessionEvent {
    /// An agent run is over; the session may still continue on its own.
    AgentEnd {
        /// The messages added by this run.
        messages: Vec<SharedMessage>,
        /// Whether the session will retry after a delay.
        will_retry: bool,
    },
    /// The session has nothing left to do.
    AgentSettled {
        /// Whether the run was aborted.
        #[serde(default)]
        aborted: bool,
    },
    /// The queued messages changed.
    QueueUpdate {
        steering: Vec<String>,
        follow_up: Vec<String>,
    },
    /// An entry was appended that is not a message of the run.
    EntryAppended {
        entry: Arc<Entry>,
    },
    /// The session's name changed.
    SessionInfoChanged {
        /// The name; `None` if it was removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    ThinkingLevelChanged {
        level: ThinkingLevel,
    },
    CompactionStart {
        reason: CompactionReason,
    },
    /// A compaction ended or could not help.
    CompactionEnd {
        reason: CompactionReason,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<CompactionOutcome>>,
        aborted: bool,
        /// Whether the failed request is sent again.
        will_retry: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// A failed turn will be retried after a delay.
    AutoRetryStart {
        /// The attempt, starting at 1.
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        /// Why the turn failed.
        error_message: String,
    },
    /// Retrying ended.
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        /// The last error, if no attempt succeeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
        /// Whether the delay before the next attempt was canceled. Not sent to RPC clients.
        #[serde(skip)]
        canceled: bool,
    },
    /// A failed summary request will be retried after a delay.
    SummarizationRetryScheduled {
        /// The attempt, starting at 1.
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        /// Why the request failed.
        error_message: String,
    },
    /// The delay is over and the summary request is sent again.
    SummarizationRetryAttemptStart {
        #[serde(flatten)]
        source: SummarySource,
    },
    /// A summary request that had to be retried has finished.
    SummarizationRetryFinished,
    /// The user's shell command produced output.
    BashExecutionUpdate {
        /// The ID given with the command.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        id: Option<Value>,
        delta: String,
    },
    /// Another model is used from here on.
    ModelChanged {
        provider: String,
        model_id: String,
    },
    /// The label of an entry changed.
    LabelChanged {
        target_id: EntryId,
        /// The label; `None` if it was removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// The conversation continues at another entry. A summary of the branch that was left is that entry.
    LeafMoved {
        /// Absent before the first entry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        leaf_id: Option<EntryId>,
    },
    /// The model can call other tools from the next turn on.
    ActiveToolsChanged {
        tools: Vec<String>,
    },
    /// How many queued messages a turn takes has changed.
    QueueModesChanged {
        steering_mode: QueueMode,
        follow_up_mode: QueueMode,
    },
    /// A shell command of the user started.
    BashExecutionStart {
        /// The ID given with the command.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        id: Option<Value>,
        command: String,
        /// Whether the command is kept out of the model's context.
        exclude_from_context: bool,
    },
    /// A shell command of the user ended, or could not be started.
    BashExecutionEnd {
        /// The ID given with the command.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        id: Option<Value>,
        /// Absent if the process was killed or could not be started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        cancelled: bool,
        /// Why there is no result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// A tool call waits for approval.
    ApprovalRequested {
        request: Request,
    },
    /// A request for approval was answered, or canceled with its call.
    ApprovalResolved {
        request: RequestId,
        answer: Answer,
    },
    /// An extension asks the user.
    DialogRequested {
        request: Request,
    },
    /// A dialog was answered by a client or the front end, or canceled.
    DialogResolved {
        request: RequestId,
        answer: Answer,
    },
    /// The state of an MCP server changed.
    McpStatus {
        /// All servers.
        servers: Vec<McpServerStatus>,
    },
    /// The state of a sub-agent changed.
    TaskUpdate {
        task: Box<TaskStatus>,
    },
    /// Something that the user should know and that fails nothing, such as changed configuration files.
    SessionWarning {
        message: String,
    },
    /// Clients of other processes have connected or disconnected.
    ObserversChanged {
        count: usize,
    },
    /// Another session replaced this one; it accepts no more commands.
    SessionReplaced {
        /// The ID of the new session; the same one if the session was reloaded.
        session: SessionId,
        reason: ReplacementReason,
    },
    /// An agent event; never [`AgentEvent::AgentEnd`].
    #[serde(untagged)]
    Agent(AgentEvent),
}

/// Why a session was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ReplacementReason {
    /// A new session was started.
    New,
    /// Another session was resumed or imported.
    Resume,
    /// The session was forked or copied.
    Fork,
    /// The session was reloaded with current settings and resources.
    Reload,
}

#[cfg(test)]
mod tests;
