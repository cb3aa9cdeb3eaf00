//! Calls a tool the way the loop does, for tests.

use std::sync::Arc;

use pi_agent::{Tool, ToolError, ToolOutput, UpdateSink, validate_arguments};
use pi_ai::InputBlock;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::context::ToolContext;
use crate::operations::MemoryFiles;
use crate::paths::PathBase;

/// A context over files in memory, in `/project` with the home `/home/me`.
pub(crate) fn memory_context(files: &MemoryFiles) -> ToolContext {
    let paths = PathBase {
        cwd: "/project".into(),
        home: Some("/home/me".into()),
    };
    ToolContext::new(paths, Arc::new(files.clone()))
}

/// Prepares and checks the arguments, then runs the tool.
pub(crate) async fn call(tool: &dyn Tool, arguments: Value) -> Result<ToolOutput, ToolError> {
    call_until(tool, arguments, CancellationToken::new()).await
}

/// The same, with a token.
pub(crate) async fn call_until(
    tool: &dyn Tool,
    arguments: Value,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    let arguments = validate_arguments(tool.declaration(), tool.prepare_arguments(arguments))
        .map_err(|error| ToolError::new(error.to_string()))?;
    tool.execute("call_1", arguments, UpdateSink::default(), cancel)
        .await
}

/// The text of a result, its first block.
pub(crate) fn text(output: &ToolOutput) -> &str {
    match output.content.first() {
        Some(InputBlock::Text(text)) => &text.text,
        other => panic!("expected a text, found {other:?}"),
    }
}
