//! Decodes a response of `ConverseStream`: event-stream frames into message events.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pi_protocol::json::{from_str_repaired, lenient_optional_u64, lenient_u64};
use pi_protocol::{
    ErrorClass, MessageBuilder, ProviderError, StopReason, ThinkingContent, ToolCall, Usage,
};
use pi_providers::wire::{DecodeStatus, Decoder, REDACTED_THINKING};
use serde::Deserialize;

use super::error;
use crate::event_stream::{EventFrame, EventStreamParser, FrameKind};

#[derive(Debug, Default)]
pub(super) struct ConverseDecoder {
    parser: EventStreamParser,
    state: ConverseState,
}

#[derive(Debug, Default)]
struct ConverseState {
    open_blocks: Vec<OpenBlock>,
    refusal: Option<ProviderError>,
    is_complete: bool,
}

/// A block between its first delta and its stop.
#[derive(Debug)]
struct OpenBlock {
    wire_index: u64,
    content_index: usize,
    kind: BlockKind,
}

#[derive(Debug)]
enum BlockKind {
    Text,
    /// Thinking, with the decoded parts of an encrypted payload.
    Thinking {
        payload: Vec<u8>,
    },
    ToolCall,
}

#[derive(Debug, Deserialize)]
struct ConverseMessageStart {
    role: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConverseBlockStart {
    content_block_index: u64,
    #[serde(default)]
    start: Option<ConverseStartedBlock>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConverseStartedBlock {
    #[serde(default)]
    tool_use: Option<StartedToolUse>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartedToolUse {
    #[serde(default)]
    tool_use_id: String,
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConverseBlockDelta<'event> {
    content_block_index: u64,
    #[serde(default, borrow)]
    delta: ConverseDelta<'event>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ConverseDelta<'event> {
    #[serde(borrow)]
    text: Option<BorrowedText<'event>>,
    #[serde(borrow)]
    tool_use: Option<ToolUseDelta<'event>>,
    #[serde(borrow)]
    reasoning_content: Option<ReasoningDelta<'event>>,
}

/// A string that is borrowed even inside an option, where serde would copy a bare `Cow`.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
struct BorrowedText<'event>(#[serde(borrow)] Cow<'event, str>);

#[derive(Debug, Deserialize)]
struct ToolUseDelta<'event> {
    #[serde(default, borrow)]
    input: BorrowedText<'event>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReasoningDelta<'event> {
    #[serde(borrow)]
    text: BorrowedText<'event>,
    #[serde(borrow)]
    signature: BorrowedText<'event>,
    #[serde(borrow)]
    redacted_content: BorrowedText<'event>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConverseBlockStop {
    content_block_index: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConverseMessageStop {
    #[serde(default)]
    stop_reason: String,
}

#[derive(Debug, Deserialize)]
struct ConverseMetadata {
    #[serde(default)]
    usage: Option<ConverseUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ConverseUsage {
    #[serde(deserialize_with = "lenient_u64")]
    input_tokens: u64,
    #[serde(deserialize_with = "lenient_u64")]
    output_tokens: u64,
    #[serde(deserialize_with = "lenient_u64")]
    total_tokens: u64,
    #[serde(deserialize_with = "lenient_optional_u64")]
    cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    cache_write_input_tokens: Option<u64>,
    cache_details: Option<Vec<CacheDetail>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CacheDetail {
    ttl: String,
    #[serde(deserialize_with = "lenient_u64")]
    input_tokens: u64,
}

impl From<ConverseUsage> for Usage {
    fn from(reported: ConverseUsage) -> Self {
        let sum = reported.input_tokens.saturating_add(reported.output_tokens);
        Self {
            input: reported.input_tokens,
            output: reported.output_tokens,
            cache_read: reported.cache_read_input_tokens.unwrap_or(0),
            cache_write: reported.cache_write_input_tokens.unwrap_or(0),
            cache_write_1h: reported.cache_details.map(|details| {
                let long = details.iter().filter(|detail| detail.ttl == "1h");
                long.map(|detail| detail.input_tokens)
                    .fold(0, u64::saturating_add)
            }),
            total_tokens: match reported.total_tokens {
                0 => sum,
                total => total,
            },
            ..Self::default()
        }
    }
}

impl Decoder for ConverseDecoder {
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<DecodeStatus, ProviderError> {
        let Self { parser, state } = self;
        parser.push(bytes, |frame| state.handle_frame(frame, message))?;
        Ok(if state.is_complete {
            DecodeStatus::Complete
        } else {
            DecodeStatus::More
        })
    }

    fn finish(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        // The usage comes last; a response is complete without it.
        self.state.finish_response(message)
    }
}

impl ConverseState {
    fn handle_frame(
        &mut self,
        frame: EventFrame<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let (name, payload) = match frame.kind {
            FrameKind::Event(name) => (name, frame.payload),
            FrameKind::Exception(name) => return Err(error::exception_error(name, frame.payload)),
            FrameKind::Error { code, message } => {
                return Err(error::unmodeled_error(code, message));
            }
        };
        let repaired = &mut String::new();
        match name {
            "contentBlockDelta" => self.delta(&parse_event(name, payload, repaired)?, message),
            "contentBlockStart" => self.block_start(parse_event(name, payload, repaired)?, message),
            "contentBlockStop" => self.block_stop(&parse_event(name, payload, repaired)?, message),
            "messageStart" => message_start(&parse_event(name, payload, repaired)?, message)?,
            "messageStop" => self.message_stop(&parse_event(name, payload, repaired)?, message),
            "metadata" => {
                let metadata: ConverseMetadata = parse_event(name, payload, repaired)?;
                if let Some(usage) = metadata.usage {
                    message.set_usage(usage.into());
                }
                if message.stop_reason().is_some() {
                    self.finish_response(message)?;
                }
            }
            // Unknown events.
            _ => {}
        }
        Ok(())
    }

    fn block_start(&mut self, event: ConverseBlockStart, message: &mut MessageBuilder) {
        // Text and thinking blocks start with their first delta.
        let Some(tool_use) = event.start.and_then(|start| start.tool_use) else {
            return;
        };
        let content_index = message.open_tool_call(ToolCall {
            id: tool_use.tool_use_id,
            name: tool_use.name,
            ..ToolCall::default()
        });
        self.open_blocks.push(OpenBlock {
            wire_index: event.content_block_index,
            content_index,
            kind: BlockKind::ToolCall,
        });
    }

    fn delta(&mut self, event: &ConverseBlockDelta<'_>, message: &mut MessageBuilder) {
        let (wire_index, delta) = (event.content_block_index, &event.delta);
        if let Some(BorrowedText(text)) = &delta.text {
            let block = self.block(wire_index, || (BlockKind::Text, message.open_text()));
            if let Some(OpenBlock {
                kind: BlockKind::Text,
                content_index,
                ..
            }) = block
            {
                message.append_text_or_empty(*content_index, text);
            }
        } else if let Some(tool_use) = &delta.tool_use {
            let block = self
                .open_blocks
                .iter()
                .rfind(|block| block.wire_index == wire_index);
            if let Some(OpenBlock {
                kind: BlockKind::ToolCall,
                content_index,
                ..
            }) = block
            {
                message.append_arguments_or_empty(*content_index, &tool_use.input.0);
            }
        } else if let Some(reasoning) = &delta.reasoning_content {
            let block = self.block(wire_index, || {
                let content_index = message.open_thinking_with(ThinkingContent {
                    thinking_signature: Some(String::new()),
                    ..ThinkingContent::default()
                });
                let payload = Vec::new();
                (BlockKind::Thinking { payload }, content_index)
            });
            if let Some(OpenBlock {
                kind: BlockKind::Thinking { payload },
                content_index,
                ..
            }) = block
            {
                append_reasoning(*content_index, payload, reasoning, message);
            }
        }
    }

    /// Returns the open block of an index, opening it if it is new.
    fn block(
        &mut self,
        wire_index: u64,
        open: impl FnOnce() -> (BlockKind, usize),
    ) -> Option<&mut OpenBlock> {
        let is_open = |block: &OpenBlock| block.wire_index == wire_index;
        if !self.open_blocks.iter().any(is_open) {
            let (kind, content_index) = open();
            self.open_blocks.push(OpenBlock {
                wire_index,
                content_index,
                kind,
            });
        }
        self.open_blocks.iter_mut().rfind(|block| is_open(block))
    }

    fn block_stop(&mut self, event: &ConverseBlockStop, message: &mut MessageBuilder) {
        let position = self
            .open_blocks
            .iter()
            .rposition(|block| block.wire_index == event.content_block_index);
        let Some(block) = position.map(|position| self.open_blocks.remove(position)) else {
            return;
        };
        store_payload(&block, message);
        match block.kind {
            BlockKind::Text => message.close_text(block.content_index),
            BlockKind::Thinking { .. } => message.close_thinking(block.content_index),
            BlockKind::ToolCall => message.close_tool_call(block.content_index),
        }
    }

    fn message_stop(&mut self, event: &ConverseMessageStop, message: &mut MessageBuilder) {
        let raw = event.stop_reason.as_str();
        let reason = match raw {
            "end_turn" | "stop_sequence" => StopReason::Stop,
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            "tool_use" => StopReason::ToolUse,
            _ => StopReason::Error,
        };
        message.stop(reason, Some(raw).filter(|raw| !raw.is_empty()));
        if reason == StopReason::Error {
            let class = match raw {
                "guardrail_intervened" | "content_filtered" => ErrorClass::Refused,
                _ => ErrorClass::Protocol,
            };
            self.refusal = Some(ProviderError::new(class, stop_text(raw)));
        }
    }

    /// Ends the response.
    fn finish_response(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        for block in self.open_blocks.drain(..) {
            store_payload(&block, message);
        }
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        if message.stop_reason().is_none() {
            return Err(ProviderError::network(
                "The stream ended without a stop reason",
            ));
        }
        self.is_complete = true;
        Ok(())
    }
}

fn stop_text(raw: &str) -> String {
    match raw {
        "" => "The service stopped without a reason".to_owned(),
        "guardrail_intervened" => {
            "A guardrail of the account stopped the response (guardrail_intervened)".to_owned()
        }
        "content_filtered" => {
            "The service's content filter stopped the response (content_filtered)".to_owned()
        }
        _ => format!("The service stopped for an unknown reason: {raw}"),
    }
}

fn message_start(
    start: &ConverseMessageStart,
    message: &mut MessageBuilder,
) -> Result<(), ProviderError> {
    if start.role != "assistant" {
        return Err(ProviderError::protocol(format!(
            "The service started a message with role {}",
            start.role
        )));
    }
    message.start();
    Ok(())
}

fn append_reasoning(
    content_index: usize,
    payload: &mut Vec<u8>,
    reasoning: &ReasoningDelta<'_>,
    message: &mut MessageBuilder,
) {
    message.append_thinking(content_index, &reasoning.text.0);
    let is_redacted = message
        .with_thinking(content_index, |block| block.is_redacted())
        .unwrap_or(false);
    // A block has a signature or an encrypted payload, never both.
    if !is_redacted {
        message.with_thinking(content_index, |block| {
            block
                .thinking_signature
                .get_or_insert_default()
                .push_str(&reasoning.signature.0);
        });
    }
    if let Some(bytes) = decode_base64(&reasoning.redacted_content.0)
        && !bytes.is_empty()
    {
        payload.extend(bytes);
        if !is_redacted {
            message.with_thinking(content_index, |block| {
                block.redacted = Some(true);
                block.thinking_signature = Some(String::new());
            });
            message.append_thinking(content_index, REDACTED_THINKING);
        }
    }
}

/// Stores the encrypted payload of a block, if it has one.
fn store_payload(block: &OpenBlock, message: &mut MessageBuilder) {
    if let BlockKind::Thinking { payload } = &block.kind
        && !payload.is_empty()
    {
        message.with_thinking(block.content_index, |thinking| {
            thinking.thinking_signature = Some(BASE64.encode(payload));
        });
    }
}

fn parse_event<'event, Event: Deserialize<'event>>(
    name: &str,
    payload: &'event [u8],
    repaired: &'event mut String,
) -> Result<Event, ProviderError> {
    let invalid = |error: &dyn std::fmt::Display| {
        ProviderError::protocol(format!("The stream's {name} event is invalid: {error}"))
    };
    let text = std::str::from_utf8(payload).map_err(|error| invalid(&error))?;
    from_str_repaired(text, repaired).map_err(|error| invalid(&error))
}

pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}
