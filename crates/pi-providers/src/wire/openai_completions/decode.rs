//! Decodes streamed chunks.
//!
//! A response has one text block and one thinking block, wherever their deltas appear, and a block
//! for each call. The API never marks a block as complete, so all of them end with the stream.

use std::borrow::Cow;
use std::sync::Arc;

use pi_http::{SseEvent, SseParser};
use pi_protocol::tool_call_id::short_hash;
use pi_protocol::{
    AssistantBlock, ErrorClass, MessageBuilder, Model, ProviderError, StopReason, ThinkingContent,
    ToolCall,
};

use super::chunk::{self, ChatChoice, ChatChunk, ChunkDelta, ToolCallDelta};
use super::compat::CompletionsCompat;
use super::messages::reasoning_field;
use super::reasoning_details::ReasoningDetails;
use super::tools::{self, GrammarInputs};
use crate::constrained_sampling::GrammarInput;
use crate::options::ModelRequest;
use crate::wire::chat_stream::{self, DONE, ToolCallTracker};
use crate::wire::openrouter::{self, BilledCost};
use crate::wire::{DecodeStatus, Decoder, openai_error};

/// The argument of a custom call whose tool is not declared.
const UNDECLARED_INPUT: &str = "input";

pub(super) struct CompletionsDecoder {
    events: SseParser,
    state: CompletionsState,
}

impl CompletionsDecoder {
    pub(super) fn new(request: &ModelRequest) -> Self {
        let compat = CompletionsCompat::for_model(&request.model);
        // A tool that cannot be declared has already failed the request.
        let inputs = tools::grammar_inputs(&request.messages, &compat).unwrap_or_default();
        Self {
            events: SseParser::new(),
            state: CompletionsState {
                model: Arc::clone(&request.model),
                inputs,
                requires_finish_reason: compat.supports_finish_reason,
                text: None,
                thinking: None,
                details: ReasoningDetails::default(),
                calls: ToolCallTracker::default(),
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
struct CompletionsState {
    model: Arc<Model>,
    inputs: GrammarInputs,
    requires_finish_reason: bool,
    text: Option<usize>,
    thinking: Option<usize>,
    details: ReasoningDetails,
    calls: ToolCallTracker,
    /// The inputs of custom calls, by block.
    custom_inputs: Vec<(usize, GrammarInput)>,
    finish: Option<FinishOutcome>,
    is_done: bool,
}

impl CompletionsState {
    fn handle_event(
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
            self.set_thinking_signature(message);
            return Err(openai_error::event_error(&data));
        }
        let Some(chunk) = chat_stream::parse_event::<ChatChunk<'_>>(&data)? else {
            return Ok(());
        };
        let is_error = chunk.object.as_deref() == Some("error")
            || chunk.error.is_some_and(chat_stream::is_truthy);
        if is_error {
            self.set_thinking_signature(message);
            return Err(openai_error::event_error(&data));
        }
        self.handle_chunk(chunk, message)
    }

    fn handle_chunk(
        &mut self,
        chunk: ChatChunk<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        self.record_ids(&chunk, message);
        let choice = chunk.choices.and_then(|choices| choices.into_iter().next());
        let choice_usage = choice.as_ref().and_then(|choice| choice.usage);
        if let Some(report) = chunk.usage.or(choice_usage)
            && let Some(usage) = chunk::usage(report)
        {
            message.set_usage(usage);
            if openrouter::is_openrouter(&self.model)
                && let Some(billed) = BilledCost::from_report(report)
            {
                message.update(|message| billed.apply(&mut message.usage.cost));
            }
        }
        match choice {
            Some(choice) => self.handle_choice(&choice, message),
            None => Ok(()),
        }
    }

    fn record_ids(&self, chunk: &ChatChunk<'_>, message: &mut MessageBuilder) {
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

    fn handle_choice(
        &mut self,
        choice: &ChatChoice<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        if let Some(reason) = choice.finish_reason.as_deref()
            && !reason.is_empty()
        {
            let finish = FinishOutcome::from_reason(reason);
            message.stop(finish.stop_reason(), Some(reason));
            self.finish = Some(finish);
        }
        match &choice.delta {
            Some(delta) => self.handle_delta(delta, message),
            None => Ok(()),
        }
    }

    fn handle_delta(
        &mut self,
        delta: &ChunkDelta<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        // Some proxies send reasoning and text in one chunk; the reasoning precedes the text.
        if let Some((field, text)) = delta.thinking() {
            let block = self.thinking_block(reasoning_field(&self.model, field), message);
            message.append_thinking(block, &text);
        }
        if let Some(details) = delta.reasoning_details
            && self.details.push(details)
        {
            self.thinking_block("", message);
        }
        let text = delta.content.and_then(chat_stream::text);
        self.append_text(text.as_deref(), message);
        // A refusal is shown to the user like text.
        self.append_text(delta.refusal.as_deref(), message);
        for call in delta.tool_calls.iter().flatten() {
            self.handle_call(call, message)?;
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

    fn handle_call(
        &mut self,
        call: &ToolCallDelta<'_>,
        message: &mut MessageBuilder,
    ) -> Result<(), ProviderError> {
        let (id, name) = (call.id(), call.name());
        let existing = self.calls.find(call.index(), id, name);
        let block = existing.unwrap_or_else(|| {
            let block = message.open_tool_call(ToolCall {
                id: id.unwrap_or_default().to_owned(),
                name: name.unwrap_or_default().to_owned(),
                ..ToolCall::default()
            });
            self.calls.register(block, call.index(), id);
            block
        });
        if existing.is_some() {
            message.with_tool_call(block, |call| {
                if call.id.is_empty() {
                    id.unwrap_or_default().clone_into(&mut call.id);
                }
                if call.name.is_empty() {
                    name.unwrap_or_default().clone_into(&mut call.name);
                }
            });
        }
        let delta = if call.is_custom() {
            let input = call.custom.as_ref().and_then(|call| call.input.as_deref());
            Cow::Owned(self.input_json(block, input.unwrap_or_default(), message)?)
        } else {
            let arguments = call.function.as_ref().and_then(|call| call.arguments);
            arguments.map_or(Cow::default(), chat_stream::arguments)
        };
        message.append_arguments_or_empty(block, &delta);
        Ok(())
    }

    /// Converts a delta of a custom call's input to the JSON text of its arguments.
    fn input_json(
        &mut self,
        block: usize,
        input: &str,
        message: &mut MessageBuilder,
    ) -> Result<String, ProviderError> {
        let position = self.custom_inputs.iter().position(|(of, _)| *of == block);
        let position = position.unwrap_or_else(|| {
            let name = message.with_tool_call(block, |call| call.name.clone());
            let property = self.inputs.get(&name.unwrap_or_default());
            let property = property.map_or(UNDECLARED_INPUT, String::as_str);
            self.custom_inputs
                .push((block, GrammarInput::new(property)));
            self.custom_inputs.len() - 1
        });
        match self.custom_inputs.get_mut(position) {
            Some((_, collected)) => collected.push(input),
            None => Ok(String::new()),
        }
    }

    /// Closes all blocks in order, and returns the outcome of the response.
    fn finish_response(&mut self, message: &mut MessageBuilder) -> Result<(), ProviderError> {
        self.set_thinking_signature(message);
        let kinds: Vec<BlockKind> = message.read(|message| {
            let blocks = message.content.iter();
            blocks.map(BlockKind::from_block).collect()
        });
        for (block, kind) in kinds.into_iter().enumerate() {
            match kind {
                BlockKind::Text => message.close_text(block),
                BlockKind::Thinking => message.close_thinking(block),
                BlockKind::Call => self.close_call(block, message)?,
            }
        }
        match self.finish.take() {
            Some(FinishOutcome::Failed(error)) => Err(error),
            Some(FinishOutcome::Ended(_)) => Ok(()),
            None if self.requires_finish_reason => Err(ProviderError::network(
                "The stream ended without a finish reason",
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
            // Results refer to calls by ID, so a call without one gets a generated ID.
            let id = format!(
                "call_{}",
                short_hash(&chat_stream::call_id_seed(message, block))
            );
            message.with_tool_call(block, |call| call.id = id);
        }
        message.close_tool_call(block);
        Ok(())
    }

    fn set_thinking_signature(&self, message: &mut MessageBuilder) {
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
    fn from_block(block: &AssistantBlock) -> Self {
        match block {
            AssistantBlock::Text(_) | AssistantBlock::Unknown(_) => Self::Text,
            AssistantBlock::Thinking(_) => Self::Thinking,
            AssistantBlock::ToolCall(_) => Self::Call,
        }
    }
}

/// The outcome of a response.
enum FinishOutcome {
    Ended(StopReason),
    Failed(ProviderError),
}

impl FinishOutcome {
    fn from_reason(reason: &str) -> Self {
        let failed = |class| {
            Self::Failed(ProviderError::new(
                class,
                format!("The service ended the response with finish_reason: {reason}"),
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
