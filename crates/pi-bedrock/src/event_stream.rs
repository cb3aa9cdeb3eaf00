//! A push parser for AWS event-stream frames: accepts bytes at any split, emits complete frames.
//!
//! `aws_smithy_eventstream` verifies checksums and decodes headers; this file splits the bytes into
//! frames and limits their size.

use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::Message;
use aws_smithy_types::str_bytes::StrBytes;
use bytes::{Buf, BytesMut};
use pi_protocol::ProviderError;
use pi_providers::wire::StreamEventParser;
use serde_json::{Value, json};

/// Upper bound for a frame: services send up to 16 MiB of payload, plus headers.
const MAX_FRAME: usize = 24 * 1024 * 1024;
/// Two length fields, their checksum, and the checksum of the message.
const MIN_FRAME: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind<'frame> {
    /// An event; the value is its type.
    Event(&'frame str),
    /// A modeled exception; the value is its type.
    Exception(&'frame str),
    Error {
        code: &'frame str,
        message: &'frame str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventFrame<'frame> {
    pub kind: FrameKind<'frame>,
    pub payload: &'frame [u8],
}

#[derive(Debug, Default)]
pub(crate) struct EventStreamParser {
    buffer: BytesMut,
}

impl EventStreamParser {
    /// Consumes the next bytes and passes each completed frame to `on_frame`.
    ///
    /// A wrong checksum or an error of the callback stops parsing.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        mut on_frame: impl FnMut(EventFrame<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        self.buffer.extend_from_slice(bytes);
        while let Some(message) = self.next_message()? {
            on_frame(frame(&message)?)?;
        }
        Ok(())
    }

    fn next_message(&mut self) -> Result<Option<Message>, ProviderError> {
        let Some(length) = self.buffer.first_chunk().copied().map(u32::from_be_bytes) else {
            return Ok(None);
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if !(MIN_FRAME..=MAX_FRAME).contains(&length) {
            return Err(ProviderError::protocol(format!(
                "The service sent an event-stream frame of {length} bytes"
            )));
        }
        if self.buffer.remaining() < length {
            return Ok(None);
        }
        let frame = self.buffer.split_to(length).freeze();
        read_message_from(frame).map(Some).map_err(|error| {
            ProviderError::protocol(format!(
                "The service sent an event-stream frame that cannot be decoded: {error}"
            ))
        })
    }
}

/// Events for hooks: the payload of each frame below the type of its event.
impl StreamEventParser for EventStreamParser {
    fn parse(&mut self, bytes: &[u8]) -> Result<Vec<Value>, ProviderError> {
        let mut events = Vec::new();
        self.push(bytes, |frame| {
            let name = match frame.kind {
                FrameKind::Event(name) | FrameKind::Exception(name) => name,
                FrameKind::Error { code, .. } => code,
            };
            if let Ok(payload) = serde_json::from_slice::<Value>(frame.payload) {
                events.push(json!({ name: payload }));
            }
            Ok(())
        })?;
        Ok(events)
    }
}

fn frame(message: &Message) -> Result<EventFrame<'_>, ProviderError> {
    let text = |name: &str| header(message, name).unwrap_or_default();
    let kind = match text(":message-type") {
        "event" => FrameKind::Event(text(":event-type")),
        "exception" => FrameKind::Exception(text(":exception-type")),
        "error" => FrameKind::Error {
            code: text(":error-code"),
            message: text(":error-message"),
        },
        other => {
            return Err(ProviderError::protocol(format!(
                "The service sent an event-stream frame of unknown type {other:?}"
            )));
        }
    };
    Ok(EventFrame {
        kind,
        payload: message.payload(),
    })
}

fn header<'message>(message: &'message Message, name: &str) -> Option<&'message str> {
    let header = message
        .headers()
        .iter()
        .find(|header| header.name().as_str() == name)?;
    header.value().as_string().ok().map(StrBytes::as_str)
}

/// Returns the kinds and payloads of the AWS event-stream frames in a body that arrives in pieces,
/// and the error that ended the stream early, if any. For the fuzz checks.
pub fn read_frames<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<(String, Vec<u8>)>, Option<String>) {
    let mut parser = EventStreamParser::default();
    let mut frames = Vec::new();
    for piece in pieces {
        let pushed = parser.push(piece, |frame| {
            frames.push((format!("{:?}", frame.kind), frame.payload.to_vec()));
            Ok(())
        });
        if let Err(error) = pushed {
            return (frames, Some(error.to_string()));
        }
    }
    (frames, None)
}

#[cfg(test)]
mod tests {
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::event_stream::{Header, HeaderValue};
    use pi_protocol::ErrorClass;
    use pretty_assertions::assert_eq;

    use super::*;

    fn encode_frame(headers: &[(&'static str, &'static str)], payload: &'static str) -> Vec<u8> {
        let headers = headers
            .iter()
            .map(|(name, value)| Header::new(*name, HeaderValue::String((*value).into())));
        let message = Message::new_from_parts(headers.collect(), payload.as_bytes());
        let mut bytes = Vec::new();
        write_message_to(&message, &mut bytes).unwrap();
        bytes
    }

    fn event_frame(name: &'static str, payload: &'static str) -> Vec<u8> {
        encode_frame(
            &[(":message-type", "event"), (":event-type", name)],
            payload,
        )
    }

    fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, ProviderError> {
        let mut parser = EventStreamParser::default();
        let mut frames = Vec::new();
        for chunk in chunks {
            parser.push(chunk, |frame| {
                let payload = String::from_utf8_lossy(frame.payload);
                frames.push(format!("{:?} {payload}", frame.kind));
                Ok(())
            })?;
        }
        Ok(frames)
    }

    #[test]
    fn frames_decode_the_same_at_any_split() {
        let exception = [
            (":message-type", "exception"),
            (":exception-type", "throttlingException"),
        ];
        let error = [
            (":message-type", "error"),
            (":error-code", "Internal"),
            (":error-message", "oops"),
        ];
        let body = [
            event_frame("metadata", "{\"x\":1}"),
            encode_frame(&exception, "busy"),
            encode_frame(&error, ""),
        ]
        .concat();
        let expected = [
            r#"Event("metadata") {"x":1}"#,
            r#"Exception("throttlingException") busy"#,
            r#"Error { code: "Internal", message: "oops" } "#,
        ];
        for size in 1..=body.len() {
            assert_eq!(
                parse(body.chunks(size)).unwrap(),
                expected,
                "chunks of {size}"
            );
        }
    }

    #[test]
    fn hooks_receive_each_event_below_its_type() {
        let body = [
            event_frame("metadata", "{\"x\":1}"),
            event_frame("odd", "no JSON"),
        ]
        .concat();
        for size in [1, body.len()] {
            let mut parser = EventStreamParser::default();
            let events = body
                .chunks(size)
                .flat_map(|chunk| parser.parse(chunk).unwrap());
            let events: Vec<_> = events.collect();
            assert_eq!(events, [json!({"metadata": {"x": 1}})]);
        }
    }

    #[test]
    fn a_truncated_body_yields_its_complete_frames() {
        let first = event_frame("a", "1");
        let body = [first.clone(), event_frame("b", "2")].concat();
        for length in 0..body.len() {
            let frames = parse([&body[..length]]).unwrap();
            assert_eq!(
                frames.len(),
                usize::from(length >= first.len()),
                "cut at {length}"
            );
        }
    }

    #[test]
    fn a_frame_with_a_flipped_bit_is_rejected() {
        let frame = event_frame("a", "{\"x\":1}");
        for index in 0..frame.len() {
            let mut body = frame.clone();
            body[index] ^= 1;
            match parse([&body[..]]) {
                Err(error) => assert_eq!(error.class, ErrorClass::Protocol, "byte {index}"),
                // The corrupted length makes the parser wait for more bytes.
                Ok(frames) => assert_eq!((frames, index < 4), (Vec::new(), true), "byte {index}"),
            }
        }
    }

    #[test]
    fn frames_of_unknown_type_or_invalid_size_are_rejected() {
        let unknown = encode_frame(&[(":message-type", "greeting")], "");
        let huge = u32::MAX.to_be_bytes();
        let tiny = [0, 0, 0, 3];
        for body in [&unknown[..], &huge, &tiny] {
            assert_eq!(parse([body]).unwrap_err().class, ErrorClass::Protocol);
        }
    }
}
