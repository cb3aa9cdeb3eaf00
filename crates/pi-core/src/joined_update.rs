//! Joins the pieces of a growing block.
//!
//! A model sends some hundred pieces per second, and writing a line costs more than its text. The pieces that wait for a
//! client are therefore one line. Its cursor is that of the last piece, so a client that continues there misses nothing.

use std::mem::Discriminant;

use pi_protocol::{AgentEvent, AssistantMessageEvent, SessionEvent};

use crate::event_log::Observer;

/// Takes the pieces of the same block that follow an event and returns them as one; `None` if there are none.
pub fn join_waiting(first: &SessionEvent, observer: &mut Observer) -> Option<SessionEvent> {
    let (block, start) = piece_of(first)?;
    let mut text = String::new();
    let mut last = None;
    while let Some(next) =
        observer.try_next_if(|event| piece_of(event).is_some_and(|(other, _)| other == block))
    {
        if last.is_none() {
            text.push_str(start);
        }
        if let Some((_, delta)) = piece_of(&next.event) {
            text.push_str(delta);
        }
        last = Some(next);
    }
    let mut joined = last?.event.clone();
    if let SessionEvent::Agent(AgentEvent::MessageUpdate {
        assistant_message_event:
            AssistantMessageEvent::TextDelta { delta, .. }
            | AssistantMessageEvent::ThinkingDelta { delta, .. }
            | AssistantMessageEvent::ToolCallDelta { delta, .. },
        ..
    }) = &mut joined
    {
        *delta = text;
    }
    Some(joined)
}

/// Kind and index of a block.
type Block = (Discriminant<AssistantMessageEvent>, usize);

/// Returns the block that an event extends, and the new text.
fn piece_of(event: &SessionEvent) -> Option<(Block, &str)> {
    let SessionEvent::Agent(AgentEvent::MessageUpdate {
        assistant_message_event: event,
        ..
    }) = event
    else {
        return None;
    };
    match event {
        AssistantMessageEvent::TextDelta {
            content_index,
            delta,
        }
        | AssistantMessageEvent::ThinkingDelta {
            content_index,
            delta,
        }
        | AssistantMessageEvent::ToolCallDelta {
            content_index,
            delta,
        } => Some(((std::mem::discriminant(event), *content_index), delta)),
        _ => None,
    }
}
