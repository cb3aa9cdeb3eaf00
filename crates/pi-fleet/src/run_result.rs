//! Results: the lines of `results.jsonl`.

use serde::{Deserialize, Serialize};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    pub task: String,
    /// Batch and task.
    pub run: String,
    pub status: RunStatus,
    /// 0 if the agent finished without an error.
    pub exit: i32,
    #[serde(default)]
    pub verify: Option<VerifyResult>,
    pub turns: u64,
    /// In US dollars.
    pub cost: f64,
    pub usage: RunUsage,
    pub attempts: u32,
    /// Requests whose response was lost because a process was killed.
    pub cut_requests: u32,
    /// Calls that may have run in part.
    pub interrupted_calls: u32,
    pub workers: Vec<String>,
    #[serde(default)]
    pub session: Option<String>,
    #[serde(default)]
    pub patch: Option<String>,
    pub artifacts: Vec<String>,
    #[serde(default)]
    pub error: Option<String>,
}

impl RunResult {
    pub(crate) fn batch(&self) -> String {
        let batch = self.run.split('/').next();
        batch.unwrap_or_default().to_owned()
    }

    /// Returns the paths of its files in the directory of the batch.
    pub(crate) fn files(&self) -> Vec<String> {
        let artifacts = self.artifacts.iter();
        let artifacts = artifacts.map(|name| format!("artifacts/{}/{name}", self.task));
        let files = self.session.iter().chain(&self.patch).cloned();
        files.chain(artifacts).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    Done,
    /// The agent ended with an error, or the check failed.
    Failed,
    /// A limit was reached; the error names it.
    Limit,
    Canceled,
    /// The run was started too often without a new response.
    Poisoned,
}

impl RunStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Limit => "limit",
            Self::Canceled => "canceled",
            Self::Poisoned => "poisoned",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyResult {
    /// -1 if a signal ended the command.
    pub exit: i32,
    pub seconds: u64,
}

/// Tokens of all responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunUsage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
}
