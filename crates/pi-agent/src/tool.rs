//! A tool: what the model may call and what runs when it does.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pi_ai::json::JsonObject;
use pi_ai::{InputBlock, Tool as ToolDeclaration, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::event::text_blocks;

/// Something the model may call.
///
/// A failure is a result for the model, not an error of the run: return [`ToolError`] and the loop
/// goes on.
pub trait Tool: Send + Sync {
    /// Returns name, description and argument schema, as the model sees them.
    fn declaration(&self) -> &ToolDeclaration;

    /// Returns a name for people.
    fn label(&self) -> &str {
        &self.declaration().name
    }

    /// Says whether the tool may run beside others.
    fn execution_mode(&self) -> ExecutionMode {
        ExecutionMode::Parallel
    }

    /// Mends arguments before they are checked against the schema.
    fn prepare_arguments(&self, arguments: JsonObject) -> JsonObject {
        arguments
    }

    /// Mends arguments where that takes time, because the code is somebody else's. A failure is
    /// told to the model.
    fn prepare(&self, arguments: JsonObject) -> BoxFuture<'_, Result<JsonObject, ToolError>> {
        Box::pin(std::future::ready(Ok(self.prepare_arguments(arguments))))
    }

    /// Runs the tool. Cancelling is a request: the tool stops, cleans up and still returns.
    fn execute<'a>(
        &'a self,
        call_id: &'a str,
        arguments: JsonObject,
        updates: UpdateSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// Whether tool calls of one answer run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    #[default]
    Parallel,
    /// One after the other; one such tool makes its whole batch sequential.
    Sequential,
}

/// What a tool returns, at the end or along the way.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolOutput {
    /// Text and images for the model.
    #[serde(default)]
    pub content: Vec<InputBlock>,
    /// Data for the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Tokens the tool itself used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Asks to end the run after this batch; it does when every result of the batch asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminate: Option<bool>,
}

impl ToolOutput {
    /// Creates a result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: text_blocks(text),
            ..Self::default()
        }
    }

    /// Creates the result of a call that was cancelled before it ran.
    pub(crate) fn aborted() -> Self {
        Self::failure(ABORTED_CALL)
    }

    /// Creates the result of a failed call.
    pub fn failure(text: impl Into<String>) -> Self {
        Self {
            content: text_blocks(text),
            details: Some(Value::Object(JsonObject::new())),
            ..Self::default()
        }
    }
}

/// What is said of calls that were cancelled before they ran.
const ABORTED_CALL: &str = "Operation aborted";

/// A tool's failure, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl ToolError {
    /// Creates a failure with the given words.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// More than any tool has in flight while listeners keep up. Beyond it the newest update replaces
/// the one before: only the latest state matters, and memory stays bounded.
const UPDATES_IN_FLIGHT: usize = 64;

/// Takes the partial results of one running call.
#[derive(Clone, Default)]
pub struct UpdateSink(Arc<UpdateQueue>);

#[derive(Default)]
struct UpdateQueue {
    state: Mutex<UpdateState>,
    changed: Notify,
}

#[derive(Default)]
struct UpdateState {
    updates: VecDeque<ToolOutput>,
    closed: bool,
}

impl std::fmt::Debug for UpdateSink {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("UpdateSink")
    }
}

impl UpdateSink {
    /// Shows a partial result; ignored once the call has ended.
    pub fn send(&self, partial: ToolOutput) {
        {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.closed {
                return;
            }
            if state.updates.len() >= UPDATES_IN_FLIGHT {
                state.updates.pop_back();
            }
            state.updates.push_back(partial);
        }
        self.0.changed.notify_one();
    }

    /// Waits for the next partial result.
    pub async fn next(&self) -> ToolOutput {
        loop {
            if let Some(partial) = self.take() {
                return partial;
            }
            self.0.changed.notified().await;
        }
    }

    /// Takes a partial result that is already there, for those who run a tool without an agent.
    pub fn take(&self) -> Option<ToolOutput> {
        self.0
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .updates
            .pop_front()
    }

    /// Ignores everything sent from here on.
    pub(crate) fn close(&self) {
        self.0
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .closed = true;
    }
}
