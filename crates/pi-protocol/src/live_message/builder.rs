//! The writing side of a [`LiveMessage`]: decoders write content blocks here and the matching
//! events are collected.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::LiveMessage;
use super::call_ids::CallIds;
use crate::assistant_event::AssistantMessageEvent;
use crate::content::{AssistantBlock, TextContent, ThinkingContent, ToolCall};
use crate::error::{ErrorClass, ProviderError};
use crate::json::JsonObject;
use crate::message::AssistantMessage;
use crate::model::{Model, ModelCost};
use crate::partial_json;
use crate::stop_reason::StopReason;
use crate::usage::Usage;

/// Error of a tool call whose arguments ended early.
const INCOMPLETE_ARGUMENTS: &str = "its arguments are not complete JSON";

/// Writes a [`LiveMessage`] and collects the matching events.
///
/// Decoders write to it; the driver drains the events after each chunk and ends the message.
#[derive(Debug)]
pub struct MessageBuilder {
    live: LiveMessage,
    prices: ModelCost,
    events: Vec<AssistantMessageEvent>,
    started: bool,
    stop_reason: Option<StopReason>,
    call_ids: CallIds,
}

impl MessageBuilder {
    /// Creates an empty response of the given model.
    pub fn new(model: &Model, timestamp: i64) -> Self {
        let message = AssistantMessage {
            api: model.api.clone(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            timestamp,
            ..AssistantMessage::default()
        };
        Self {
            live: LiveMessage::new(message),
            prices: model.cost.clone(),
            events: Vec::new(),
            started: false,
            stop_reason: None,
            call_ids: CallIds::default(),
        }
    }

    /// Returns the shared read handle.
    pub fn live(&self) -> LiveMessage {
        self.live.clone()
    }

    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub fn take_events(&mut self) -> Vec<AssistantMessageEvent> {
        // The next chunk has about as many.
        let next = Vec::with_capacity(self.events.len());
        std::mem::replace(&mut self.events, next)
    }

    /// Emits `start`, once.
    pub fn start(&mut self) {
        if !self.started {
            self.started = true;
            self.events.push(AssistantMessageEvent::Start {
                message: self.live.clone(),
            });
        }
    }

    /// Changes message fields that have no event: IDs, usage, signatures.
    pub fn update<R>(&mut self, change: impl FnOnce(&mut AssistantMessage) -> R) -> R {
        change(&mut self.live.lock().message)
    }

    pub fn read<R>(&self, read: impl FnOnce(&AssistantMessage) -> R) -> R {
        self.live.read(read)
    }

    /// Stores usage and computes its cost from the model's rates.
    pub fn set_usage(&mut self, mut usage: Usage) {
        usage.apply_cost(&self.prices);
        self.update(|message| message.usage = usage);
    }

    /// Replaces the rates, for a response from another model.
    pub fn set_prices(&mut self, prices: ModelCost) {
        self.prices = prices;
    }

    /// Records why the model stopped; `raw` is the provider's stop reason.
    pub fn stop(&mut self, reason: StopReason, raw: Option<&str>) {
        self.stop_reason = Some(reason);
        self.update(|message| message.raw_stop_reason = raw.map(str::to_owned));
    }

    pub fn stop_reason(&self) -> Option<StopReason> {
        self.stop_reason
    }

    pub fn has_tool_calls(&self) -> bool {
        self.read(|message| message.tool_calls().next().is_some())
    }

    fn open(&mut self, block: AssistantBlock) -> usize {
        self.start();
        let mut draft = self.live.lock();
        draft.message.content.push(block);
        draft.message.content.len() - 1
    }

    /// Opens a text block and returns its index.
    pub fn open_text(&mut self) -> usize {
        let content_index = self.open(AssistantBlock::Text(TextContent::default()));
        self.events
            .push(AssistantMessageEvent::TextStart { content_index });
        content_index
    }

    /// Appends to a text block; an empty delta emits no event.
    pub fn append_text(&mut self, content_index: usize, delta: &str) {
        if !delta.is_empty() {
            self.append_text_or_empty(content_index, delta);
        }
    }

    /// Appends to a text block and emits an event even when the delta is empty, for services where
    /// every delta is an event.
    pub fn append_text_or_empty(&mut self, content_index: usize, delta: &str) {
        self.with_text(content_index, |block| block.text.push_str(delta));
        self.events.push(AssistantMessageEvent::TextDelta {
            content_index,
            delta: delta.to_owned(),
        });
    }

    pub fn close_text(&mut self, content_index: usize) {
        let content = self
            .with_text(content_index, |block| block.text.clone())
            .unwrap_or_default();
        self.events.push(AssistantMessageEvent::TextEnd {
            content_index,
            content,
            content_signature: None,
        });
    }

    /// Closes a text block and includes its signature in the event, for services that send our event format.
    pub fn close_text_with_signature(&mut self, content_index: usize) {
        let ended = self.with_text(content_index, |block| {
            (block.text.clone(), block.text_signature.clone())
        });
        let (content, content_signature) = ended.unwrap_or_default();
        self.events.push(AssistantMessageEvent::TextEnd {
            content_index,
            content,
            content_signature,
        });
    }

    /// Changes a text block, for example its signature.
    pub fn with_text<R>(
        &mut self,
        content_index: usize,
        change: impl FnOnce(&mut TextContent) -> R,
    ) -> Option<R> {
        match self.live.lock().message.content.get_mut(content_index) {
            Some(AssistantBlock::Text(block)) => Some(change(block)),
            _ => None,
        }
    }

    /// Opens a thinking block and returns its index.
    pub fn open_thinking(&mut self) -> usize {
        self.open_thinking_with(ThinkingContent::default())
    }

    /// Opens a thinking block that already has content, such as a redacted one.
    pub fn open_thinking_with(&mut self, block: ThinkingContent) -> usize {
        let content_index = self.open(AssistantBlock::Thinking(block));
        self.events
            .push(AssistantMessageEvent::ThinkingStart { content_index });
        content_index
    }

    /// Appends to a thinking block; an empty delta emits no event.
    pub fn append_thinking(&mut self, content_index: usize, delta: &str) {
        if !delta.is_empty() {
            self.append_thinking_or_empty(content_index, delta);
        }
    }

    /// Appends to a thinking block and emits an event even when the delta is empty, for services
    /// where every delta is an event.
    pub fn append_thinking_or_empty(&mut self, content_index: usize, delta: &str) {
        self.with_thinking(content_index, |block| block.thinking.push_str(delta));
        self.events.push(AssistantMessageEvent::ThinkingDelta {
            content_index,
            delta: delta.to_owned(),
        });
    }

    pub fn close_thinking(&mut self, content_index: usize) {
        let content = self
            .with_thinking(content_index, |block| block.thinking.clone())
            .unwrap_or_default();
        self.events.push(AssistantMessageEvent::ThinkingEnd {
            content_index,
            content,
            content_signature: None,
            redacted: None,
        });
    }

    /// Closes a thinking block and includes its signature in the event, for services that send our event format.
    pub fn close_thinking_with_signature(&mut self, content_index: usize) {
        let ended = self.with_thinking(content_index, |block| {
            (
                block.thinking.clone(),
                block.thinking_signature.clone(),
                block.redacted,
            )
        });
        let (content, content_signature, redacted) = ended.unwrap_or_default();
        self.events.push(AssistantMessageEvent::ThinkingEnd {
            content_index,
            content,
            content_signature,
            redacted,
        });
    }

    /// Changes a thinking block, for example its signature.
    pub fn with_thinking<R>(
        &mut self,
        content_index: usize,
        change: impl FnOnce(&mut ThinkingContent) -> R,
    ) -> Option<R> {
        match self.live.lock().message.content.get_mut(content_index) {
            Some(AssistantBlock::Thinking(block)) => Some(change(block)),
            _ => None,
        }
    }

    /// Opens a tool call and returns its index. Results refer to calls by ID, so a call whose ID is already used
    /// in this message gets a new one.
    pub fn open_tool_call(&mut self, mut call: ToolCall) -> usize {
        call.id = self.call_ids.make_unique(call.id);
        let (id, tool_name) = (call.id.clone(), call.name.clone());
        let content_index = self.open(AssistantBlock::ToolCall(call));
        self.live
            .lock()
            .open_arguments
            .insert(content_index, String::new());
        self.events.push(AssistantMessageEvent::ToolCallStart {
            content_index,
            id,
            tool_name,
        });
        content_index
    }

    /// Appends JSON text to the arguments of an open call; an empty delta emits no event.
    pub fn append_arguments(&mut self, content_index: usize, delta: &str) {
        if !delta.is_empty() {
            self.append_arguments_or_empty(content_index, delta);
        }
    }

    /// Appends JSON text and emits an event even when the delta is empty, for APIs where every delta is an event.
    pub fn append_arguments_or_empty(&mut self, content_index: usize, delta: &str) {
        if let Some(text) = self.live.lock().open_arguments.get_mut(&content_index) {
            text.push_str(delta);
        }
        self.events.push(AssistantMessageEvent::ToolCallDelta {
            content_index,
            delta: delta.to_owned(),
        });
    }

    /// Replaces the collected JSON text of an open call without an event, for services that repeat
    /// the complete text at the end.
    pub fn replace_arguments(&mut self, content_index: usize, text: &str) {
        if let Some(collected) = self.live.lock().open_arguments.get_mut(&content_index) {
            text.clone_into(collected);
        }
    }

    pub fn arguments_text(&self, content_index: usize) -> Option<String> {
        self.live.lock().open_arguments.get(&content_index).cloned()
    }

    /// Changes a tool call, for example its ID or signature.
    pub fn with_tool_call<R>(
        &mut self,
        content_index: usize,
        change: impl FnOnce(&mut ToolCall) -> R,
    ) -> Option<R> {
        match self.live.lock().message.content.get_mut(content_index) {
            Some(AssistantBlock::ToolCall(call)) => {
                let id = call.id.clone();
                let changed = change(call);
                if call.id != id {
                    self.call_ids.insert(&call.id);
                }
                Some(changed)
            }
            _ => None,
        }
    }

    /// Closes a tool call and parses its arguments from the collected JSON text (or keeps those it
    /// was opened with, if none was collected).
    pub fn close_tool_call(&mut self, content_index: usize) {
        let text = self.take_open_arguments(content_index);
        if !text.trim().is_empty() {
            let arguments = match partial_json::parse_finished_object(&text) {
                Some(arguments) => arguments,
                None => {
                    self.live.lock().incomplete_calls.push(content_index);
                    partial_json::parse_object(&text)
                }
            };
            self.with_tool_call(content_index, |call| call.arguments = arguments);
        }
        self.emit_tool_call_end(content_index);
    }

    /// Closes a tool call with arguments that did not arrive as JSON text.
    pub fn close_tool_call_with(&mut self, content_index: usize, arguments: JsonObject) {
        self.take_open_arguments(content_index);
        self.with_tool_call(content_index, |call| call.arguments = arguments);
        self.emit_tool_call_end(content_index);
    }

    fn take_open_arguments(&mut self, content_index: usize) -> String {
        let open = self.live.lock().open_arguments.remove(&content_index);
        open.unwrap_or_default()
    }

    fn emit_tool_call_end(&mut self, content_index: usize) {
        if let Some(tool_call) = self.with_tool_call(content_index, |call| Box::new(call.clone())) {
            self.events.push(AssistantMessageEvent::ToolCallEnd {
                content_index,
                tool_call,
            });
        }
    }

    /// Ends the response; the default stop reason is `stop`. Calls with incomplete arguments are marked,
    /// except when the stop reason `length` already says so.
    pub fn complete(&mut self) {
        self.start();
        let reason = self.stop_reason.unwrap_or(StopReason::Stop);
        if reason != StopReason::Length {
            self.mark_incomplete_calls();
        }
        let message = Arc::new(self.finalized(|message| message.stop_reason = reason));
        self.events
            .push(AssistantMessageEvent::Done { reason, message });
    }

    fn mark_incomplete_calls(&mut self) {
        let incomplete_calls = {
            let mut draft = self.live.lock();
            let incomplete = draft.open_arguments.iter().filter(|(_, text)| {
                !text.trim().is_empty() && partial_json::parse_finished_object(text).is_none()
            });
            let incomplete: Vec<usize> = incomplete.map(|(index, _)| *index).collect();
            let mut incomplete_calls = std::mem::take(&mut draft.incomplete_calls);
            incomplete_calls.extend(incomplete);
            incomplete_calls
        };
        for index in incomplete_calls {
            self.with_tool_call(index, |call| call.set_arguments_error(INCOMPLETE_ARGUMENTS));
        }
    }

    /// Ends the response with an error and keeps the content received so far.
    pub fn fail(&mut self, cause: ProviderError) {
        let reason = match cause.class {
            ErrorClass::Aborted => StopReason::Aborted,
            _ => StopReason::Error,
        };
        let error = Arc::new(self.finalized(|message| {
            message.stop_reason = reason;
            message.error_message = Some(cause.message.clone());
        }));
        self.events.push(AssistantMessageEvent::Error {
            reason,
            error,
            cause: Some(cause),
        });
    }

    fn finalized(&mut self, change: impl FnOnce(&mut AssistantMessage)) -> AssistantMessage {
        let mut message = self.live.snapshot();
        change(&mut message);
        let mut draft = self.live.lock();
        draft.open_arguments.clear();
        draft.message = message.clone();
        message
    }
}
