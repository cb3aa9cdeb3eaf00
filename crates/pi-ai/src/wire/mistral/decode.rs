//! The decoder of streamed chunks.
//!
//! Text and thinking are blocks in the order they come; a block ends when another kind begins.
//! Calls end with the stream, since nothing tells which fragment is a call's last.

use std::borrow::Cow;

use super::chunk::{self, CallDelta, Chunk, Piece};
use crate::content::ToolCall;
use crate::error::{ErrorClass, ProviderError};
use crate::live_message::MessageBuilder;
use crate::stop_reason::StopReason;
use crate::transform::tool_ids;
use crate::transport::sse::{SseEvent, SseParser};
use crate::wire::chat_stream::{self, DONE, OpenCalls};
use crate::wire::{Decoder, Progress, openai_error};

/// Decodes one answer.
#[derive(Debug, Default)]
pub(super) struct MistralDecoder {
    events: SseParser,
    answer: Answer,
}

impl Decoder for MistralDecoder {
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<Progress, ProviderError> {
        let answer = &mut self.answer;
        self.events
            .push(bytes, |event| answer.take(event, message))?;
        if !answer.is_done {
            return Ok(Progress::More);
        }
        answer.conclude(message)?;
        Ok(Progress::Complete)
    }

    fn finish(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        let answer = &mut self.answer;
        match self.events.finish(|event| answer.take(event, message)) {
            // A last event that cannot be read is a cut one: what came before it decides.
            Err(error) if error.class != ErrorClass::Protocol => Err(error),
            Ok(()) | Err(_) => answer.conclude(message),
        }
    }
}

/// The state of an answer.
#[derive(Debug, Default)]
struct Answer {
    open: Option<OpenBlock>,
    calls: OpenCalls,
    call_blocks: Vec<usize>,
    finish: Option<Result<(), ProviderError>>,
    is_done: bool,
}

/// The block that the next piece may continue.
#[derive(Debug, Clone, Copy)]
enum OpenBlock {
    Text(usize),
    Thinking(usize),
}

impl Answer {
    fn take(
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
        let Some(chunk) = chat_stream::read_event::<Chunk<'_>>(&data)? else {
            return Ok(());
        };
        let is_error = event.event == Some("error")
            || chunk.object.as_deref() == Some("error")
            || chunk.error.is_some_and(chat_stream::is_truthy);
        if is_error {
            return Err(openai_error::in_event(&data));
        }
        self.take_chunk(&chunk, message);
        Ok(())
    }

    fn take_chunk(&mut self, chunk: &Chunk<'_>, message: &mut MessageBuilder) {
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
            self.take_finish(reason, message);
        }
        let Some(delta) = &choice.delta else {
            return;
        };
        for piece in delta.content.map(chunk::pieces).into_iter().flatten() {
            self.take_piece(&piece, message);
        }
        for call in delta.tool_calls.iter().flatten() {
            self.take_call(call, message);
        }
    }

    fn take_finish(&mut self, reason: &str, message: &mut MessageBuilder) {
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
                let told = format!("The service ended the answer with finish_reason: {reason}");
                (StopReason::Error, Err(ProviderError::new(class, told)))
            }
        };
        message.stop(stop, Some(reason));
        self.finish = Some(finish);
    }

    fn take_piece(&mut self, piece: &Piece<'_>, message: &mut MessageBuilder) {
        match (piece, self.open) {
            (Piece::Thinking(text), _) if text.is_empty() => {}
            (Piece::Text(text), Some(OpenBlock::Text(block))) => {
                message.append_text_part(block, text);
            }
            (Piece::Thinking(text), Some(OpenBlock::Thinking(block))) => {
                message.append_thinking(block, text);
            }
            (Piece::Text(text), _) => {
                self.close_open(message);
                let block = message.open_text();
                message.append_text_part(block, text);
                self.open = Some(OpenBlock::Text(block));
            }
            (Piece::Thinking(text), _) => {
                self.close_open(message);
                let block = message.open_thinking();
                message.append_thinking(block, text);
                self.open = Some(OpenBlock::Thinking(block));
            }
        }
    }

    fn take_call(&mut self, call: &CallDelta<'_>, message: &mut MessageBuilder) {
        self.close_open(message);
        let (id, name) = (call.id(), call.name());
        let block = match self.calls.find(call.index(), id, name) {
            Some(block) => block,
            None => self.open_call(call, message),
        };
        let arguments = call.function.as_ref().and_then(|call| call.arguments);
        let piece = arguments.map_or(Cow::default(), chat_stream::arguments);
        message.append_arguments_part(block, &piece);
    }

    fn open_call(&mut self, call: &CallDelta<'_>, message: &mut MessageBuilder) -> usize {
        // Results name their call, so a call without an id gets one of the service's own shape.
        let next_block = message.read(|message| message.content.len());
        let made_id = || tool_ids::mistral(&chat_stream::call_id_seed(message, next_block));
        let id = call.id().map_or_else(made_id, str::to_owned);
        let block = message.open_tool_call(ToolCall {
            id,
            name: call.name().unwrap_or_default().to_owned(),
            ..ToolCall::default()
        });
        self.calls.begin(block, call.index(), call.id());
        self.call_blocks.push(block);
        block
    }

    fn close_open(&mut self, message: &mut MessageBuilder) {
        match self.open.take() {
            Some(OpenBlock::Text(block)) => message.close_text(block),
            Some(OpenBlock::Thinking(block)) => message.close_thinking(block),
            None => {}
        }
    }

    /// Ends what is open, and tells how the answer ended.
    fn conclude(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        self.close_open(message);
        for block in std::mem::take(&mut self.call_blocks) {
            message.close_tool_call(block);
        }
        self.finish.take().unwrap_or_else(|| {
            Err(ProviderError::network(
                "The answer ended without a finish reason",
            ))
        })
    }
}
