//! The writing side of a [`LiveMessage`]: what decoders call, block by block, and the events that
//! tell of it.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::LiveMessage;
use crate::content::{AssistantBlock, TextContent, ThinkingContent, ToolCall};
use crate::error::{ErrorClass, ProviderError};
use crate::event::AssistantMessageEvent;
use crate::json::JsonObject;
use crate::message::AssistantMessage;
use crate::model::{Model, ModelCost};
use crate::partial_json;
use crate::stop_reason::StopReason;
use crate::transform::tool_ids;
use crate::usage::Usage;

/// What is said of a call that was not told to its end.
const BROKEN_ARGUMENTS: &str = "its arguments are not whole JSON";

/// Writes a [`LiveMessage`] and collects the events that tell of it.
///
/// Decoders call it; the driver drains the events after each chunk of bytes and ends the message.
#[derive(Debug)]
pub struct MessageBuilder {
    live: LiveMessage,
    prices: ModelCost,
    events: Vec<AssistantMessageEvent>,
    started: bool,
    stop_reason: Option<StopReason>,
}

impl MessageBuilder {
    /// Begins an answer of the given model.
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
        }
    }

    /// Returns the handle readers share.
    pub fn live(&self) -> LiveMessage {
        self.live.clone()
    }

    /// Returns whether events wait to be taken.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Takes the events collected since the last call.
    pub fn take_events(&mut self) -> Vec<AssistantMessageEvent> {
        std::mem::take(&mut self.events)
    }

    /// Tells of the start of the answer, once.
    pub fn start(&mut self) {
        if !self.started {
            self.started = true;
            self.events.push(AssistantMessageEvent::Start {
                message: self.live.clone(),
            });
        }
    }

    /// Changes message fields that no event tells of: ids, usage, signatures.
    pub fn update<R>(&mut self, change: impl FnOnce(&mut AssistantMessage) -> R) -> R {
        change(&mut self.live.lock().message)
    }

    /// Looks at the message so far.
    pub fn read<R>(&self, look: impl FnOnce(&AssistantMessage) -> R) -> R {
        self.live.read(look)
    }

    /// Stores usage and prices it with the model's rates.
    pub fn set_usage(&mut self, mut usage: Usage) {
        usage.apply_cost(&self.prices);
        self.update(|message| message.usage = usage);
    }

    /// Replaces the rates, for a response that another model gave.
    pub fn set_prices(&mut self, prices: ModelCost) {
        self.prices = prices;
    }

    /// Records why the model stopped, with the provider's own word for it.
    pub fn stop(&mut self, reason: StopReason, raw: Option<&str>) {
        self.stop_reason = Some(reason);
        self.update(|message| message.raw_stop_reason = raw.map(str::to_owned));
    }

    /// Returns the recorded stop reason.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.stop_reason
    }

    /// Returns whether the message holds a tool call.
    pub fn has_tool_calls(&self) -> bool {
        self.read(|message| message.tool_calls().next().is_some())
    }

    fn open(&mut self, block: AssistantBlock) -> usize {
        self.start();
        let mut draft = self.live.lock();
        draft.message.content.push(block);
        draft.message.content.len() - 1
    }

    /// Begins a text block and returns its index.
    pub fn open_text(&mut self) -> usize {
        let content_index = self.open(AssistantBlock::Text(TextContent::default()));
        self.events
            .push(AssistantMessageEvent::TextStart { content_index });
        content_index
    }

    /// Appends to a text block; an empty delta is no event.
    pub fn append_text(&mut self, content_index: usize, delta: &str) {
        if !delta.is_empty() {
            self.append_text_part(content_index, delta);
        }
    }

    /// Appends to a text block and tells of it even when the delta is empty, for services whose
    /// every part is an event.
    pub fn append_text_part(&mut self, content_index: usize, delta: &str) {
        self.with_text(content_index, |block| block.text.push_str(delta));
        self.events.push(AssistantMessageEvent::TextDelta {
            content_index,
            delta: delta.to_owned(),
        });
    }

    /// Ends a text block.
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

    /// Ends a text block and tells its signature too, for services that speak our own events.
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

    /// Changes a text block, its signature for instance.
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

    /// Begins a thinking block and returns its index.
    pub fn open_thinking(&mut self) -> usize {
        self.open_thinking_with(ThinkingContent::default())
    }

    /// Begins a thinking block that already has content, such as a redacted one.
    pub fn open_thinking_with(&mut self, block: ThinkingContent) -> usize {
        let content_index = self.open(AssistantBlock::Thinking(block));
        self.events
            .push(AssistantMessageEvent::ThinkingStart { content_index });
        content_index
    }

    /// Appends to a thinking block; an empty delta is no event.
    pub fn append_thinking(&mut self, content_index: usize, delta: &str) {
        if !delta.is_empty() {
            self.append_thinking_part(content_index, delta);
        }
    }

    /// Appends to a thinking block and tells of it even when the delta is empty, for services whose
    /// every part is an event.
    pub fn append_thinking_part(&mut self, content_index: usize, delta: &str) {
        self.with_thinking(content_index, |block| block.thinking.push_str(delta));
        self.events.push(AssistantMessageEvent::ThinkingDelta {
            content_index,
            delta: delta.to_owned(),
        });
    }

    /// Ends a thinking block.
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

    /// Ends a thinking block and tells its signature too, for services that speak our own events.
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

    /// Changes a thinking block, its signature for instance.
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

    /// Begins a tool call and returns its index. Results name their call, so one that comes with the id of
    /// another call of the answer gets one of its own.
    pub fn open_tool_call(&mut self, mut call: ToolCall) -> usize {
        call.id = self.id_of_its_own(call.id);
        let (id, tool_name) = (call.id.clone(), call.name.clone());
        let content_index = self.open(AssistantBlock::ToolCall(call));
        self.live
            .lock()
            .open_arguments
            .push((content_index, String::new()));
        self.events.push(AssistantMessageEvent::ToolCallStart {
            content_index,
            id,
            tool_name,
        });
        content_index
    }

    fn id_of_its_own(&self, given: String) -> String {
        if given.is_empty() {
            return given;
        }
        self.read(|message| {
            let is_taken = |id: &String| message.tool_calls().any(|call| call.id == *id);
            let others = (1..).map(|attempt| tool_ids::another(&given, attempt));
            std::iter::once(given.clone())
                .chain(others)
                .find(|id| !is_taken(id))
                .unwrap_or_default()
        })
    }

    /// Appends JSON text to the arguments of an open call; an empty delta is no event.
    pub fn append_arguments(&mut self, content_index: usize, delta: &str) {
        if !delta.is_empty() {
            self.append_arguments_part(content_index, delta);
        }
    }

    /// Appends a part of the JSON text, be it empty, for APIs where every part is an event.
    pub fn append_arguments_part(&mut self, content_index: usize, delta: &str) {
        if let Some((_, text)) = self
            .live
            .lock()
            .open_arguments
            .iter_mut()
            .rev()
            .find(|(index, _)| *index == content_index)
        {
            text.push_str(delta);
        }
        self.events.push(AssistantMessageEvent::ToolCallDelta {
            content_index,
            delta: delta.to_owned(),
        });
    }

    /// Replaces the collected JSON text of an open call without telling of it, where the service
    /// repeats the whole text at the end.
    pub fn replace_arguments(&mut self, content_index: usize, text: &str) {
        if let Some((_, collected)) = self
            .live
            .lock()
            .open_arguments
            .iter_mut()
            .find(|(index, _)| *index == content_index)
        {
            text.clone_into(collected);
        }
    }

    /// Returns the JSON text collected for an open call.
    pub fn arguments_text(&self, content_index: usize) -> Option<String> {
        let draft = self.live.lock();
        draft
            .open_arguments
            .iter()
            .find(|(index, _)| *index == content_index)
            .map(|(_, text)| text.clone())
    }

    /// Changes a tool call, its id or signature for instance.
    pub fn with_tool_call<R>(
        &mut self,
        content_index: usize,
        change: impl FnOnce(&mut ToolCall) -> R,
    ) -> Option<R> {
        match self.live.lock().message.content.get_mut(content_index) {
            Some(AssistantBlock::ToolCall(call)) => Some(change(call)),
            _ => None,
        }
    }

    /// Ends a tool call, reading its arguments from the collected JSON text (or keeping those it
    /// was opened with, when none was collected).
    pub fn close_tool_call(&mut self, content_index: usize) {
        let text = self.take_open_arguments(content_index);
        if !text.trim().is_empty() {
            let arguments = match partial_json::parse_finished_object(&text) {
                Some(arguments) => arguments,
                None => {
                    self.live.lock().broken_calls.push(content_index);
                    partial_json::parse_object(&text)
                }
            };
            self.with_tool_call(content_index, |call| call.arguments = arguments);
        }
        self.tell_tool_call_end(content_index);
    }

    /// Ends a tool call with arguments that did not arrive as JSON text of ours.
    pub fn close_tool_call_with(&mut self, content_index: usize, arguments: JsonObject) {
        self.take_open_arguments(content_index);
        self.with_tool_call(content_index, |call| call.arguments = arguments);
        self.tell_tool_call_end(content_index);
    }

    fn take_open_arguments(&mut self, content_index: usize) -> String {
        let mut draft = self.live.lock();
        let place = draft
            .open_arguments
            .iter()
            .position(|(index, _)| *index == content_index);
        place
            .map(|place| draft.open_arguments.swap_remove(place).1)
            .unwrap_or_default()
    }

    fn tell_tool_call_end(&mut self, content_index: usize) {
        if let Some(tool_call) = self.with_tool_call(content_index, |call| call.clone()) {
            self.events.push(AssistantMessageEvent::ToolCallEnd {
                content_index,
                tool_call,
            });
        }
    }

    /// Ends the answer. A message without a recorded stop reason ends in `stop`. Calls that were not told to
    /// their end say so, except where the answer as a whole does.
    pub fn complete(&mut self) {
        self.start();
        let reason = self.stop_reason.unwrap_or(StopReason::Stop);
        if reason != StopReason::Length {
            self.mark_broken_calls();
        }
        let message = Arc::new(self.finalized(|message| message.stop_reason = reason));
        self.events
            .push(AssistantMessageEvent::Done { reason, message });
    }

    fn mark_broken_calls(&mut self) {
        let broken = {
            let mut draft = self.live.lock();
            let unended = draft.open_arguments.iter().filter(|(_, text)| {
                !text.trim().is_empty() && partial_json::parse_finished_object(text).is_none()
            });
            let unended: Vec<usize> = unended.map(|(index, _)| *index).collect();
            let mut broken = std::mem::take(&mut draft.broken_calls);
            broken.extend(unended);
            broken
        };
        for index in broken {
            self.with_tool_call(index, |call| call.set_arguments_error(BROKEN_ARGUMENTS));
        }
    }

    /// Ends the answer with an error, keeping what had arrived.
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
            cause,
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
