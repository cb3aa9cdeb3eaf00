//! The decoder of streamed chunks.
//!
//! An answer has one text block and one thinking block, wherever their pieces stand, and a block for
//! each call. The API never says that a block is complete, so all of them end with the stream.

use std::borrow::Cow;
use std::sync::Arc;

use super::chunk::{self, CallDelta, Choice, Chunk, Delta};
use super::compat::CompletionsCompat;
use super::messages::reasoning_field;
use super::reasoning_details::ReasoningDetails;
use super::tools::{self, GrammarInputs};
use crate::constrained_sampling::GrammarInput;
use crate::content::{AssistantBlock, ThinkingContent, ToolCall};
use crate::error::{ErrorClass, ProviderError};
use crate::live_message::MessageBuilder;
use crate::model::Model;
use crate::options::ModelRequest;
use crate::stop_reason::StopReason;
use crate::transform::tool_ids::short_hash;
use crate::transport::sse::{SseEvent, SseParser};
use crate::wire::chat_stream::{self, DONE, OpenCalls};
use crate::wire::{Decoder, Progress, openai_error};

/// The argument of a custom call whose tool nobody declared.
const UNDECLARED_INPUT: &str = "input";

/// Decodes one answer.
pub(super) struct CompletionsDecoder {
    events: SseParser,
    answer: Answer,
}

impl CompletionsDecoder {
    /// Creates the decoder of an answer to the given request.
    pub(super) fn new(request: &ModelRequest) -> Self {
        let compat = CompletionsCompat::of(&request.model);
        // A tool that cannot be declared has failed the request already.
        let inputs = tools::grammar_inputs(&request.messages, &compat).unwrap_or_default();
        Self {
            events: SseParser::new(),
            answer: Answer {
                model: Arc::clone(&request.model),
                inputs,
                tells_finish_reason: compat.supports_finish_reason,
                text: None,
                thinking: None,
                details: ReasoningDetails::default(),
                calls: OpenCalls::default(),
                custom_inputs: Vec::new(),
                finish: None,
                is_done: false,
            },
        }
    }
}

impl Decoder for CompletionsDecoder {
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
struct Answer {
    model: Arc<Model>,
    inputs: GrammarInputs,
    tells_finish_reason: bool,
    text: Option<usize>,
    thinking: Option<usize>,
    details: ReasoningDetails,
    calls: OpenCalls,
    /// The inputs of custom calls, by block.
    custom_inputs: Vec<(usize, GrammarInput)>,
    finish: Option<Finish>,
    is_done: bool,
}

impl Answer {
    fn take(
        &mut self,
        event: SseEvent<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        if self.is_done || event.data.is_empty() {
            return Ok(());
        }
        if event.data.trim_start().starts_with(DONE) {
            self.is_done = true;
            return Ok(());
        }
        let data = chat_stream::without_lone_surrogates(event.data);
        if event.event == Some("error") {
            self.sign_thinking(message);
            return Err(openai_error::in_event(&data));
        }
        let Some(chunk) = chat_stream::read_event::<Chunk<'_>>(&data)? else {
            return Ok(());
        };
        let is_error = chunk.object.as_deref() == Some("error")
            || chunk.error.is_some_and(chat_stream::is_truthy);
        if is_error {
            self.sign_thinking(message);
            return Err(openai_error::in_event(&data));
        }
        self.take_chunk(chunk, message)
    }

    fn take_chunk(
        &mut self,
        chunk: Chunk<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        self.take_names(&chunk, message);
        let choice = chunk.choices.and_then(|choices| choices.into_iter().next());
        let choice_usage = choice.as_ref().and_then(|choice| choice.usage);
        if let Some(usage) = chunk.usage.or(choice_usage).and_then(chunk::usage) {
            message.set_usage(usage);
        }
        match choice {
            Some(choice) => self.take_choice(&choice, message),
            None => Ok(()),
        }
    }

    fn take_names(&self, chunk: &Chunk<'_>, message: &mut MessageBuilder) {
        let id = chunk.id.as_deref().filter(|id| !id.is_empty());
        let model = chunk.model.as_deref();
        let model = model.filter(|model| !model.is_empty() && *model != self.model.id);
        message.update(|message| {
            if message.response_id.is_none() {
                message.response_id = id.map(str::to_owned);
            }
            if message.response_model.is_none() {
                message.response_model = model.map(str::to_owned);
            }
        });
    }

    fn take_choice(
        &mut self,
        choice: &Choice<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        if let Some(reason) = choice.finish_reason.as_deref()
            && !reason.is_empty()
        {
            let finish = Finish::of(reason);
            message.stop(finish.stop_reason(), Some(reason));
            self.finish = Some(finish);
        }
        match &choice.delta {
            Some(delta) => self.take_delta(delta, message),
            None => Ok(()),
        }
    }

    fn take_delta(
        &mut self,
        delta: &Delta<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let text = delta.content.and_then(chat_stream::text);
        self.append_text(text.as_deref(), message);
        // What the model says instead of an answer is for the user all the same.
        self.append_text(delta.refusal.as_deref(), message);
        if let Some((field, text)) = delta.thinking() {
            let block = self.thinking_block(reasoning_field(&self.model, field), message);
            message.append_thinking(block, &text);
        }
        for call in delta.tool_calls.iter().flatten() {
            self.take_call(call, message)?;
        }
        if let Some(details) = delta.reasoning_details
            && self.details.push(details)
        {
            self.thinking_block("", message);
        }
        Ok(())
    }

    fn append_text(&mut self, text: Option<&str>, message: &mut MessageBuilder) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let block = *self.text.get_or_insert_with(|| message.open_text());
            message.append_text(block, text);
        }
    }

    fn thinking_block(&mut self, signature: &str, message: &mut MessageBuilder) -> usize {
        *self.thinking.get_or_insert_with(|| {
            message.open_thinking_with(ThinkingContent {
                thinking_signature: Some(signature.to_owned()),
                ..ThinkingContent::default()
            })
        })
    }

    fn take_call(
        &mut self,
        call: &CallDelta<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let (id, name) = (call.id(), call.name());
        let known = self.calls.find(call.index(), id, name);
        let block = known.unwrap_or_else(|| {
            let block = message.open_tool_call(ToolCall {
                id: id.unwrap_or_default().to_owned(),
                name: name.unwrap_or_default().to_owned(),
                ..ToolCall::default()
            });
            self.calls.begin(block, call.index(), id);
            block
        });
        if known.is_some() {
            message.with_tool_call(block, |told| {
                if told.id.is_empty() {
                    id.unwrap_or_default().clone_into(&mut told.id);
                }
                if told.name.is_empty() {
                    name.unwrap_or_default().clone_into(&mut told.name);
                }
            });
        }
        let piece = if call.is_custom() {
            let input = call.custom.as_ref().and_then(|call| call.input.as_deref());
            Cow::Owned(self.input_json(block, input.unwrap_or_default(), message)?)
        } else {
            let arguments = call.function.as_ref().and_then(|call| call.arguments);
            arguments.map_or(Cow::default(), chat_stream::arguments)
        };
        message.append_arguments_part(block, &piece);
        Ok(())
    }

    /// Returns a piece of a custom call's input as the JSON text of its arguments.
    fn input_json(
        &mut self,
        block: usize,
        input: &str,
        message: &mut MessageBuilder,
    ) -> Result<String, ProviderError> {
        let place = self.custom_inputs.iter().position(|(of, _)| *of == block);
        let place = place.unwrap_or_else(|| {
            let name = message.with_tool_call(block, |call| call.name.clone());
            let property = self.inputs.get(&name.unwrap_or_default());
            let property = property.map_or(UNDECLARED_INPUT, String::as_str);
            self.custom_inputs
                .push((block, GrammarInput::new(property)));
            self.custom_inputs.len() - 1
        });
        match self.custom_inputs.get_mut(place) {
            Some((_, collected)) => collected.push(input),
            None => Ok(String::new()),
        }
    }

    /// Ends all blocks in their order, and tells how the answer ended.
    fn conclude(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        self.sign_thinking(message);
        let kinds: Vec<BlockKind> = message.read(|message| {
            let blocks = message.content.iter();
            blocks.map(BlockKind::of).collect()
        });
        for (block, kind) in kinds.into_iter().enumerate() {
            match kind {
                BlockKind::Text => message.close_text(block),
                BlockKind::Thinking => message.close_thinking(block),
                BlockKind::Call => self.close_call(block, message)?,
            }
        }
        match self.finish.take() {
            Some(Finish::Failed(error)) => Err(error),
            Some(Finish::Ended(_)) => Ok(()),
            None if self.tells_finish_reason => Err(ProviderError::network(
                "The answer ended without a finish reason",
            )),
            None => {
                let reason = if message.has_tool_calls() {
                    StopReason::ToolUse
                } else {
                    StopReason::Stop
                };
                message.stop(reason, None);
                Ok(())
            }
        }
    }

    fn close_call(
        &mut self,
        block: usize,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        for (_, input) in self.custom_inputs.iter_mut().filter(|(of, _)| *of == block) {
            message.append_arguments(block, &input.close(None)?);
        }
        let has_id = message.with_tool_call(block, |call| !call.id.is_empty());
        if has_id == Some(false) {
            // Results name their call, so a call without an id gets one of ours.
            let id = format!(
                "call_{}",
                short_hash(&chat_stream::call_id_seed(message, block))
            );
            message.with_tool_call(block, |call| call.id = id);
        }
        message.close_tool_call(block);
        Ok(())
    }

    fn sign_thinking(&self, message: &mut MessageBuilder) {
        if let (Some(block), Some(signature)) = (self.thinking, self.details.signature()) {
            message.with_thinking(block, |block| block.thinking_signature = Some(signature));
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum BlockKind {
    Text,
    Thinking,
    Call,
}

impl BlockKind {
    fn of(block: &AssistantBlock) -> Self {
        match block {
            AssistantBlock::Text(_) | AssistantBlock::Unknown(_) => Self::Text,
            AssistantBlock::Thinking(_) => Self::Thinking,
            AssistantBlock::ToolCall(_) => Self::Call,
        }
    }
}

/// How an answer ended.
enum Finish {
    Ended(StopReason),
    Failed(ProviderError),
}

impl Finish {
    fn of(reason: &str) -> Self {
        let failed = |class| {
            Self::Failed(ProviderError::new(
                class,
                format!("The service ended the answer with finish_reason: {reason}"),
            ))
        };
        match reason {
            "stop" | "end" => Self::Ended(StopReason::Stop),
            "length" => Self::Ended(StopReason::Length),
            "tool_calls" | "function_call" => Self::Ended(StopReason::ToolUse),
            "content_filter" => failed(ErrorClass::Refused),
            "network_error" => failed(ErrorClass::Network),
            "error" => failed(ErrorClass::Overloaded),
            _ => failed(ErrorClass::Protocol),
        }
    }

    fn stop_reason(&self) -> StopReason {
        match self {
            Self::Ended(reason) => *reason,
            Self::Failed(_) => StopReason::Error,
        }
    }
}
