//! Shared state and helpers of all tools.

use std::sync::Arc;

use parking_lot::Mutex;
use pi_core::ToolError;
use pi_protocol::json::JsonObject;
use pi_protocol::{ConstrainedSampling, Strictness, Tool as ToolDeclaration};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::images::ImagePolicy;
use crate::mutation_queue::MutationError;
use crate::paths::PathError;

/// The current image policy, updated by the application.
#[derive(Debug, Clone, Default)]
pub struct SharedImagePolicy(Arc<Mutex<ImagePolicy>>);

impl SharedImagePolicy {
    pub fn get(&self) -> ImagePolicy {
        *self.0.lock()
    }

    pub fn set(&self, policy: ImagePolicy) {
        *self.0.lock() = policy;
    }
}

/// Text that a tool adds to the system prompt while it is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolPrompt {
    /// One line for the tool list.
    pub snippet: &'static str,
    /// Usage guidelines.
    pub guidelines: &'static [&'static str],
}

/// Parses validated arguments.
pub(crate) fn parse_arguments<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ToolError> {
    pi_protocol::json::from_value(&Value::Object(arguments))
        .map_err(|error| ToolError::new(format!("Invalid arguments: {error}")))
}

/// Declares a tool that prefers strict schema sampling for its arguments.
pub(crate) fn declare_strict(name: &str, description: &str, parameters: Value) -> ToolDeclaration {
    ToolDeclaration {
        constrained_sampling: Some(ConstrainedSampling::JsonSchema(Strictness::Prefer)),
        ..declare(name, description, parameters)
    }
}

pub(crate) fn declare(name: &str, description: &str, parameters: Value) -> ToolDeclaration {
    ToolDeclaration {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        constrained_sampling: None,
        extra: JsonObject::new(),
    }
}

impl From<PathError> for ToolError {
    fn from(error: PathError) -> Self {
        Self::new(format!("Invalid path: {error}"))
    }
}

/// Returns the error of a mutation that did not run or panicked.
pub(crate) fn mutation_failure(verb: &str, path: &str, error: MutationError) -> ToolError {
    match error {
        MutationError::Canceled => aborted(),
        MutationError::Path(error) => ToolError::new(format!("Cannot {verb} {path}: {error}")),
        MutationError::Failed(reason) => ToolError::new(format!("Cannot {verb} {path}: {reason}")),
    }
}

/// Returns the error of a canceled call.
pub(crate) fn aborted() -> ToolError {
    ToolError::new("Operation aborted")
}

/// Fails if the call was canceled.
pub(crate) fn check_canceled(cancel: &CancellationToken) -> Result<(), ToolError> {
    if cancel.is_cancelled() {
        return Err(aborted());
    }
    Ok(())
}
