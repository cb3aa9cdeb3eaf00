//! Test helpers that call tools like the agent loop does.

use std::sync::Arc;

use pi_core::{Environment, NoSession, Tool, ToolContext, ToolError, validate_arguments};
use pi_protocol::{InputBlock, ToolOutput};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::context::SharedImagePolicy;
use crate::edit::EditTool;
use crate::find::FindTool;
use crate::grep::GrepTool;
use crate::ls::LsTool;
use crate::memory::{MemoryFiles, MemoryProcesses};
use crate::mutation_queue::MutationQueue;
use crate::read::ReadTool;
use crate::search::FileSearch;
use crate::write::WriteTool;

/// Files in memory, with the working directory `/project` and the home directory `/home/me`.
pub(crate) struct TestProject {
    pub(crate) images: SharedImagePolicy,
    mutations: MutationQueue,
    cx: ToolContext,
}

/// A tool and the context of its calls.
pub(crate) struct BoundTool {
    tool: Box<dyn Tool>,
    cx: ToolContext,
}

impl TestProject {
    pub(crate) fn new(files: &MemoryFiles) -> Self {
        let files = Arc::new(files.clone());
        let environment = Environment {
            files: files.clone(),
            processes: Arc::new(MemoryProcesses::default()),
            search: Arc::new(FileSearch(files)),
            vars: pi_core::Variables::new(),
            home: Some("/home/me".into()),
        };
        let session = Arc::new(NoSession::at("/project"));
        Self {
            images: SharedImagePolicy::default(),
            mutations: MutationQueue::default(),
            cx: ToolContext::new("call_1", session, Arc::new(environment)),
        }
    }

    fn bind(&self, tool: impl Tool + 'static) -> BoundTool {
        BoundTool {
            tool: Box::new(tool),
            cx: self.cx.clone(),
        }
    }

    pub(crate) fn read(&self) -> BoundTool {
        self.bind(ReadTool::new(self.images.clone()))
    }

    pub(crate) fn write(&self) -> BoundTool {
        self.bind(WriteTool::new(self.mutations.clone()))
    }

    pub(crate) fn edit(&self) -> BoundTool {
        self.bind(EditTool::new(self.mutations.clone()))
    }

    pub(crate) fn grep(&self) -> BoundTool {
        self.bind(GrepTool::default())
    }

    pub(crate) fn find(&self) -> BoundTool {
        self.bind(FindTool::default())
    }

    pub(crate) fn ls(&self) -> BoundTool {
        self.bind(LsTool::default())
    }
}

/// Prepares and validates the arguments, then runs the tool.
pub(crate) async fn call(tool: &BoundTool, arguments: Value) -> Result<ToolOutput, ToolError> {
    call_with_token(tool, arguments, CancellationToken::new()).await
}

pub(crate) async fn call_with_token(
    tool: &BoundTool,
    arguments: Value,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments must be an object")
    };
    let BoundTool { tool, cx } = tool;
    let arguments = validate_arguments(tool.declaration(), tool.prepare_arguments(arguments))
        .map_err(|error| ToolError::new(error.to_string()))?;
    let cx = ToolContext {
        cancel,
        ..cx.clone()
    };
    tool.call(cx, arguments).await
}

/// Returns the text of a result, which is its first block.
pub(crate) fn text(output: &ToolOutput) -> &str {
    match output.content.first() {
        Some(InputBlock::Text(text)) => &text.text,
        other => panic!("expected text, got {other:?}"),
    }
}
