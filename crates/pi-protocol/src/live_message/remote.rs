//! A message that grows in another process: events that were read from JSON are applied to a copy.

use super::LiveMessage;
use crate::assistant_event::AssistantMessageEvent;
use crate::content::{AssistantBlock, TextContent, ThinkingContent, ToolCall};
use crate::message::AssistantMessage;
use crate::usage::Usage;

impl LiveMessage {
    /// Creates a copy of a message that is streamed elsewhere, as it is now.
    pub fn copy_of(message: AssistantMessage) -> Self {
        Self::new(message)
    }

    /// Applies an event to the copy. An event that does not fit the message so far is ignored.
    pub fn apply(&self, event: &AssistantMessageEvent, usage: &Usage) {
        let mut draft = self.lock();
        let draft = &mut *draft;
        draft.message.usage = usage.clone();
        let content = &mut draft.message.content;
        let mut open = |index: usize, block: AssistantBlock| {
            if index == content.len() {
                content.push(block);
            }
        };
        match event {
            AssistantMessageEvent::TextStart { content_index } => {
                open(*content_index, AssistantBlock::Text(TextContent::default()));
            }
            AssistantMessageEvent::ThinkingStart { content_index } => {
                let block = AssistantBlock::Thinking(ThinkingContent::default());
                open(*content_index, block);
            }
            AssistantMessageEvent::ToolCallStart {
                content_index,
                id,
                tool_name,
            } => {
                let call = ToolCall {
                    id: id.clone(),
                    name: tool_name.clone(),
                    ..ToolCall::default()
                };
                open(*content_index, AssistantBlock::ToolCall(call));
                draft.open_arguments.insert(*content_index, String::new());
            }
            AssistantMessageEvent::TextDelta {
                content_index,
                delta,
            } => {
                if let Some(AssistantBlock::Text(block)) = content.get_mut(*content_index) {
                    block.text.push_str(delta);
                }
            }
            AssistantMessageEvent::ThinkingDelta {
                content_index,
                delta,
            } => {
                if let Some(AssistantBlock::Thinking(block)) = content.get_mut(*content_index) {
                    block.thinking.push_str(delta);
                }
            }
            AssistantMessageEvent::ToolCallDelta {
                content_index,
                delta,
            } => {
                if let Some(text) = draft.open_arguments.get_mut(content_index) {
                    text.push_str(delta);
                }
            }
            AssistantMessageEvent::TextEnd {
                content_index,
                content: text,
                ..
            } => {
                if let Some(AssistantBlock::Text(block)) = content.get_mut(*content_index) {
                    block.text.clone_from(text);
                }
            }
            AssistantMessageEvent::ThinkingEnd {
                content_index,
                content: text,
                ..
            } => {
                if let Some(AssistantBlock::Thinking(block)) = content.get_mut(*content_index) {
                    block.thinking.clone_from(text);
                }
            }
            AssistantMessageEvent::ToolCallEnd {
                content_index,
                tool_call,
            } => {
                draft.open_arguments.remove(content_index);
                if let Some(AssistantBlock::ToolCall(call)) = content.get_mut(*content_index) {
                    call.clone_from(tool_call);
                }
            }
            AssistantMessageEvent::Start { .. } => {}
            AssistantMessageEvent::Done { message, .. }
            | AssistantMessageEvent::Error { error: message, .. } => {
                draft.message.clone_from(message);
                draft.open_arguments.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::live_message::MessageBuilder;
    use crate::model::Model;

    #[test]
    fn a_copy_follows_the_events_of_the_original() {
        let mut original = MessageBuilder::new(&Model::unknown(), 7);
        let copy = LiveMessage::copy_of(original.read(Clone::clone));
        let usage = Usage::default();
        let follow = |original: &mut MessageBuilder| {
            for event in original.take_events() {
                let json = serde_json::to_string(&event).unwrap();
                copy.apply(&serde_json::from_str(&json).unwrap(), &usage);
            }
            assert_eq!(copy.snapshot(), original.live().snapshot());
        };
        let thought = original.open_thinking();
        original.append_thinking(thought, "so");
        follow(&mut original);
        original.close_thinking(thought);
        let text = original.open_text();
        original.append_text(text, "a");
        original.append_text(text, "b");
        follow(&mut original);
        original.close_text(text);
        let call = original.open_tool_call(ToolCall {
            id: "c".to_owned(),
            name: "bash".to_owned(),
            ..ToolCall::default()
        });
        original.append_arguments(call, r#"{"command":"l"#);
        follow(&mut original);
        original.append_arguments(call, r#"s"}"#);
        original.close_tool_call(call);
        follow(&mut original);
        copy.apply(
            &serde_json::from_value(json!({"type":"text_delta","contentIndex":9,"delta":"x"}))
                .unwrap(),
            &usage,
        );
        assert_eq!(copy.snapshot(), original.live().snapshot());
    }
}
