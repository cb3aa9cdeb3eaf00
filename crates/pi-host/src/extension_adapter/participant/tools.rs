//! Tool calls and their results.

use futures_util::future::BoxFuture;
use pi_core::{
    DenialReason, FinishedToolCall, HookError, PendingToolCall, ReviewedToolCall, ToolResultUpdate,
};
use pi_extensions::events::{ToolCallEvent, ToolResultEvent};
use tokio_util::sync::CancellationToken;

use super::ExtensionParticipant;
use crate::participants::ToolPolicy;

impl ToolPolicy for ExtensionParticipant {
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(async move {
            let event = || ToolCallEvent {
                tool_name: &call.call.name,
                tool_call_id: &call.call.id,
                parent_tool_call_id: call.parent.as_deref(),
                input: &call.arguments,
            };
            let Some(result) = self.extensions.emit(Some(cancel), event).await else {
                return Ok(ReviewedToolCall::allow(call.arguments));
            };
            if let Some(failure) = result.failure {
                return Err(HookError::new(failure));
            }
            if result.block.is_some() {
                return Ok(ReviewedToolCall::deny(DenialReason {
                    text: result.reason,
                    terminate: result.terminate == Some(true),
                }));
            }
            let arguments = result.input.unwrap_or(call.arguments);
            Ok(ReviewedToolCall::allow(arguments))
        })
    }

    fn tool_result<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        Box::pin(async move {
            let event = || ToolResultEvent {
                tool_name: &call.pending.call.name,
                tool_call_id: &call.pending.call.id,
                parent_tool_call_id: call.pending.parent.as_deref(),
                input: &call.pending.arguments,
                content: &call.output.content,
                details: call.output.details.as_ref(),
                structured_content: call.output.structured_content.as_ref(),
                is_error: call.is_error,
                usage: call.output.usage.as_ref(),
            };
            let result = self.extensions.emit(Some(cancel), event).await;
            Ok(
                result.map_or_else(ToolResultUpdate::default, |result| ToolResultUpdate {
                    content: result.content,
                    details: result.details,
                    structured_content: result.structured_content,
                    is_error: result.is_error,
                    usage: result.usage,
                    terminate: None,
                }),
            )
        })
    }
}
