//! Streaming assistant messages and their tool calls.

use std::any::Any;

use pi_protocol::json::JsonObject;
use pi_protocol::{AssistantMessage, AssistantMessageEvent, LiveMessage, StopReason};
use pi_tui::{BlockId, Document};
use serde_json::Value;

use super::{Transcript, extension_rendering};
use crate::blocks::block::BlockView;
use crate::blocks::{AssistantMessageBlock, ToolCallBlock};

impl Transcript {
    /// Applies a stream event. Text is read from the message, so that nothing is lost or shown twice when
    /// several updates are combined.
    pub(super) fn assistant_updated(
        &mut self,
        document: &mut Document,
        message: &LiveMessage,
        event: &AssistantMessageEvent,
    ) {
        match event {
            AssistantMessageEvent::TextDelta { .. }
            | AssistantMessageEvent::TextEnd { .. }
            | AssistantMessageEvent::ThinkingDelta { .. }
            | AssistantMessageEvent::ThinkingEnd { .. } => {
                let id = self.assistant_block(document);
                self.update_block::<AssistantMessageBlock>(document, Some(id), |block| {
                    message.read(|message| block.grow(message));
                });
            }
            AssistantMessageEvent::ToolCallStart {
                content_index,
                id,
                tool_name,
            } if !self.arriving.contains_key(content_index) => {
                let renderer = extension_rendering::for_call(&self.bridge, tool_name, id);
                let mut block = ToolCallBlock::arriving(tool_name).rendered_by(renderer);
                block.set_follows_call(ends_with_call(document));
                let block = self.push(document, block);
                self.arriving.insert(*content_index, block);
                self.calls.insert(id.clone(), block);
            }
            AssistantMessageEvent::ToolCallDelta {
                content_index,
                delta,
            } => {
                let id = self.arriving.get(content_index).copied();
                self.update_block::<ToolCallBlock>(document, id, |block| {
                    block.arguments_arrived(delta);
                });
            }
            AssistantMessageEvent::ToolCallEnd {
                content_index,
                tool_call,
            } => {
                let id = self.arriving.get(content_index).copied();
                if let Some(id) = id {
                    self.calls.insert(tool_call.id.clone(), id);
                }
                self.update_block::<ToolCallBlock>(document, id, |block| {
                    block.set_arguments(&tool_call.arguments);
                });
            }
            _ => {}
        }
    }

    pub(super) fn assistant_finished(
        &mut self,
        document: &mut Document,
        answer: &AssistantMessage,
    ) {
        let complete = AssistantMessageBlock::of(answer);
        let is_error = answer.stop_reason == StopReason::Error
            && answer.tool_calls().next().is_none()
            && answer.text().trim().is_empty();
        self.failed = None;
        match self.assistant.take() {
            Some(id) => {
                self.failed = Some(id).filter(|_| is_error);
                self.update_block::<AssistantMessageBlock>(document, Some(id), |block| {
                    block.finish(answer);
                });
            }
            None if !complete.is_blank() => {
                let transform = extension_rendering::for_texts(&self.bridge, None);
                let id = self.push(document, complete.transformed_by(transform));
                self.failed = Some(id).filter(|_| is_error);
            }
            None => {}
        }
        for call in answer.tool_calls() {
            let id = match self.calls.get(&call.id).copied() {
                Some(id) => id,
                None => {
                    let id = self.push_call(document, &call.id, &call.name, &call.arguments);
                    self.calls.insert(call.id.clone(), id);
                    id
                }
            };
            self.update_block::<ToolCallBlock>(document, Some(id), |block| {
                block.set_arguments(&call.arguments);
            });
        }
        let arrived = std::mem::take(&mut self.arriving);
        if let Some(why) = ended_early(answer) {
            let calls = self.calls.drain().map(|(_, id)| id);
            let canceled: Vec<BlockId> = arrived.into_values().chain(calls).collect();
            for id in canceled {
                self.update_block::<ToolCallBlock>(document, Some(id), |block| block.cancel(&why));
            }
        }
    }

    /// Shows a message that was already streaming when we subscribed.
    pub(super) fn catch_up(&mut self, document: &mut Document, message: &LiveMessage) {
        let message = message.snapshot();
        let id = self.assistant_block(document);
        self.update_block::<AssistantMessageBlock>(document, Some(id), |block| {
            block.grow(&message);
        });
        for (index, block) in message.content.iter().enumerate() {
            if let Some(call) = block.as_tool_call() {
                let id = self.push_call(document, &call.id, &call.name, &call.arguments);
                self.arriving.insert(index, id);
                self.calls.insert(call.id.clone(), id);
            }
        }
    }

    fn assistant_block(&mut self, document: &mut Document) -> BlockId {
        match self.assistant {
            Some(id) => id,
            None => {
                let transform = extension_rendering::for_texts(&self.bridge, None);
                let id = self.push(
                    document,
                    AssistantMessageBlock::arriving().transformed_by(transform),
                );
                self.assistant = Some(id);
                id
            }
        }
    }

    /// Returns the block of a call; creates it if it was not announced.
    pub(super) fn call(
        &mut self,
        document: &mut Document,
        id: &str,
        name: &str,
        arguments: &Value,
    ) -> BlockId {
        if let Some(block) = self.calls.get(id) {
            return *block;
        }
        let empty = JsonObject::new();
        let arguments = arguments.as_object().unwrap_or(&empty);
        let block = self.push_call(document, id, name, arguments);
        self.calls.insert(id.to_owned(), block);
        block
    }

    fn push_call(
        &mut self,
        document: &mut Document,
        id: &str,
        name: &str,
        arguments: &JsonObject,
    ) -> BlockId {
        let renderer = extension_rendering::for_call(&self.bridge, name, id);
        let mut block = ToolCallBlock::new(name, arguments).rendered_by(renderer);
        block.set_follows_call(ends_with_call(document));
        self.push(document, block)
    }
}

/// Whether the last block is a tool call.
fn ends_with_call(document: &Document) -> bool {
    let last = document.last().and_then(|id| document.get(id));
    last.is_some_and(|block| (block as &dyn Any).is::<BlockView<ToolCallBlock>>())
}

/// Returns why the calls of a message will never run, if they will not.
pub(super) fn ended_early(answer: &AssistantMessage) -> Option<String> {
    match answer.stop_reason {
        StopReason::Aborted => Some("Interrupted before it started.".to_owned()),
        StopReason::Error => {
            let error = answer.error_message.as_deref().unwrap_or("unknown");
            Some(format!("Request failed: {error}"))
        }
        StopReason::Pending
        | StopReason::Stop
        | StopReason::Length
        | StopReason::ToolUse
        | StopReason::Deferred => None,
    }
}
