//! Decodes the gateway's events.

use std::borrow::Cow;

use pi_http::{SseEvent, SseParser};
use pi_protocol::json::{JsonObject, from_str_repaired};
use pi_protocol::{
    Diagnostic, ErrorClass, MessageBuilder, ProviderError, StopReason, ThinkingContent, ToolCall,
    Usage,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::wire::{DecodeStatus, Decoder};

/// Ends some streams; carries no data.
const DONE_MARK: &str = "[DONE]";

#[derive(Debug)]
pub(crate) struct PiDecoder {
    parser: SseParser,
    state: PiResponseState,
}

#[derive(Debug)]
struct PiResponseState {
    timestamp: i64,
    blocks: Vec<BlockMapping>,
    is_complete: bool,
}

/// Maps a block index of the gateway to ours.
#[derive(Debug, Clone, Copy)]
struct BlockMapping {
    wire_index: usize,
    content_index: usize,
}

/// The fields of all events: a tagged enum would copy every delta once more.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GatewayEvent<'event> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'event, str>,
    #[serde(default)]
    content_index: usize,
    #[serde(default, borrow)]
    delta: Cow<'event, str>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    content_signature: Option<String>,
    #[serde(default)]
    redacted: Option<bool>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    tool_name: Option<String>,
    #[serde(default)]
    tool_call: Option<ToolCall>,
    #[serde(default)]
    reason: Option<StopReason>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error_message: Option<String>,
    #[serde(default)]
    response_id: Option<String>,
    #[serde(default)]
    response_model: Option<String>,
    #[serde(default)]
    provider_thinking_level: Option<String>,
    #[serde(default)]
    rewrite: Option<JsonObject>,
}

impl PiDecoder {
    /// `timestamp` is the start of the response.
    pub(crate) fn new(timestamp: i64) -> Self {
        Self {
            parser: SseParser::new(),
            state: PiResponseState {
                timestamp,
                blocks: Vec::new(),
                is_complete: false,
            },
        }
    }
}

impl Decoder for PiDecoder {
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<DecodeStatus, ProviderError> {
        let Self { parser, state } = self;
        parser.push(bytes, |event| state.handle_event(event, message))?;
        Ok(if state.is_complete {
            DecodeStatus::Complete
        } else {
            DecodeStatus::More
        })
    }

    fn finish(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        let Self { parser, state } = self;
        parser.finish(|event| {
            // The last event may be truncated by a lost connection.
            if serde_json::from_str::<IgnoredAny>(event.data).is_err() {
                return Ok(());
            }
            state.handle_event(event, message)
        })?;
        if state.is_complete {
            Ok(())
        } else {
            Err(ProviderError::network(
                "The stream ended without a terminal event",
            ))
        }
    }
}

impl PiResponseState {
    fn handle_event(
        &mut self,
        event: SseEvent<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.is_complete || data.is_empty() || data == DONE_MARK {
            return Ok(());
        }
        let mut repaired = String::new();
        let event: GatewayEvent<'_> = from_str_repaired(data, &mut repaired).map_err(|error| {
            ProviderError::protocol(format!(
                "An event of the stream was terminated early or is invalid: {error}"
            ))
        })?;
        self.apply_event(event, message)
    }

    fn apply_event(
        &mut self,
        event: GatewayEvent<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let index = event.content_index;
        if event.kind.ends_with("_start") {
            self.check_start(index)?;
        }
        match event.kind.as_ref() {
            "text_delta" => message.append_text_or_empty(self.block(index)?, &event.delta),
            "thinking_delta" => message.append_thinking_or_empty(self.block(index)?, &event.delta),
            "toolcall_delta" => message.append_arguments_or_empty(self.block(index)?, &event.delta),
            "text_start" => self.add_block(index, message.open_text()),
            "thinking_start" => self.add_block(
                index,
                message.open_thinking_with(ThinkingContent::default()),
            ),
            "toolcall_start" => self.add_block(
                index,
                message.open_tool_call(ToolCall {
                    id: event.id.unwrap_or_default(),
                    name: event.tool_name.unwrap_or_default(),
                    ..ToolCall::default()
                }),
            ),
            "text_end" => end_text(self.block(index)?, event, message),
            "thinking_end" => end_thinking(self.block(index)?, event, message),
            "toolcall_end" => end_tool_call(self.block(index)?, event.tool_call, message),
            "done" => {
                let reason = event.reason.unwrap_or(StopReason::Stop);
                self.apply_terminal_event(event, message);
                message.stop(reason, None);
                self.is_complete = true;
            }
            "error" => return Err(self.error(event, message)),
            // `start` was emitted with the headers; unknown events are ignored.
            _ => {}
        }
        Ok(())
    }

    /// A block starts after those before it, or replaces one of them.
    fn check_start(&self, wire_index: usize) -> Result<(), ProviderError> {
        let last = self.blocks.iter().map(|block| block.wire_index).max();
        let next = last.map_or(0, |last| last + 1);
        if wire_index <= next {
            return Ok(());
        }
        Err(ProviderError::protocol(format!(
            "The stream starts block {wire_index} before block {next}"
        )))
    }

    fn add_block(&mut self, wire_index: usize, content_index: usize) {
        self.blocks.push(BlockMapping {
            wire_index,
            content_index,
        });
    }

    fn block(&self, wire_index: usize) -> Result<usize, ProviderError> {
        self.blocks
            .iter()
            .rfind(|block| block.wire_index == wire_index)
            .map(|block| block.content_index)
            .ok_or_else(|| {
                ProviderError::protocol(format!(
                    "The stream continues block {wire_index}, which was never started"
                ))
            })
    }

    fn error(&self, event: GatewayEvent<'_>, message: &mut MessageBuilder) -> ProviderError {
        let class = match event.reason {
            Some(StopReason::Aborted) => ErrorClass::Aborted,
            _ => ErrorClass::Protocol,
        };
        let text = event.error_message.clone();
        self.apply_terminal_event(event, message);
        ProviderError::new(
            class,
            text.filter(|text| !text.is_empty())
                .unwrap_or_else(|| "The gateway reported an unknown error".to_owned()),
        )
    }

    /// Applies the fields of a terminal event. The gateway computes the cost.
    fn apply_terminal_event(&self, event: GatewayEvent<'_>, message: &mut MessageBuilder) {
        let timestamp = self.timestamp;
        message.update(|message| {
            message.usage = event.usage.unwrap_or_default();
            message.response_id = event.response_id;
            if event.response_model.is_some() {
                message.response_model = event.response_model;
            }
            if event.provider_thinking_level.is_some() {
                message.provider_thinking_level = event.provider_thinking_level;
            }
            if let Some(details) = event.rewrite {
                message
                    .diagnostics
                    .get_or_insert_default()
                    .push(Diagnostic {
                        kind: "pi_messages_rewrite".to_owned(),
                        timestamp,
                        error: None,
                        details: Some(details),
                    });
            }
        });
    }
}

fn end_text(content_index: usize, event: GatewayEvent<'_>, message: &mut MessageBuilder) {
    message.with_text(content_index, |block| {
        if let Some(text) = event.content {
            block.text = text;
        }
        block.text_signature = event.content_signature;
    });
    message.close_text_with_signature(content_index);
}

fn end_thinking(content_index: usize, event: GatewayEvent<'_>, message: &mut MessageBuilder) {
    message.with_thinking(content_index, |block| {
        if let Some(text) = event.content {
            block.thinking = text;
        }
        block.thinking_signature = event.content_signature;
        block.redacted = event.redacted;
    });
    message.close_thinking_with_signature(content_index);
}

fn end_tool_call(content_index: usize, call: Option<ToolCall>, message: &mut MessageBuilder) {
    let Some(mut call) = call else {
        return message.close_tool_call(content_index);
    };
    // The block's type is not a field of the call.
    call.extra.shift_remove("type");
    let arguments = call.arguments.clone();
    message.with_tool_call(content_index, |block| *block = call);
    message.close_tool_call_with(content_index, arguments);
}
