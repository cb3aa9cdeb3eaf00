//! A push parser for AWS event-stream frames: bytes in at any split, whole frames out.
//!
//! Checksums and header encoding are `aws_smithy_eventstream`'s; this file cuts the frames and
//! bounds them.

use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::Message;
use bytes::{Buf, BytesMut};

use crate::error::ProviderError;

/// The largest frame the format's services send: 16 MiB of payload and room for headers.
const LARGEST_FRAME: usize = 24 * 1024 * 1024;
/// Two lengths, their checksum, and the checksum of the whole.
const SMALLEST_FRAME: usize = 16;

/// One frame.
#[derive(Debug)]
pub(crate) struct EventFrame(Message);

impl EventFrame {
    /// Returns a header that is a string.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let header = self
            .0
            .headers()
            .iter()
            .find(|header| header.name().as_str() == name)?;
        header.value().as_string().ok().map(|value| value.as_str())
    }

    /// Returns the kind of the frame: `event`, `exception` or `error`.
    pub(crate) fn message_type(&self) -> Option<&str> {
        self.header(":message-type")
    }

    /// Returns the name of an event.
    pub(crate) fn event_type(&self) -> Option<&str> {
        self.header(":event-type")
    }

    /// Returns the name of an exception.
    pub(crate) fn exception_type(&self) -> Option<&str> {
        self.header(":exception-type")
    }

    /// Returns the payload.
    pub(crate) fn payload(&self) -> &[u8] {
        self.0.payload()
    }
}

/// Splits bytes into frames.
#[derive(Debug, Default)]
pub(crate) struct EventStreamParser {
    buffer: BytesMut,
}

impl EventStreamParser {
    /// Creates a parser for one body.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands out the frames they complete.
    ///
    /// A frame whose checksum is wrong ends the parse, as does an error of the callback.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        mut on_frame: impl FnMut(&EventFrame) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        self.buffer.extend_from_slice(bytes);
        while let Some(frame) = self.next_frame()? {
            on_frame(&frame)?;
        }
        Ok(())
    }

    /// Takes the end of the body; bytes of an unfinished frame are an error.
    pub(crate) fn finish(&self) -> Result<(), ProviderError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        Err(ProviderError::network(
            "The event stream ended without the rest of its last frame",
        ))
    }

    fn next_frame(&mut self) -> Result<Option<EventFrame>, ProviderError> {
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
        let message = read_message_from(frame).map_err(|error| {
            ProviderError::protocol(format!(
                "The service sent an event-stream frame that cannot be read: {error}"
            ))
        })?;
        Ok(Some(EventFrame(message)))
    }
}

#[cfg(test)]
mod tests {
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::event_stream::{Header, HeaderValue};

    use super::*;
    use crate::error::ErrorClass;

    fn frame(event: &str, payload: &str) -> Vec<u8> {
        let text = |value: &str| HeaderValue::String(value.to_owned().into());
        let message = Message::new(payload.to_owned())
            .add_header(Header::new(":message-type", text("event")))
            .add_header(Header::new(":event-type", text(event)))
            .add_header(Header::new("count", HeaderValue::Int32(3)));
        let mut bytes = Vec::new();
        write_message_to(&message, &mut bytes).unwrap();
        bytes
    }

    fn parse<'a>(
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Vec<(String, String)>, ProviderError> {
        let mut parser = EventStreamParser::new();
        let mut frames = Vec::new();
        for piece in pieces {
            parser.push(piece, |frame| {
                assert_eq!(frame.message_type(), Some("event"));
                assert_eq!(frame.exception_type(), None);
                assert_eq!(frame.header("count"), None, "not a string");
                let payload = String::from_utf8(frame.payload().to_vec()).unwrap();
                frames.push((frame.event_type().unwrap().to_owned(), payload));
                Ok(())
            })?;
        }
        parser.finish()?;
        Ok(frames)
    }

    #[test]
    fn frames_come_out_whole_at_any_split() {
        let body = [frame("a", "{\"x\":1}"), frame("b", "")].concat();
        let expected = Ok(vec![
            ("a".to_owned(), "{\"x\":1}".to_owned()),
            ("b".to_owned(), String::new()),
        ]);
        assert_eq!(parse([&body[..]]), expected);
        for size in 1..body.len() {
            assert_eq!(parse(body.chunks(size)), expected, "pieces of {size}");
        }
    }

    #[test]
    fn every_cut_is_an_error_or_ends_at_a_frame() {
        let first = frame("a", "1");
        let body = [first.clone(), frame("b", "2")].concat();
        for length in 0..body.len() {
            let frames = parse([&body[..length]]);
            let at_boundary = length == 0 || length == first.len();
            assert_eq!(frames.is_ok(), at_boundary, "cut at {length}");
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let whole = frame("a", "{\"x\":1}");
        for place in 0..whole.len() {
            let mut body = whole.clone();
            body[place] ^= 1;
            let error = parse([&body[..]]).unwrap_err();
            // A changed length may also leave the frame unfinished.
            let expected = [ErrorClass::Protocol, ErrorClass::Network];
            assert!(expected.contains(&error.class), "byte {place}: {error}");
        }
    }

    #[test]
    fn a_frame_beyond_the_limit_is_not_waited_for() {
        let error = parse([&u32::MAX.to_be_bytes()[..]]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Protocol);
    }
}
