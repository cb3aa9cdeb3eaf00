//! The messages of an event stream, and the position from which it can be resumed.

use std::time::Duration;

use pi_http::{SseEvent, SseParser};

use crate::transport::MAX_MESSAGE_BYTES;

/// Where a stream can be resumed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StreamPosition {
    pub(crate) last_event_id: Option<String>,
    /// How long to wait before the stream is opened again.
    pub(crate) retry: Option<Duration>,
    /// Whether an event has arrived since this was reset.
    pub(crate) has_events: bool,
}

/// Splits the bytes of a stream into the data of its messages, and keeps its position up to date.
#[derive(Debug)]
pub(crate) struct EventDecoder<'stream> {
    parser: SseParser,
    position: &'stream mut StreamPosition,
}

/// An event is longer than any message may be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

impl<'stream> EventDecoder<'stream> {
    pub(crate) fn new(position: &'stream mut StreamPosition) -> Self {
        Self {
            parser: SseParser::with_limit(MAX_MESSAGE_BYTES),
            position,
        }
    }

    /// Returns the data of the messages that are complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, EventTooLong> {
        let mut messages = Messages::default();
        let pushed = self.parser.push(bytes, |event| {
            messages.add(event);
            Ok(())
        });
        pushed.map_err(|_too_long| EventTooLong)?;
        Ok(self.received(messages))
    }

    /// Returns the data of a message that no empty line follows.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let mut messages = Messages::default();
        let finished = self.parser.finish(|event| {
            messages.add(event);
            Ok(())
        });
        debug_assert!(finished.is_ok(), "no event is rejected");
        self.received(messages)
    }

    fn received(&mut self, messages: Messages) -> Vec<String> {
        let position = self.parser.position();
        if position.last_event_id.is_some() {
            self.position
                .last_event_id
                .clone_from(&position.last_event_id);
        }
        self.position.retry = position.retry.or(self.position.retry);
        self.position.has_events |= messages.has_events;
        messages.data
    }
}

#[derive(Default)]
struct Messages {
    has_events: bool,
    data: Vec<String>,
}

impl Messages {
    fn add(&mut self, event: SseEvent<'_>) {
        self.has_events = true;
        let is_message = event.event.is_none_or(|name| name == "message");
        if is_message && !event.data.trim_ascii().is_empty() {
            self.data.push(event.data.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn bytes_may_be_split_anywhere() {
        let text = b": hi\r\nid: 7\nretry: 10\ndata:\n\nevent: message\ndata: {\"a\":\ndata: 1}\n\nevent: other\ndata: x\n\ndata: last";
        for size in 1..text.len() {
            let mut position = StreamPosition::default();
            let mut decoder = EventDecoder::new(&mut position);
            let mut messages = Vec::new();
            for chunk in text.chunks(size) {
                messages.extend(decoder.push(chunk).unwrap());
            }
            messages.extend(decoder.finish());
            assert_eq!(messages, ["{\"a\":\n1}", "last"], "{size}");
            assert_eq!(position.last_event_id.as_deref(), Some("7"));
            assert_eq!(position.retry, Some(Duration::from_millis(10)));
            assert!(position.has_events);
        }
    }

    #[test]
    fn an_endless_event_is_an_error() {
        let mut position = StreamPosition::default();
        let mut decoder = EventDecoder::new(&mut position);
        let chunk = vec![b'x'; MAX_MESSAGE_BYTES + 1];
        assert_eq!(decoder.push(&chunk), Err(EventTooLong));
    }
}
