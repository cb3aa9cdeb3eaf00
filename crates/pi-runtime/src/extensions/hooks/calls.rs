//! Hooks for tool calls and messages.

use pi_core::{
    DenialReason, FinishedToolCall, HookError, PendingToolCall, ReviewedToolCall, SharedMessage,
    ToolResultUpdate,
};
use pi_protocol::AgentMessage;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::ExtensionHooks;
use super::results::ResultData;

impl ExtensionHooks {
    pub(super) async fn handle_tool_call(
        &self,
        call: PendingToolCall,
        cancel: &CancellationToken,
    ) -> Result<ReviewedToolCall, HookError> {
        let result = self.emit_cancellable("tool_call", Some(cancel), || {
            json!({
                "toolName": call.call.name,
                "toolCallId": call.call.id,
                "input": call.arguments,
            })
        });
        let Some(result) = result.await else {
            return Ok(ReviewedToolCall::allow(call.arguments));
        };
        if let Some(failure) = result.get("failure").and_then(Value::as_str) {
            return Err(HookError::new(failure));
        }
        if result.get("block").is_some() {
            let reason = result.get("reason").and_then(Value::as_str);
            return Ok(ReviewedToolCall::deny(DenialReason {
                text: reason.map(str::to_owned),
                terminate: result.get("terminate") == Some(&Value::Bool(true)),
            }));
        }
        match result.get("input") {
            Some(Value::Object(input)) => Ok(ReviewedToolCall::allow(input.clone())),
            _ => Ok(ReviewedToolCall::allow(call.arguments)),
        }
    }

    pub(super) async fn handle_tool_result(
        &self,
        call: &FinishedToolCall,
        cancel: &CancellationToken,
    ) -> Result<ToolResultUpdate, HookError> {
        let result = self.emit_cancellable("tool_result", Some(cancel), || {
            json!({
                "toolName": call.pending.call.name,
                "toolCallId": call.pending.call.id,
                "input": call.pending.arguments,
                "content": call.output.content,
                "details": call.output.details,
                "isError": call.is_error,
                "usage": call.output.usage,
            })
        });
        let data = result.await.map(serde_json::from_value::<ResultData>);
        let Some(Ok(data)) = data else {
            return Ok(ToolResultUpdate::default());
        };
        Ok(ToolResultUpdate {
            content: data.content,
            details: data.details,
            is_error: data.is_error,
            usage: data.usage,
            terminate: None,
        })
    }

    pub(super) async fn handle_message_end(&self, message: &SharedMessage) -> Option<AgentMessage> {
        let event = || json!({ "message": message });
        let result = self.emit("message_end", event).await?;
        serde_json::from_value(result.get("message")?.clone()).ok()
    }
}
