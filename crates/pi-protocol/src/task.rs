//! Sub-agents: what clients see of the work that a session delegates.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A sub-agent of a session and what it does at the moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// The ID of its session. `pi attach ID` follows and steers it while it runs.
    pub id: String,
    /// The name of its agent.
    pub agent: String,
    /// The first line of its prompt.
    pub title: String,
    /// The tool call that started it.
    pub tool_call_id: String,
    pub state: TaskState,
    /// The tool that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Number of responses of its model.
    pub turns: u32,
    /// Tokens of all its requests.
    pub tokens: u64,
    /// In US dollars.
    pub cost: f64,
    /// Whether the call that started it has returned without its result.
    pub background: bool,
    /// Its session file; absent if it has none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::lossy_path::optional"
    )]
    pub session_file: Option<PathBuf>,
    /// The git worktree in which it works.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::lossy_path::optional"
    )]
    pub worktree: Option<PathBuf>,
    /// Why it has no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TaskState {
    /// Waits until another sub-agent has ended.
    Queued,
    Running,
    /// Waits for an answer of the user.
    Asking,
    Completed,
    Failed,
    /// Stopped by the user, a limit or the end of the session.
    Stopped,
}

impl TaskState {
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Stopped)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Asking => "asking",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}
