//! A push parser for AWS event-stream frames: bytes in at any split, whole frames out.
//!
//! Checksums and header encoding are `aws_smithy_eventstream`'s; this file cuts the frames and
//! bounds them.

use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::Message;
use aws_smithy_types::str_bytes::StrBytes;
use bytes::{Buf, BytesMut};

use crate::error::ProviderError;

/// The largest frame the format's services send: 16 MiB of payload and room for headers.
const LARGEST_FRAME: usize = 24 * 1024 * 1024;
/// Two lengths, their checksum, and the checksum of the whole.
const SMALLEST_FRAME: usize = 16;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind<'frame> {
    /// An event of the given type.
    Event(&'frame str),
    /// A failure that the service's interface knows by name.
    Exception(&'frame str),
    Error {
        code: &'frame str,
        /// What the service says of it.
        message: &'frame str,
    },
}

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventFrame<'frame> {
    pub kind: FrameKind<'frame>,
    pub payload: &'frame [u8],
}

/// Splits bytes into frames.
#[derive(Debug, Default)]
pub(crate) struct EventStreamParser {
    buffer: BytesMut,
}

impl EventStreamParser {
    /// Takes the next bytes and hands out the frames they complete.
    ///
    /// A frame whose checksum is wrong ends the parse, as does an error of the callback.
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
        if !(SMALLEST_FRAME..=LARGEST_FRAME).contains(&length) {
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
                "The service sent an event-stream frame that cannot be read: {error}"
            ))
        })
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

#[cfg(test)]
mod tests {
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::event_stream::{Header, HeaderValue};
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::error::ErrorClass;

    fn encoded(headers: &[(&'static str, &'static str)], payload: &'static str) -> Vec<u8> {
        let headers = headers
            .iter()
            .map(|(name, value)| Header::new(*name, HeaderValue::String((*value).into())));
        let message = Message::new_from_parts(headers.collect(), payload.as_bytes());
        let mut bytes = Vec::new();
        write_message_to(&message, &mut bytes).unwrap();
        bytes
    }

    fn event(name: &'static str, payload: &'static str) -> Vec<u8> {
        encoded(
            &[(":message-type", "event"), (":event-type", name)],
            payload,
        )
    }

    fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, ProviderError> {
        let mut parser = EventStreamParser::default();
        let mut frames = Vec::new();
        for piece in pieces {
            parser.push(piece, |frame| {
                let payload = String::from_utf8_lossy(frame.payload);
                frames.push(format!("{:?} {payload}", frame.kind));
                Ok(())
            })?;
        }
        Ok(frames)
    }

    #[test]
    fn frames_are_told_apart_and_come_out_whole_at_any_split() {
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
            event("metadata", "{\"x\":1}"),
            encoded(&exception, "busy"),
            encoded(&error, ""),
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
                "pieces of {size}"
            );
        }
    }

    #[test]
    fn a_cut_body_gives_its_whole_frames() {
        let first = event("a", "1");
        let body = [first.clone(), event("b", "2")].concat();
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
    fn no_frame_with_a_flipped_bit_comes_out() {
        let whole = event("a", "{\"x\":1}");
        for place in 0..whole.len() {
            let mut body = whole.clone();
            body[place] ^= 1;
            match parse([&body[..]]) {
                Err(error) => assert_eq!(error.class, ErrorClass::Protocol, "byte {place}"),
                // The changed length waits for bytes that do not come.
                Ok(frames) => assert_eq!((frames, place < 4), (Vec::new(), true), "byte {place}"),
            }
        }
    }

    #[test]
    fn frames_of_no_known_kind_or_size_are_refused() {
        let unknown = encoded(&[(":message-type", "greeting")], "");
        let huge = u32::MAX.to_be_bytes();
        let tiny = [0, 0, 0, 3];
        for body in [&unknown[..], &huge, &tiny] {
            assert_eq!(parse([body]).unwrap_err().class, ErrorClass::Protocol);
        }
    }
}
