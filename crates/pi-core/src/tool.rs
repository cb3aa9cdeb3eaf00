//! Tools the model can call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A tool the model can call.
///
/// A failure is a result for the model, not an error of the run: return [`ToolError`] and the loop
/// continues.
pub trait Tool: Send + Sync {
    /// Returns name, description and argument schema as sent to the model.
    fn declaration(&self) -> &ToolDeclaration;

    /// Returns a display name.
    fn label(&self) -> &str {
        &self.declaration().name
    }

    /// Returns whether the tool may run in parallel with others.
    fn execution_mode(&self) -> ExecutionMode {
        ExecutionMode::Parallel
    }

    /// Repairs arguments before they are validated against the schema.
    fn prepare_arguments(&self, arguments: JsonObject) -> JsonObject {
        arguments
    }

    /// Asynchronous variant of `prepare_arguments`, for tools implemented by extensions. An error
    /// is returned to the model.
    fn prepare(&self, arguments: JsonObject) -> BoxFuture<'_, Result<JsonObject, ToolError>> {
        Box::pin(std::future::ready(Ok(self.prepare_arguments(arguments))))
    }

    /// Runs the tool. Cancellation is cooperative: the tool stops, cleans up and still returns.
    fn execute<'a>(
        &'a self,
        call_id: &'a str,
        arguments: JsonObject,
        updates: UpdateSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// Whether the tool calls of one response run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    #[default]
    Parallel,
    /// One after the other. A single sequential tool makes the complete batch sequential.
    Sequential,
}

/// A tool failure; the message is sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl ToolError {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// More updates than any tool has in flight while listeners keep up. Beyond this, the newest update
/// replaces the previous one: only the latest state matters, and memory stays bounded.
const UPDATES_IN_FLIGHT: usize = 64;

/// Receives the partial results of one running call.
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
    /// Sends a partial result; ignored once the call has ended.
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

    pub async fn next(&self) -> ToolOutput {
        loop {
            if let Some(partial) = self.take() {
                return partial;
            }
            self.0.changed.notified().await;
        }
    }

    /// Takes a pending partial result without waiting, for callers that run a tool without an
    /// agent.
    pub fn take(&self) -> Option<ToolOutput> {
        self.0
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .updates
            .pop_front()
    }

    /// Ignores everything sent from now on.
    pub(crate) fn close(&self) {
        self.0
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .closed = true;
    }
}
