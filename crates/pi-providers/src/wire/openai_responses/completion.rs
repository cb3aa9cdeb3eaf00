//! Handles the end of a response: usage and cost, stop reason, and data missing from its items.
//!
//! The compatible services differ most here, so everything in the last event is optional.

use pi_protocol::json::value_to_string;
use pi_protocol::{MessageBuilder, ProviderError, StopReason};
use serde_json::Value;

use super::error;
use super::events::ResponseObject;
use super::pricing;
use super::reader::ReaderSettings;

/// How to treat an unknown response status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum UnknownStatus {
    /// The response cannot be trusted.
    #[default]
    Fails,
    Ignored,
}

/// Applies the last event of a response that was not reported as failed.
pub(super) fn complete_response(
    response: &ResponseObject,
    settings: &ReaderSettings,
    message: &mut MessageBuilder,
) -> Result<(), ProviderError> {
    message.update(|message| {
        if response.id.is_some() {
            message.response_id.clone_from(&response.id);
        }
        if response.end_turn.is_some() {
            message.end_turn = response.end_turn;
        }
    });
    if let Some(usage) = &response.usage {
        message.set_usage(pricing::usage(usage));
        let factor = settings.pricing.factor(response.service_tier.as_deref());
        message.update(|message| pricing::scale(&mut message.usage.cost, factor));
    }
    let status = response.status.as_deref().filter(|status| {
        settings.unknown_status == UnknownStatus::Fails || is_known_status(status)
    });
    let reason = response
        .incomplete_details
        .as_ref()
        .and_then(|details| details.reason.as_deref());
    let raw_reason = match (status, reason) {
        (Some(status), Some(reason)) => Some(format!("{status}.{reason}")),
        (status, _) => status.map(str::to_owned),
    };
    message.update(|message| message.raw_stop_reason.clone_from(&raw_reason));
    let stop = match status {
        None | Some("completed" | "in_progress" | "queued") if message.has_tool_calls() => {
            StopReason::ToolUse
        }
        None | Some("completed" | "in_progress" | "queued") => StopReason::Stop,
        Some("incomplete") if reason == Some("max_output_tokens") => StopReason::Length,
        Some("incomplete") => return Err(error::incomplete(reason)),
        Some("failed" | "cancelled") => return Err(error::failed(response)),
        Some(unknown) => return Err(error::unknown_status(unknown)),
    };
    message.stop(stop, raw_reason.as_deref());
    Ok(())
}

fn is_known_status(status: &str) -> bool {
    matches!(
        status,
        "completed" | "incomplete" | "failed" | "cancelled" | "queued" | "in_progress"
    )
}

/// Completes reasoning whose encrypted content arrives only with the final response, as Azure may send it;
/// without it the reasoning cannot be replayed. `blocks` are the reasoning items by ID.
pub(super) fn restore_encrypted_reasoning(
    response: &ResponseObject,
    blocks: &[(String, usize)],
    message: &mut MessageBuilder,
) {
    for item in response.output.iter().flatten() {
        let (Some("reasoning"), Some(id), Some(encrypted)) = (
            item.kind.as_deref(),
            item.id.as_deref(),
            item.encrypted_content.as_deref(),
        ) else {
            continue;
        };
        let Some((_, content_index)) = blocks.iter().find(|(known, _)| known == id) else {
            continue;
        };
        message.with_thinking(*content_index, |block| {
            let stored = block.thinking_signature.as_deref().unwrap_or_default();
            let Ok(Value::Object(mut stored)) = serde_json::from_str(stored) else {
                return;
            };
            if stored.get("encrypted_content").is_none_or(is_blank) {
                stored.insert("encrypted_content".into(), encrypted.into());
                block.thinking_signature = Some(value_to_string(&Value::Object(stored)));
            }
        });
    }
}

fn is_blank(value: &Value) -> bool {
    value.as_str().is_none_or(str::is_empty)
}
