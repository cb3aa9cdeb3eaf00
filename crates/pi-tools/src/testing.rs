//! Test helpers that call tools like the agent loop does.

use std::sync::Arc;

use pi_core::{Tool, ToolError, UpdateSink, validate_arguments};
use pi_protocol::{InputBlock, ToolOutput};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::context::ToolContext;
use crate::operations::MemoryFiles;
use crate::paths::PathResolver;

/// A context with in-memory files, the working directory `/project` and the home directory
/// `/home/me`.
pub(crate) fn memory_context(files: &MemoryFiles) -> ToolContext {
    let paths = PathResolver {
        cwd: "/project".into(),
        home: Some("/home/me".into()),
    };
    ToolContext::new(paths, Arc::new(files.clone()))
}

/// Prepares and validates the arguments, then runs the tool.
pub(crate) async fn call(tool: &dyn Tool, arguments: Value) -> Result<ToolOutput, ToolError> {
    call_with_token(tool, arguments, CancellationToken::new()).await
}

pub(crate) async fn call_with_token(
    tool: &dyn Tool,
    arguments: Value,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments must be an object")
    };
    let arguments = validate_arguments(tool.declaration(), tool.prepare_arguments(arguments))
        .map_err(|error| ToolError::new(error.to_string()))?;
    tool.execute("call_1", arguments, UpdateSink::default(), cancel)
        .await
}

/// Returns the text of a result, which is its first block.
pub(crate) fn text(output: &ToolOutput) -> &str {
    match output.content.first() {
        Some(InputBlock::Text(text)) => &text.text,
        other => panic!("expected text, got {other:?}"),
    }
}
