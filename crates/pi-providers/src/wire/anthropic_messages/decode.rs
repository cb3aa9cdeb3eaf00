//! Decodes a response of the Messages API: server-sent events into message events.

use pi_http::{SseEvent, SseParser};
use pi_protocol::json::{JsonObject, from_str_repaired};
use pi_protocol::{
    Diagnostic, ErrorClass, MessageBuilder, ProviderError, StopReason, ThinkingContent, ToolCall,
    Usage,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::ErrorReport;
use super::compat::MessagesCompat;
use super::events::{
    BlockDelta, BlockStart, BlockStop, EventType, MessageDelta, MessageStart, StartedBlock,
    StartedMessage, StopDetails, Transformation, WireUsage,
};
use super::request::MessagesThinking;
use crate::options::ModelRequest;
use crate::wire::openrouter::BilledCost;
use crate::wire::{DecodeStatus, Decoder, http_error};

/// Text of a thinking block whose content the provider withholds.
pub const REDACTED_THINKING: &str = "[Reasoning redacted]";

#[derive(Debug)]
pub(super) struct MessagesDecoder {
    parser: SseParser,
    state: MessagesState,
}

/// Decoder state besides the message itself.
#[derive(Debug)]
struct MessagesState {
    model: String,
    provider: String,
    compat: MessagesCompat,
    effort: Option<String>,
    timestamp: i64,
    open_blocks: Vec<OpenBlock>,
    usage: Usage,
    transformations: Vec<Transformation>,
    refusal: Option<ProviderError>,
    is_complete: bool,
}

#[derive(Debug, Clone, Copy)]
struct OpenBlock {
    wire_index: u64,
    content_index: usize,
    kind: BlockKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
    ToolCall,
}

impl MessagesDecoder {
    pub(super) fn new(request: &ModelRequest) -> Self {
        let compat = MessagesCompat::for_model(&request.model);
        let effort = match MessagesThinking::for_request(request, &compat) {
            MessagesThinking::Adaptive(effort) if compat.effort_in_history => {
                Some(effort.to_owned())
            }
            _ => None,
        };
        Self {
            parser: SseParser::new(),
            state: MessagesState {
                model: request.model.id.clone(),
                provider: request.model.provider.clone(),
                compat,
                effort,
                timestamp: request.env.now_ms(),
                open_blocks: Vec::new(),
                usage: Usage::default(),
                transformations: Vec::new(),
                refusal: None,
                is_complete: false,
            },
        }
    }
}

impl Decoder for MessagesDecoder {
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
            Err(state
                .refusal
                .take()
                .unwrap_or_else(|| ProviderError::network("The stream ended before message_stop")))
        }
    }
}

impl MessagesState {
    fn handle_event(
        &mut self,
        event: SseEvent<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        if self.is_complete {
            return Ok(());
        }
        let data = event.data;
        // Some compatible services send the event type only in the data.
        let (mut repaired_type, data_type);
        let name = match event.event {
            Some(name) => name,
            None => {
                repaired_type = String::new();
                let event: EventType<'_> = parse_event("unnamed", data, &mut repaired_type)?;
                data_type = event.kind;
                data_type.as_ref()
            }
        };
        let repaired = &mut String::new();
        match name {
            "content_block_delta" => self.delta(&parse_event(name, data, repaired)?, message),
            "content_block_start" => {
                return self.block_start(parse_event(name, data, repaired)?, message);
            }
            "content_block_stop" => self.block_stop(&parse_event(name, data, repaired)?, message),
            "message_start" => self.message_start(parse_event(name, data, repaired)?, message),
            "message_delta" => {
                return self.message_delta(parse_event(name, data, repaired)?, message);
            }
            "message_stop" => return self.message_stop(message),
            "error" => return Err(reported_error(data)),
            // Pings and unknown events.
            _ => {}
        }
        Ok(())
    }

    fn message_start(&mut self, start: MessageStart, message: &mut MessageBuilder) {
        let StartedMessage {
            id,
            model,
            usage,
            input_transformations,
        } = start.message;
        self.set_transformations(input_transformations.or(start.input_transformations));
        let other_model = model.filter(|model| *model != self.model);
        if let Some(prices) = other_model
            .as_deref()
            .and_then(|model| self.compat.fallback_prices(&self.provider, model))
        {
            message.set_prices(prices.clone());
        }
        let effort = self.effort.clone();
        message.update(|message| {
            message.response_id = id;
            message.response_model = other_model;
            message.provider_thinking_level = effort;
        });
        let usage = usage.unwrap_or_default();
        self.usage.cache_write_1h = Some(0);
        self.update_usage(&usage, message);
    }

    /// Updates the counts that are present: a later report may omit some.
    fn update_usage(&mut self, reported: &WireUsage, message: &mut MessageBuilder) {
        let usage = &mut self.usage;
        let counts = [
            (&mut usage.input, reported.input_tokens),
            (&mut usage.output, reported.output_tokens),
            (&mut usage.cache_read, reported.cache_read_input_tokens),
            (&mut usage.cache_write, reported.cache_creation_input_tokens),
        ];
        for (count, reported) in counts {
            *count = reported.unwrap_or(*count);
        }
        // Vercel's gateway reports the lifetimes with every change, Anthropic only at the start.
        let written_1h = reported
            .cache_creation
            .as_ref()
            .and_then(|creation| creation.ephemeral_1h_input_tokens);
        usage.cache_write_1h = written_1h.or(usage.cache_write_1h);
        let thinking = reported
            .output_tokens_details
            .as_ref()
            .and_then(|details| details.thinking_tokens);
        usage.reasoning = thinking.or(usage.reasoning);
        usage.total_tokens = usage.prompt_tokens().saturating_add(usage.output);
        message.set_usage(usage.clone());
        if self.compat.billed_cost
            && let Some(billed) = BilledCost::from_fields(&reported.other_fields)
        {
            message.update(|message| billed.apply(&mut message.usage.cost));
        }
    }

    fn block_start(
        &mut self,
        start: BlockStart,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let (kind, content_index) = match start.content_block {
            StartedBlock::Text { text } => {
                let index = message.open_text();
                message.with_text(index, |block| block.text = text.unwrap_or_default());
                (BlockKind::Text, index)
            }
            StartedBlock::Thinking {
                thinking,
                signature,
            } => {
                let index = message.open_thinking_with(ThinkingContent {
                    thinking: thinking.unwrap_or_default(),
                    thinking_signature: Some(signature.unwrap_or_default()),
                    ..ThinkingContent::default()
                });
                (BlockKind::Thinking, index)
            }
            StartedBlock::RedactedThinking { data } => {
                let index = message.open_thinking_with(ThinkingContent {
                    thinking: REDACTED_THINKING.to_owned(),
                    thinking_signature: Some(data),
                    redacted: Some(true),
                    ..ThinkingContent::default()
                });
                (BlockKind::Thinking, index)
            }
            StartedBlock::ToolUse { id, name, input } => {
                let index = message.open_tool_call(ToolCall {
                    id,
                    name,
                    arguments: input.unwrap_or_default(),
                    ..ToolCall::default()
                });
                (BlockKind::ToolCall, index)
            }
            StartedBlock::Fallback if message.read(|message| message.content.is_empty()) => {
                return Ok(());
            }
            StartedBlock::Fallback => {
                return Err(ProviderError::protocol(
                    "The service changed the model in the middle of a response",
                ));
            }
            StartedBlock::Other => return Ok(()),
        };
        self.open_blocks.push(OpenBlock {
            wire_index: start.index,
            content_index,
            kind,
        });
        Ok(())
    }

    fn delta(&mut self, event: &BlockDelta<'_>, message: &mut MessageBuilder) {
        let Some(block) = self
            .open_blocks
            .iter()
            .rfind(|block| block.wire_index == event.index)
        else {
            return;
        };
        let (delta, index) = (&event.delta, block.content_index);
        match (delta.kind.as_ref(), block.kind) {
            ("text_delta", BlockKind::Text) => message.append_text_or_empty(index, &delta.text),
            ("thinking_delta", BlockKind::Thinking) => {
                message.append_thinking_or_empty(index, &delta.thinking);
            }
            ("input_json_delta", BlockKind::ToolCall) => {
                message.append_arguments_or_empty(index, &delta.partial_json);
            }
            ("signature_delta", BlockKind::Thinking) => {
                message.with_thinking(index, |block| {
                    block
                        .thinking_signature
                        .get_or_insert_default()
                        .push_str(&delta.signature);
                });
            }
            // Citations and unknown deltas.
            _ => {}
        }
    }

    fn block_stop(&mut self, stop: &BlockStop, message: &mut MessageBuilder) {
        let position = self
            .open_blocks
            .iter()
            .rposition(|block| block.wire_index == stop.index);
        let Some(block) = position.map(|position| self.open_blocks.remove(position)) else {
            return;
        };
        match block.kind {
            BlockKind::Text => message.close_text(block.content_index),
            BlockKind::Thinking => message.close_thinking(block.content_index),
            BlockKind::ToolCall => message.close_tool_call(block.content_index),
        }
    }

    fn message_delta(
        &mut self,
        event: MessageDelta,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        self.set_transformations(event.input_transformations);
        if let Some(raw) = event.delta.stop_reason {
            self.stop(&raw, event.delta.stop_details, message)?;
        }
        if let Some(usage) = &event.usage {
            self.update_usage(usage, message);
        }
        Ok(())
    }

    fn stop(
        &mut self,
        raw: &str,
        details: Option<StopDetails>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let reason = match raw {
            // A paused turn continues when the conversation is sent again.
            "end_turn" | "pause_turn" | "stop_sequence" => StopReason::Stop,
            "max_tokens" => StopReason::Length,
            "tool_use" => StopReason::ToolUse,
            _ => StopReason::Error,
        };
        message.stop(reason, Some(raw));
        match raw {
            "refusal" => {
                let explanation = details
                    .and_then(|details| details.explanation)
                    .filter(|text| !text.trim().is_empty())
                    .unwrap_or_else(|| "The model refused this request".to_owned());
                self.refusal = Some(ProviderError::new(ErrorClass::Refused, explanation));
                Ok(())
            }
            "sensitive" => {
                self.refusal = Some(ProviderError::new(
                    ErrorClass::Refused,
                    "The service's content filter stopped the response (sensitive)",
                ));
                Ok(())
            }
            _ if reason == StopReason::Error => Err(ProviderError::protocol(format!(
                "The service stopped for an unknown reason: {raw}"
            ))),
            _ => Ok(()),
        }
    }

    fn message_stop(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        if message.stop_reason().is_none() {
            return Err(ProviderError::network(
                "The stream ended without a stop reason",
            ));
        }
        self.is_complete = true;
        if !self.transformations.is_empty() {
            let diagnostic = transformation_diagnostic(&self.transformations, self.timestamp);
            message.update(|message| {
                message.diagnostics.get_or_insert_default().push(diagnostic);
            });
        }
        Ok(())
    }

    fn set_transformations(&mut self, reported: Option<Vec<Transformation>>) {
        if let Some(transformations) = reported {
            self.transformations = transformations;
        }
    }
}

fn transformation_diagnostic(transformations: &[Transformation], timestamp: i64) -> Diagnostic {
    let described = transformations.iter().map(|transformation| {
        let fields = [
            ("type", &transformation.kind),
            ("path", &transformation.path),
            ("reason", &transformation.reason),
        ];
        let fields = fields.into_iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some((name.to_owned(), value.clone().into()))
        });
        serde_json::Value::Object(fields.collect())
    });
    let transformations = described.collect::<Vec<_>>().into();
    Diagnostic {
        kind: "anthropic_input_transformations".to_owned(),
        timestamp,
        error: None,
        details: Some(JsonObject::from_iter([(
            "transformations".to_owned(),
            transformations,
        )])),
    }
}

fn parse_event<'event, Event: Deserialize<'event>>(
    name: &str,
    data: &'event str,
    repaired: &'event mut String,
) -> Result<Event, ProviderError> {
    from_str_repaired(data, repaired).map_err(|error| {
        ProviderError::protocol(format!(
            "The stream's {name} event was terminated early or is invalid: {error}"
        ))
    })
}

fn reported_error(data: &str) -> ProviderError {
    let class = ErrorReport::class_in(data).unwrap_or(ErrorClass::Protocol);
    http_error::with_overflow(ProviderError::new(
        class,
        format!("The service reported an error: {data}"),
    ))
}
