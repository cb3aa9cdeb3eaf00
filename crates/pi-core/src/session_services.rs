//! What a tool may use of the session that runs it.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use pi_protocol::ToolCall;
use serde_json::Value;

use crate::error::HookError;
use crate::tool::{CallId, NestedToolCall, NestedToolResult, RegisteredTool, ToolContext};

/// The services of a session for its tools.
///
/// A session without a way to reach a user returns [`InteractionUnavailable`]; a tool must then
/// decide without an answer.
pub trait SessionServices: Send + Sync {
    /// Returns the ID of the session; `None` for a call outside of sessions.
    fn session_id(&self) -> Option<String>;

    /// Returns the working directory, which is absolute.
    fn cwd(&self) -> &Path;

    /// Asks the user and waits for the answer. Dropping the future withdraws the question. The
    /// default has no user.
    fn ask(
        &self,
        _question: UserQuestion,
    ) -> BoxFuture<'_, Result<UserAnswer, InteractionUnavailable>> {
        Box::pin(std::future::ready(Err(InteractionUnavailable)))
    }

    /// Lists the tools that a call may run.
    fn callable_tools(&self) -> Vec<RegisteredTool> {
        Vec::new()
    }

    /// Lists the tools of the session, active or not.
    fn registered_tools(&self) -> Vec<RegisteredTool> {
        Vec::new()
    }

    /// Returns the names of the active tools.
    fn active_tools(&self) -> Vec<String> {
        Vec::new()
    }

    /// Adds tools to the active ones; unknown names are ignored. The next request declares them.
    fn activate_tools(&self, _names: &[String]) {}

    /// Returns the data of the custom entries of a type on the current branch, oldest first.
    fn custom_entries(&self, _custom_type: &str) -> Vec<Value> {
        Vec::new()
    }

    /// Stores data in the session. A call outside of sessions stores nothing.
    fn append_custom_entry<'a>(
        &'a self,
        _custom_type: &'a str,
        _data: Value,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Runs another tool for a call in progress: with the checks and hooks of a call of the model,
    /// recorded on the result of the call instead of in the transcript. The default has no tools.
    fn execute_tool<'a>(
        &'a self,
        caller: &'a ToolContext,
        call: NestedToolCall,
    ) -> BoxFuture<'a, NestedToolResult> {
        let call = ToolCall {
            id: caller.nested.next_id(&caller.call),
            name: call.name,
            arguments: call.arguments,
            ..ToolCall::default()
        };
        let refused = NestedToolResult::refused(call, NO_TOOLS);
        Box::pin(std::future::ready(refused))
    }
}

/// Result of a nested call outside of sessions.
const NO_TOOLS: &str = "This call was not run: there is no session whose tools could be called.";

/// A question with a fixed set of answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    /// The tool call that asks.
    pub call: Option<CallId>,
    pub title: String,
    /// What the user needs to know to decide, such as the command to be run.
    pub detail: Option<String>,
    pub choices: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserAnswer {
    /// Index of the selected choice.
    Choice(usize),
    /// The question was closed without a choice.
    Dismissed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no user can be reached")]
pub struct InteractionUnavailable;

/// The services of a call outside of sessions: a working directory and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSession {
    cwd: PathBuf,
}

impl NoSession {
    pub fn at(cwd: impl Into<PathBuf>) -> Self {
        Self { cwd: cwd.into() }
    }
}

impl SessionServices for NoSession {
    fn session_id(&self) -> Option<String> {
        None
    }

    fn cwd(&self) -> &Path {
        &self.cwd
    }
}
