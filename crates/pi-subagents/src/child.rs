//! A sub-agent, from the call that starts it to its result.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use pi_config::AgentFile;
use pi_host::{AgentSession, Progress};
use pi_protocol::{TaskState, TaskStatus, ToolOutput, Usage};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::limits::LimitError;
use crate::worktree::KeptWorktree;

const MAX_TITLE: usize = 60;

/// A sub-agent.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) agent: Arc<AgentFile>,
    pub(crate) prompt: String,
    pub(crate) wants_worktree: bool,
    status: Mutex<TaskStatus>,
    /// The first reason wins.
    stopped: Mutex<Option<StopCause>>,
    pub(crate) cancel: CancellationToken,
}

/// Why a sub-agent is stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(crate) enum StopCause {
    #[error("the run that started it was interrupted")]
    Parent,
    #[error("the user stopped it")]
    User,
    #[error("{0}")]
    Limit(LimitError),
    #[error("the session has ended")]
    SessionEnd,
}

/// How a sub-agent ended. Its last message may help even if it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChildEnd {
    Completed(String),
    Failed {
        reason: String,
        output: Option<String>,
    },
    Stopped {
        reason: String,
        output: Option<String>,
    },
}

/// A sub-agent that has ended.
#[derive(Debug)]
pub(crate) struct EndedChild {
    pub(crate) child: Arc<Child>,
    pub(crate) end: ChildEnd,
    /// What it used, with its own sub-agents.
    pub(crate) usage: Usage,
    pub(crate) worktree: Option<KeptWorktree>,
    /// A file with the complete text, if it is too long for the result.
    pub(crate) text_file: Option<PathBuf>,
}

impl Child {
    pub(crate) fn new(
        agent: Arc<AgentFile>,
        prompt: String,
        wants_worktree: bool,
        call: String,
        background: bool,
    ) -> Self {
        let id = uuid::Uuid::new_v4().simple().to_string();
        let status = TaskStatus {
            // Short, because users type it.
            id: format!("task-{}", id.split_at(8).0),
            agent: agent.name.clone(),
            title: title(&prompt),
            tool_call_id: call,
            state: TaskState::Queued,
            tool: None,
            turns: 0,
            tokens: 0,
            cost: 0.0,
            background,
            session_file: None,
            worktree: None,
            error: None,
        };
        Self {
            agent,
            prompt,
            wants_worktree,
            status: Mutex::new(status),
            stopped: Mutex::default(),
            cancel: CancellationToken::new(),
        }
    }

    pub(crate) fn id(&self) -> String {
        self.status.lock().id.clone()
    }

    pub(crate) fn status(&self) -> TaskStatus {
        self.status.lock().clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut TaskStatus)) {
        change(&mut self.status.lock());
    }

    /// Makes the sub-agent end soon.
    pub(crate) fn stop(&self, cause: StopCause) {
        self.stopped.lock().get_or_insert(cause);
        self.cancel.cancel();
    }

    pub(crate) fn stop_cause(&self) -> Option<StopCause> {
        *self.stopped.lock()
    }
}

impl ChildEnd {
    pub(crate) fn state(&self) -> TaskState {
        match self {
            Self::Completed(_) => TaskState::Completed,
            Self::Failed { .. } => TaskState::Failed,
            Self::Stopped { .. } => TaskState::Stopped,
        }
    }

    /// Why there is no answer.
    pub(crate) fn problem(&self) -> Option<&str> {
        match self {
            Self::Completed(_) => None,
            Self::Failed { reason, .. } | Self::Stopped { reason, .. } => Some(reason),
        }
    }

    /// The answer, or the last message.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Completed(text) => Some(text),
            Self::Failed { output, .. } | Self::Stopped { output, .. } => output.as_deref(),
        }
    }
}

/// The sub-agents of one tool call, as the user sees them.
pub(crate) struct TaskCall {
    pub(crate) children: Vec<Arc<Child>>,
    pub(crate) progress: Progress,
    /// The session whose model made the call.
    pub(crate) session: AgentSession,
}

impl TaskCall {
    /// Shows what a sub-agent does: in the tool call, and to the clients of the session.
    pub(crate) async fn report(&self, child: &Child) {
        self.progress.send(self.partial_result());
        self.session.tools().publish_task(child.status()).await;
    }

    fn partial_result(&self) -> ToolOutput {
        let tasks: Vec<_> = self.children.iter().map(|child| child.status()).collect();
        let rows: Vec<_> = tasks.iter().map(row).collect();
        ToolOutput {
            details: Some(json!({ "tasks": tasks })),
            ..ToolOutput::text(rows.join("\n"))
        }
    }
}

/// Describes a sub-agent in one line.
pub(crate) fn row(task: &TaskStatus) -> String {
    let mut row = format!("{} {} {}", task.agent, task.id, task.state.name());
    if let Some(tool) = &task.tool {
        let more = format!(" {tool}");
        row.push_str(&more);
    }
    if task.turns > 0 {
        let more = format!(" · {} tokens · ${:.3}", task.tokens, task.cost);
        row.push_str(&more);
    }
    let more = format!(": {}", task.title);
    row.push_str(&more);
    row
}

/// Returns the first line of a prompt.
fn title(prompt: &str) -> String {
    let line = prompt.trim().lines().next().unwrap_or_default();
    match line.split_at(line.floor_char_boundary(MAX_TITLE)) {
        (all, "") => all.to_owned(),
        (start, _) => format!("{start}…"),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_first_reason_to_stop_wins() {
        let child = Child::new(
            Arc::default(),
            "Do\nthis".to_owned(),
            false,
            "c".to_owned(),
            false,
        );
        assert_eq!(child.stop_cause(), None);
        child.stop(StopCause::User);
        child.stop(StopCause::SessionEnd);
        assert_eq!(child.stop_cause(), Some(StopCause::User));
        assert!(child.cancel.is_cancelled());
        let status = child.status();
        assert_eq!(status.title, "Do");
        assert_eq!(status.id.len(), "task-12345678".len());
    }

    #[test]
    fn a_row_shows_state_tool_tokens_and_cost() {
        let child = Child::new(Arc::default(), "x".repeat(80), false, "c".to_owned(), false);
        child.change(|status| {
            status.id = "task-1".to_owned();
            status.agent = "general".to_owned();
            status.state = TaskState::Running;
            status.tool = Some("bash".to_owned());
            status.turns = 1;
            status.tokens = 1200;
            status.cost = 0.0126;
        });
        let title = "x".repeat(60);
        let expected = format!("general task-1 running bash · 1200 tokens · $0.013: {title}…");
        assert_eq!(row(&child.status()), expected);
    }
}
