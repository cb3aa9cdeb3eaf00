//! A push parser for server-sent events: bytes in at any split, whole events out.
//!
//! `sse-stream` pulls from an async body, which would put I/O inside the decoders; this one is
//! pushed, so that decoders stay plain functions over bytes. An event that lies whole in one chunk
//! is handed out without a copy.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use crate::error::ProviderError;

/// The largest event that is collected; a body that never ends an event must not fill the memory.
const LARGEST_EVENT: usize = 64 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SseEvent<'a> {
    /// The event's type, when it has one.
    pub event: Option<&'a str>,
    /// Its data lines, joined by line feeds.
    pub data: &'a str,
}

/// Splits bytes into events.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    /// The bytes of a line whose end has not arrived.
    line: Vec<u8>,
    /// What earlier chunks held of the event that is being collected.
    pending: Fields<'static>,
    /// The last chunk ended in a carriage return: a line feed that follows belongs to it.
    after_carriage_return: bool,
    /// The first line is read; only there may a byte order mark stand.
    past_first_line: bool,
}

/// The fields of an event under way; borrowed as long as they lie in the current chunk.
#[derive(Debug, Default)]
struct Fields<'chunk> {
    event: Option<Cow<'chunk, [u8]>>,
    data: Option<Cow<'chunk, [u8]>>,
}

impl SseParser {
    /// Creates a parser for one body.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands out the events they complete.
    ///
    /// Bytes that are not UTF-8 are replaced. An error of the callback ends the parse.
    pub(crate) fn push(
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
                let line = self.without_mark(line);
                fields.take_line(line, Cow::Borrowed, &mut on_event)?;
            } else {
                let mut collected = std::mem::take(&mut self.line);
                collected.extend_from_slice(line);
                let line = self.without_mark(&collected);
                fields.take_line(line, |value| Cow::Owned(value.to_vec()), &mut on_event)?;
                // The allocation serves the next line that a chunk cuts in two.
                collected.clear();
                self.line = collected;
            }
        }
        self.line.extend_from_slice(rest);
        self.pending = fields.into_owned();
        if self.line.len() + self.pending.len() > LARGEST_EVENT {
            return Err(ProviderError::protocol(format!(
                "The service sent an event larger than {} MiB",
                LARGEST_EVENT / (1024 * 1024)
            )));
        }
        Ok(())
    }

    /// Takes the end of the body and hands out an event that no blank line ended.
    ///
    /// The standard drops such an event, but services do leave out the last blank line, and clients
    /// in use accept that. The data may be cut anywhere: a decoder that cannot read it here should
    /// treat the answer as ended early, not as malformed.
    pub(crate) fn finish(
        &mut self,
        mut on_event: impl FnMut(SseEvent<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let line = std::mem::take(&mut self.line);
        let mut fields = std::mem::take(&mut self.pending);
        if !line.is_empty() {
            let line = self.without_mark(&line);
            fields.take_line(line, |value| Cow::Owned(value.to_vec()), &mut on_event)?;
        }
        fields.hand_out(&mut on_event)
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

    fn without_mark<'line>(&mut self, line: &'line [u8]) -> &'line [u8] {
        if self.past_first_line {
            return line;
        }
        self.past_first_line = true;
        line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
    }
}

impl<'chunk> Fields<'chunk> {
    /// Takes one line without its end; `keep` says how its value is held until the event is whole.
    fn take_line<'line>(
        &mut self,
        line: &'line [u8],
        keep: impl FnOnce(&'line [u8]) -> Cow<'chunk, [u8]>,
        on_event: &mut impl FnMut(SseEvent<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        if line.is_empty() {
            return self.hand_out(on_event);
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
                None => self.data = Some(keep(value)),
                Some(data) => {
                    let data = data.to_mut();
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            },
            b"event" => self.event = Some(keep(value)),
            // Comments have an empty name; `id`, `retry` and unknown fields mean nothing here.
            _ => {}
        }
        Ok(())
    }

    fn hand_out(
        &mut self,
        on_event: &mut impl FnMut(SseEvent<'_>) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let Self { event, data } = std::mem::take(self);
        // An event without a data field is none.
        let Some(data) = data else {
            return Ok(());
        };
        let event = event.as_deref().map(as_text);
        on_event(SseEvent {
            event: event.as_deref().filter(|name| !name.is_empty()),
            data: &as_text(&data),
        })
    }

    fn len(&self) -> usize {
        self.event.as_deref().map_or(0, <[u8]>::len) + self.data.as_deref().map_or(0, <[u8]>::len)
    }

    fn into_owned(self) -> Fields<'static> {
        let own = |value: Cow<'_, [u8]>| Cow::Owned(value.into_owned());
        Fields {
            event: self.event.map(own),
            data: self.data.map(own),
        }
    }
}

/// Reads text, which nearly always is valid: asking first is much quicker than replacing.
fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests;
