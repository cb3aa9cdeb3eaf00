//! Tools that an extension supplies for its own agent.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{ExecutionMode, Tool, ToolContext, ToolError};
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};

use crate::callbacks::AgentToolCall;
use crate::control::ToolRegistration;
use crate::jobs::JobCallback;
use crate::registration::ToolData;
use crate::tool::declaration;

struct AgentTool {
    callback: JobCallback,
    declaration: ToolDeclaration,
    label: String,
    mode: ExecutionMode,
}

/// Creates a tool from an extension's description.
pub(super) fn registered(callback: &JobCallback, data: &ToolData) -> ToolRegistration {
    let tool = AgentTool {
        callback: callback.clone(),
        declaration: declaration(data),
        label: data.label.clone().unwrap_or_else(|| data.name.clone()),
        mode: data.execution_mode.unwrap_or_default(),
    };
    ToolRegistration {
        tool: Arc::new(tool),
        snippet: data.prompt_snippet.clone(),
        guidelines: data.prompt_guidelines.clone().unwrap_or_default(),
        is_default_active: data.default_active.unwrap_or(true),
        metadata: data.metadata(),
    }
}

impl Tool for AgentTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn execution_mode(&self) -> ExecutionMode {
        self.mode
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let shared = self.callback.shared.upgrade();
            let shared =
                shared.ok_or_else(|| ToolError::new("the extension of this tool was unloaded"))?;
            let id = cx.call.clone();
            let call = AgentToolCall {
                name: &self.declaration.name,
                call_id: id.as_str(),
                arguments,
            };
            let run = |signal| self.callback.run_cancellable(&call, Some(signal));
            shared.run_tool(run, cx).await
        })
    }
}
