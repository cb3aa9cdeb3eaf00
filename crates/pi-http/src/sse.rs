//! A push parser for server-sent events: accepts bytes at any split, emits complete events.
//!
//! `sse-stream` pulls from an async body, which would put I/O inside the decoders; this one is
//! pushed, so decoders stay plain functions over bytes. An event that lies within one chunk is
//! emitted without a copy.

use std::borrow::Cow;
use std::time::Duration;

use memchr::{memchr, memchr2};
use pi_protocol::ProviderError;

/// Limit for a buffered event; a body that never ends an event must not exhaust memory.
const MAX_EVENT: usize = 64 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    pub event: Option<&'a str>,
    /// The data lines, joined by line feeds.
    pub data: &'a str,
}

/// Where and when a stream that breaks can be opened again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SsePosition {
    pub last_event_id: Option<String>,
    /// How long the server wants clients to wait before.
    pub retry: Option<Duration>,
}

#[derive(Debug)]
pub struct SseParser {
    max_event: usize,
    position: SsePosition,
    /// The bytes of an incomplete line.
    line: Vec<u8>,
    /// Fields of the current event from earlier chunks.
    pending: SseFields<'static>,
    /// The last chunk ended in a carriage return: a line feed that follows belongs to it.
    after_carriage_return: bool,
    /// Set after the first line, the only place where a byte order mark is allowed.
    past_first_line: bool,
}

/// Fields of the current event; borrowed while they lie in the current chunk.
#[derive(Debug, Default)]
struct SseFields<'chunk> {
    event: Option<Cow<'chunk, [u8]>>,
    data: Option<Cow<'chunk, [u8]>>,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT)
    }
}

impl SseParser {
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a parser that rejects events of more bytes.
    pub fn with_limit(max_event: usize) -> Self {
        Self {
            max_event,
            position: SsePosition::default(),
            line: Vec::new(),
            pending: SseFields::default(),
            after_carriage_return: false,
            past_first_line: false,
        }
    }

    /// Returns the last values of the fields `id` and `retry`.
    pub fn position(&self) -> &SsePosition {
        &self.position
    }

    /// Consumes the next bytes and passes each completed event to `on_event`.
    ///
    /// Invalid UTF-8 is replaced. An error of the callback stops parsing.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut on_event: impl FnMut(SseEvent<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let mut rest = bytes;
        if self.after_carriage_return && !rest.is_empty() {
            self.after_carriage_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        let mut fields = std::mem::take(&mut self.pending);
        while let Some(end) = memchr2(b'\r', b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = self.skip_line_end(after);
            if self.line.is_empty() {
                let line = self.strip_byte_order_mark(line);
                let position = &mut self.position;
                fields.process_line(line, Cow::Borrowed, position, &mut on_event)?;
            } else {
                let mut collected = std::mem::take(&mut self.line);
                collected.extend_from_slice(line);
                let line = self.strip_byte_order_mark(&collected);
                let store = |value: &[u8]| Cow::Owned(value.to_vec());
                fields.process_line(line, store, &mut self.position, &mut on_event)?;
                // Reuse the allocation for the next line that spans chunks.
                collected.clear();
                self.line = collected;
            }
        }
        self.line.extend_from_slice(rest);
        self.pending = fields.into_owned();
        if self.line.len() + self.pending.len() > self.max_event {
            return Err(ProviderError::protocol(format!(
                "The service sent an event larger than {} MiB",
                self.max_event / (1024 * 1024)
            )));
        }
        Ok(())
    }

    /// Ends the body and emits an event that was not terminated by a blank line.
    ///
    /// The standard discards such an event, but some services omit the last blank line, and common
    /// clients accept that. The data may be truncated: a decoder that cannot parse it should
    /// report an incomplete response, not a malformed one.
    pub fn finish(
        &mut self,
        mut on_event: impl FnMut(SseEvent<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let line = std::mem::take(&mut self.line);
        let mut fields = std::mem::take(&mut self.pending);
        if !line.is_empty() {
            let line = self.strip_byte_order_mark(&line);
            let store = |value: &[u8]| Cow::Owned(value.to_vec());
            fields.process_line(line, store, &mut self.position, &mut on_event)?;
        }
        fields.emit(&mut on_event)
    }

    fn skip_line_end<'chunk>(&mut self, from_end: &'chunk [u8]) -> &'chunk [u8] {
        match from_end {
            [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
            [b'\r', rest @ ..] => {
                self.after_carriage_return = rest.is_empty();
                rest
            }
            rest => rest,
        }
    }

    fn strip_byte_order_mark<'line>(&mut self, line: &'line [u8]) -> &'line [u8] {
        if self.past_first_line {
            return line;
        }
        self.past_first_line = true;
        line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
    }
}

impl<'chunk> SseFields<'chunk> {
    /// Processes one line without its terminator; `store` converts its value for storage.
    fn process_line<'line>(
        &mut self,
        line: &'line [u8],
        store: impl FnOnce(&'line [u8]) -> Cow<'chunk, [u8]>,
        position: &mut SsePosition,
        on_event: &mut impl FnMut(SseEvent<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        if line.is_empty() {
            return self.emit(on_event);
        }
        let (name, value) = match memchr(b':', line) {
            Some(colon) => {
                let (name, from_colon) = line.split_at(colon);
                let value = from_colon.strip_prefix(b":").unwrap_or(from_colon);
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[] as &[u8]),
        };
        match name {
            b"data" => match &mut self.data {
                None => self.data = Some(store(value)),
                Some(data) => {
                    let data = data.to_mut();
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            },
            b"event" => self.event = Some(store(value)),
            b"id" if !value.contains(&0) => {
                position.last_event_id = Some(decode_utf8(value).into_owned());
            }
            b"retry" => position.retry = parse_milliseconds(value).or(position.retry),
            // Comments have an empty name; unknown fields are ignored.
            _ => {}
        }
        Ok(())
    }

    fn emit(
        &mut self,
        on_event: &mut impl FnMut(SseEvent<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let Self { event, data } = std::mem::take(self);
        // An event without a data field is not dispatched.
        let Some(data) = data else {
            return Ok(());
        };
        let event = event.as_deref().map(decode_utf8);
        on_event(SseEvent {
            event: event.as_deref().filter(|name| !name.is_empty()),
            data: &decode_utf8(&data),
        })
    }

    fn len(&self) -> usize {
        self.event.as_deref().map_or(0, <[u8]>::len) + self.data.as_deref().map_or(0, <[u8]>::len)
    }

    fn into_owned(self) -> SseFields<'static> {
        let to_owned = |value: Cow<'_, [u8]>| Cow::Owned(value.into_owned());
        SseFields {
            event: self.event.map(to_owned),
            data: self.data.map(to_owned),
        }
    }
}

fn parse_milliseconds(value: &[u8]) -> Option<Duration> {
    let is_number = value.iter().all(u8::is_ascii_digit);
    let milliseconds = std::str::from_utf8(value).ok().filter(|_| is_number)?;
    Some(Duration::from_millis(milliseconds.parse().ok()?))
}

/// Decodes text that is nearly always valid: validating first is much faster than replacing.
fn decode_utf8(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests;
