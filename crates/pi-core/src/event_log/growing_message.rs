//! The response that is being streamed, as of the last event of the log.
//!
//! The shared message is ahead of the log: it grows before the event that reports it is published. A client that starts
//! with the message and continues with the events would see that text twice. So the log counts how much of each block
//! its events have reported.

use pi_protocol::{
    AgentEvent, AgentMessage, AssistantBlock, AssistantMessage, AssistantMessageEvent, LiveMessage,
    SessionEvent,
};

/// How much of a streaming response the events have reported. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct GrowingMessage {
    live: LiveMessage,
    /// Reported bytes of each block.
    reported: Vec<usize>,
}

impl GrowingMessage {
    /// Returns the response as far as it was reported. Arguments of an open tool call are those received so far.
    pub fn message(&self) -> AssistantMessage {
        let mut message = self.live.snapshot();
        message.content.truncate(self.reported.len());
        for (block, reported) in message.content.iter_mut().zip(&self.reported) {
            match block {
                AssistantBlock::Text(text) => shorten(&mut text.text, *reported),
                AssistantBlock::Thinking(thinking) => shorten(&mut thinking.thinking, *reported),
                AssistantBlock::ToolCall(_) | AssistantBlock::Unknown(_) => {}
            }
        }
        message
    }

    fn apply(&mut self, event: &AssistantMessageEvent) {
        use AssistantMessageEvent as Event;
        match event {
            Event::TextStart { content_index }
            | Event::ThinkingStart { content_index }
            | Event::ToolCallStart { content_index, .. } => {
                self.reported(*content_index);
            }
            Event::TextDelta {
                content_index,
                delta,
            }
            | Event::ThinkingDelta {
                content_index,
                delta,
            } => {
                let reported = self.reported(*content_index);
                *reported = reported.saturating_add(delta.len());
            }
            // The end of a block repeats all of it.
            Event::TextEnd { content_index, .. }
            | Event::ThinkingEnd { content_index, .. }
            | Event::ToolCallEnd { content_index, .. } => {
                *self.reported(*content_index) = usize::MAX;
            }
            _ => {}
        }
    }

    fn reported(&mut self, index: usize) -> &mut usize {
        if self.reported.len() <= index {
            self.reported.resize(index + 1, 0);
        }
        &mut self.reported[index]
    }
}

/// Follows the events of a log.
pub(super) fn follow(growing: &mut Option<GrowingMessage>, event: &SessionEvent) {
    match event {
        SessionEvent::Agent(AgentEvent::MessageUpdate {
            assistant_message_event,
            live: Some(live),
            ..
        }) => {
            let growing = growing.get_or_insert_default();
            growing.live = live.clone();
            growing.apply(assistant_message_event);
        }
        SessionEvent::Agent(
            AgentEvent::MessageStart { message } | AgentEvent::MessageEnd { message },
        ) if matches!(**message, AgentMessage::Assistant(_)) => {
            *growing = None;
        }
        SessionEvent::AgentEnd { .. } | SessionEvent::AgentSettled { .. } => *growing = None,
        _ => {}
    }
}

fn shorten(text: &mut String, length: usize) {
    if length < text.len() {
        text.truncate(text.floor_char_boundary(length));
    }
}
