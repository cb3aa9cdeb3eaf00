//! Tools the model can call.

mod context;
mod exposure;
mod loadout;
mod nested;
mod progress;
mod source;

use futures_util::future::BoxFuture;
use pi_protocol::json::JsonObject;
use pi_protocol::{ReplayPolicy, Tool as ToolDeclaration, ToolOutput};
use serde::{Deserialize, Serialize};

pub use context::{CallId, ToolContext};
pub use exposure::{ReachedTools, ToolExposure, ToolMetadata, ToolNamespace};
pub use loadout::{LoadoutChanges, ToolLoadout};
pub use nested::{NestedScope, NestedSummary, NestedToolCall, NestedToolResult};
pub use progress::Progress;
pub use source::{RegisteredTool, ToolOrigin, ToolRegistry, ToolSource, merge_tools};

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

    /// Returns whether a call may run again if the process was killed during it.
    fn replay(&self) -> ReplayPolicy {
        ReplayPolicy::Never
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

    /// Returns changes of the declarations of the active tools. Called if the tool is active and registered with
    /// [`ToolMetadata::prepares_loadout`].
    fn prepare_loadout(&self, _loadout: ToolLoadout) -> BoxFuture<'_, LoadoutChanges> {
        Box::pin(std::future::ready(LoadoutChanges::default()))
    }

    /// Returns the tools that a call may reach. Read if the tool is registered with [`ToolMetadata::reaches_tools`].
    fn reached_tools(&self, _arguments: &JsonObject) -> ReachedTools {
        ReachedTools::None
    }

    /// Runs the tool with validated arguments. Cancellation is cooperative: the tool stops, cleans
    /// up and still returns.
    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
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
