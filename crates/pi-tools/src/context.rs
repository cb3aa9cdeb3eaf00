//! What every tool is made with, and the small things all of them say and do.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pi_agent::ToolError;
use pi_ai::json::JsonObject;
use pi_ai::{ConstrainedSampling, Strictness, Tool as ToolDeclaration};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::images::ImagePolicy;
use crate::mutation_queue::{MutationError, MutationQueue};
use crate::operations::{FileOperations, LocalFiles};
use crate::paths::{PathResolver, PathError};

/// What a tool works on. Clones share the queue and the image policy.
#[derive(Clone)]
pub struct ToolContext {
    /// Where relative paths start.
    pub paths: PathResolver,
    /// How files are reached.
    pub files: Arc<dyn FileOperations>,
    /// Where mutations of the same file wait for each other.
    pub mutations: MutationQueue,
    /// How images are shown to the model of the moment.
    pub images: SharedImagePolicy,
}

impl ToolContext {
    /// Works on this machine's files, from the given directory.
    pub fn local(cwd: impl Into<PathBuf>) -> Self {
        Self::new(PathResolver::new(cwd), Arc::new(LocalFiles))
    }

    /// Works on the given files.
    pub fn new(paths: PathResolver, files: Arc<dyn FileOperations>) -> Self {
        Self {
            paths,
            files,
            mutations: MutationQueue::default(),
            images: SharedImagePolicy::default(),
        }
    }
}

/// The image policy that holds now; the application changes it along with the model.
#[derive(Debug, Clone, Default)]
pub struct SharedImagePolicy(Arc<Mutex<ImagePolicy>>);

impl SharedImagePolicy {
    /// Returns the policy that holds now.
    pub fn get(&self) -> ImagePolicy {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets another policy hold from here on.
    pub fn set(&self, policy: ImagePolicy) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = policy;
    }
}

/// What a tool adds to the system prompt when it is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolPrompt {
    /// One line for the list of tools.
    pub snippet: &'static str,
    /// Advice on its use.
    pub guidelines: &'static [&'static str],
}

/// Reads checked arguments into a tool's own form.
pub(crate) fn parse_arguments<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ToolError::new(format!("The arguments do not fit the tool: {error}")))
}

/// Declares a tool whose arguments are best sampled under its schema.
pub(crate) fn declare_strict(name: &str, description: &str, parameters: Value) -> ToolDeclaration {
    ToolDeclaration {
        constrained_sampling: Some(ConstrainedSampling::JsonSchema(Strictness::Prefer)),
        ..declare(name, description, parameters)
    }
}

/// Declares a tool.
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
        Self::new(format!("The path {error}"))
    }
}

/// Returns the failure of a mutation that did not get its turn or broke down.
pub(crate) fn mutation_failure(verb: &str, path: &str, error: MutationError) -> ToolError {
    match error {
        MutationError::Cancelled => aborted(),
        MutationError::Path(error) => ToolError::new(format!("Cannot {verb} {path}: {error}")),
        MutationError::Failed(reason) => ToolError::new(format!("Cannot {verb} {path}: {reason}")),
    }
}

/// Returns the failure of a cancelled call.
pub(crate) fn aborted() -> ToolError {
    ToolError::new("Operation aborted")
}

/// Fails when the call was cancelled.
pub(crate) fn check_cancelled(cancel: &CancellationToken) -> Result<(), ToolError> {
    if cancel.is_cancelled() {
        return Err(aborted());
    }
    Ok(())
}
