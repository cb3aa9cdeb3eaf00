//! Decodes streamed chunks.
//!
//! Text and thinking are blocks in the order of arrival; a block ends when another kind begins.
//! Calls end with the stream, since nothing marks the last fragment of a call.

use std::borrow::Cow;

use pi_http::{SseEvent, SseParser};
use pi_protocol::{ErrorClass, MessageBuilder, ProviderError, StopReason, ToolCall};

use super::chunk::{self, ContentItem, MistralCallDelta, MistralChunk};
use crate::transform::tool_ids;
use crate::wire::chat_stream::{self, DONE, ToolCallTracker};
use crate::wire::{DecodeStatus, Decoder, openai_error};

#[derive(Debug, Default)]
pub(super) struct MistralDecoder {
    events: SseParser,
    state: MistralState,
}

impl Decoder for MistralDecoder {
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<DecodeStatus, ProviderError> {
        let state = &mut self.state;
        self.events
            .push(bytes, |event| state.handle_event(event, message))?;
        if !state.is_done {
            return Ok(DecodeStatus::More);
        }
        state.finish_response(message)?;
        Ok(DecodeStatus::Complete)
    }

    fn finish(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        let state = &mut self.state;
        match self
            .events
            .finish(|event| state.handle_event(event, message))
        {
            // A last event that cannot be parsed was truncated: the previous events decide.
            Err(error) if error.class != ErrorClass::Protocol => Err(error),
            Ok(()) | Err(_) => state.finish_response(message),
        }
    }
}

/// Decoder state of a response.
#[derive(Debug, Default)]
struct MistralState {
    open: Option<OpenBlock>,
    calls: ToolCallTracker,
    call_blocks: Vec<usize>,
    finish: Option<Result<(), ProviderError>>,
    is_done: bool,
}

/// The block that the next part may continue.
#[derive(Debug, Clone, Copy)]
enum OpenBlock {
    Text(usize),
    Thinking(usize),
}

impl MistralState {
    fn handle_event(
        &mut self,
        event: SseEvent<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.is_done || data.is_empty() {
            return Ok(());
        }
        if data == DONE {
            self.is_done = true;
            return Ok(());
        }
        let data = chat_stream::without_lone_surrogates(data);
        let Some(chunk) = chat_stream::parse_event::<MistralChunk<'_>>(&data)? else {
            return Ok(());
        };
        let is_error = event.event == Some("error")
            || chunk.object.as_deref() == Some("error")
            || chunk.error.is_some_and(chat_stream::is_truthy);
        if is_error {
            return Err(openai_error::event_error(&data));
        }
        self.handle_chunk(&chunk, message);
        Ok(())
    }

    fn handle_chunk(&mut self, chunk: &MistralChunk<'_>, message: &mut MessageBuilder) {
        if let Some(id) = chunk.id.as_deref().filter(|id| !id.is_empty()) {
            message.update(|message| {
                message.response_id.get_or_insert_with(|| id.to_owned());
            });
        }
        if let Some(usage) = chunk.usage.and_then(chunk::usage) {
            message.set_usage(usage);
        }
        let Some(choice) = chunk.choices.iter().flatten().next() else {
            return;
        };
        if let Some(reason) = choice.finish_reason.as_deref()
            && !reason.is_empty()
        {
            self.handle_finish(reason, message);
        }
        let Some(delta) = &choice.delta else {
            return;
        };
        for item in delta
            .content
            .map(chunk::content_items)
            .into_iter()
            .flatten()
        {
            self.handle_item(&item, message);
        }
        for call in delta.tool_calls.iter().flatten() {
            self.handle_call(call, message);
        }
    }

    fn handle_finish(&mut self, reason: &str, message: &mut MessageBuilder) {
        let (stop, finish) = match reason {
            "stop" => (StopReason::Stop, Ok(())),
            "length" | "model_length" => (StopReason::Length, Ok(())),
            "tool_calls" => (StopReason::ToolUse, Ok(())),
            _ => {
                let class = match reason {
                    "error" => ErrorClass::Overloaded,
                    "content_filter" => ErrorClass::Refused,
                    _ => ErrorClass::Protocol,
                };
                // The retry rules only know the message; a failure of the server is transient.
                let detail = if reason == "error" {
                    " (server error)"
                } else {
                    ""
                };
                let text =
                    format!("The service ended the response with finish_reason: {reason}{detail}");
                (StopReason::Error, Err(ProviderError::new(class, text)))
            }
        };
        message.stop(stop, Some(reason));
        self.finish = Some(finish);
    }

    fn handle_item(&mut self, item: &ContentItem<'_>, message: &mut MessageBuilder) {
        match (item, self.open) {
            (ContentItem::Text(text) | ContentItem::Thinking(text), _) if text.is_empty() => {}
            (ContentItem::Text(text), Some(OpenBlock::Text(block))) => {
                message.append_text(block, text);
            }
            (ContentItem::Thinking(text), Some(OpenBlock::Thinking(block))) => {
                message.append_thinking(block, text);
            }
            (ContentItem::Text(text), _) => {
                self.close_open_block(message);
                let block = message.open_text();
                message.append_text(block, text);
                self.open = Some(OpenBlock::Text(block));
            }
            (ContentItem::Thinking(text), _) => {
                self.close_open_block(message);
                let block = message.open_thinking();
                message.append_thinking(block, text);
                self.open = Some(OpenBlock::Thinking(block));
            }
        }
    }

    fn handle_call(&mut self, call: &MistralCallDelta<'_>, message: &mut MessageBuilder) {
        self.close_open_block(message);
        let (id, name) = (call.id(), call.name());
        let block = match self.calls.find(call.index(), id, name) {
            Some(block) => block,
            None => self.open_call(call, message),
        };
        let arguments = call.function.as_ref().and_then(|call| call.arguments);
        let item = arguments.map_or(Cow::default(), chat_stream::arguments);
        message.append_arguments_or_empty(block, &item);
    }

    fn open_call(&mut self, call: &MistralCallDelta<'_>, message: &mut MessageBuilder) -> usize {
        // Results refer to calls by ID, so a call without one gets an ID in the service's format.
        let next_block = message.read(|message| message.content.len());
        let generate_id = || tool_ids::mistral(&chat_stream::call_id_seed(message, next_block));
        let id = call.id().map_or_else(generate_id, str::to_owned);
        let block = message.open_tool_call(ToolCall {
            id,
            name: call.name().unwrap_or_default().to_owned(),
            ..ToolCall::default()
        });
        self.calls.register(block, call.index(), call.id());
        self.call_blocks.push(block);
        block
    }

    fn close_open_block(&mut self, message: &mut MessageBuilder) {
        match self.open.take() {
            Some(OpenBlock::Text(block)) => message.close_text(block),
            Some(OpenBlock::Thinking(block)) => message.close_thinking(block),
            None => {}
        }
    }

    /// Closes open blocks, and returns the outcome of the response.
    fn finish_response(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        self.close_open_block(message);
        for block in std::mem::take(&mut self.call_blocks) {
            message.close_tool_call(block);
        }
        self.finish.take().unwrap_or_else(|| {
            Err(ProviderError::network(
                "The stream ended without a finish reason",
            ))
        })
    }
}
