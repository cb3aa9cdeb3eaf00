//! Server-sent events with the IDs from which a stream can be resumed.

use std::time::Duration;

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

/// Splits the bytes of a stream into the data of its messages.
#[derive(Debug, Default)]
pub(crate) struct EventDecoder {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    is_other_event: bool,
}

/// An event is longer than any message may be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

impl EventDecoder {
    /// Returns the data of the messages that are complete.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        position: &mut StreamPosition,
    ) -> Result<Vec<Vec<u8>>, EventTooLong> {
        let mut messages = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            messages.extend(self.process_line(line, position));
        }
        let length = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
        if length > MAX_MESSAGE_BYTES {
            return Err(EventTooLong);
        }
        Ok(messages)
    }

    /// Returns the data of a message that no empty line follows.
    pub(crate) fn finish(&mut self, position: &mut StreamPosition) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        self.process_line(&line, position)
            .or_else(|| self.process_line(b"", position))
    }

    fn process_line(&mut self, line: &[u8], position: &mut StreamPosition) -> Option<Vec<u8>> {
        if line.is_empty() {
            let is_message = !std::mem::take(&mut self.is_other_event);
            let data = self.data.take()?;
            position.has_events = true;
            return Some(data).filter(|data| is_message && !data.trim_ascii().is_empty());
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.is_other_event = !matches!(value, b"" | b"message"),
            b"id" if !value.contains(&0) => {
                let id = String::from_utf8_lossy(value).into_owned();
                position.last_event_id = Some(id);
            }
            b"retry" => {
                let milliseconds = std::str::from_utf8(value).ok();
                let milliseconds = milliseconds.and_then(|text| text.parse::<u32>().ok());
                if let Some(milliseconds) = milliseconds {
                    position.retry = Some(Duration::from_millis(milliseconds.into()));
                }
            }
            // Comments have an empty name.
            _ => {}
        }
        None
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
            let (mut decoder, mut position) = (EventDecoder::default(), StreamPosition::default());
            let mut messages = Vec::new();
            for chunk in text.chunks(size) {
                messages.extend(decoder.push(chunk, &mut position).unwrap());
            }
            messages.extend(decoder.finish(&mut position));
            assert_eq!(
                messages,
                [b"{\"a\":\n1}".to_vec(), b"last".to_vec()],
                "{size}"
            );
            assert_eq!(position.last_event_id.as_deref(), Some("7"));
            assert_eq!(position.retry, Some(Duration::from_millis(10)));
            assert!(position.has_events);
        }
    }

    #[test]
    fn an_endless_event_is_an_error() {
        let (mut decoder, mut position) = (EventDecoder::default(), StreamPosition::default());
        let chunk = vec![b'x'; MAX_MESSAGE_BYTES + 1];
        assert_eq!(decoder.push(&chunk, &mut position), Err(EventTooLong));
    }
}
