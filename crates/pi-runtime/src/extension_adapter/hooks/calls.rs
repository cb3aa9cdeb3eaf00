//! Hooks for tool calls and messages.

use pi_core::{
    FinishedToolCall, HookError, PendingToolCall, SharedMessage, ToolCallVerdict, ToolResultUpdate,
};
use pi_extensions::events::{MessageEnd, ToolCallEvent, ToolResultEvent};
use pi_protocol::AgentMessage;
use tokio_util::sync::CancellationToken;

use super::ExtensionHooks;

impl ExtensionHooks {
    pub(super) async fn handle_tool_call(
        &self,
        call: PendingToolCall,
        cancel: &CancellationToken,
    ) -> Result<ToolCallVerdict, HookError> {
        let event = || ToolCallEvent {
            tool_name: &call.call.name,
            tool_call_id: &call.call.id,
            input: &call.arguments,
        };
        let Some(result) = self.extensions.emit(Some(cancel), event).await else {
            return Ok(ToolCallVerdict::Run(call.arguments));
        };
        if let Some(failure) = result.failure {
            return Err(HookError::new(failure));
        }
        if result.block.is_some() {
            return Ok(ToolCallVerdict::Block {
                reason: result.reason,
                terminate: result.terminate == Some(true),
            });
        }
        Ok(ToolCallVerdict::Run(result.input.unwrap_or(call.arguments)))
    }

    pub(super) async fn handle_tool_result(
        &self,
        call: &FinishedToolCall,
        cancel: &CancellationToken,
    ) -> Result<ToolResultUpdate, HookError> {
        let event = || ToolResultEvent {
            tool_name: &call.pending.call.name,
            tool_call_id: &call.pending.call.id,
            input: &call.pending.arguments,
            content: &call.output.content,
            details: call.output.details.as_ref(),
            is_error: call.is_error,
            usage: call.output.usage.as_ref(),
        };
        let result = self.extensions.emit(Some(cancel), event).await;
        Ok(
            result.map_or_else(ToolResultUpdate::default, |result| ToolResultUpdate {
                content: result.content,
                details: result.details,
                is_error: result.is_error,
                usage: result.usage,
                terminate: None,
            }),
        )
    }

    pub(super) async fn handle_message_end(&self, message: &SharedMessage) -> Option<AgentMessage> {
        self.extensions
            .emit(None, || MessageEnd { message })
            .await?
            .message
    }
}
