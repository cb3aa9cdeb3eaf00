//! What a tool call receives in addition to its arguments.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{NestedScope, NestedToolCall, NestedToolResult, Progress};
use crate::environment::Environment;
use crate::session_services::SessionServices;

/// The ID that the model gave a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallId(Arc<str>);

impl CallId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The surroundings of one tool call. Clones refer to the same call.
#[derive(Clone)]
pub struct ToolContext {
    pub call: CallId,
    /// The session that runs the call.
    pub session: Arc<dyn SessionServices>,
    /// Where the call works.
    pub env: Arc<Environment>,
    /// Receives partial results.
    pub progress: Progress,
    pub cancel: CancellationToken,
    /// The calls of other tools that this call makes.
    pub nested: NestedScope,
}

impl ToolContext {
    pub fn new(
        call: impl Into<CallId>,
        session: Arc<dyn SessionServices>,
        env: Arc<Environment>,
    ) -> Self {
        Self {
            call: call.into(),
            session,
            env,
            progress: Progress::default(),
            cancel: CancellationToken::new(),
            nested: NestedScope::default(),
        }
    }

    /// Runs another tool of the session.
    pub async fn execute_tool(&self, call: NestedToolCall) -> NestedToolResult {
        self.session.execute_tool(self, call).await
    }
}
