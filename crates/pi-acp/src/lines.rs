//! Splits a stream into lines of bounded length.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Allows a prompt with several large images.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

const CHUNK_BYTES: usize = 64 * 1024;

/// Capacity that is kept for the next line.
const KEPT_BYTES: usize = 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClientLine {
    /// Without its line ending; never blank.
    Line(Vec<u8>),
    /// A line that exceeded the limit and was dropped.
    TooLong,
}

pub(crate) struct LineReader<R> {
    reader: R,
    limit: usize,
    /// The bytes that were read last, from `position` on not yet processed.
    chunk: Vec<u8>,
    position: usize,
    line: Vec<u8>,
    /// Whether the current line is too long and dropped up to its end.
    is_skipping: bool,
    has_ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::with_limit(reader, MAX_LINE_BYTES)
    }

    fn with_limit(reader: R, limit: usize) -> Self {
        Self {
            reader,
            limit,
            chunk: Vec::new(),
            position: 0,
            line: Vec::new(),
            is_skipping: false,
            has_ended: false,
        }
    }

    /// Reads the next line; `None` at the end of the stream. Cancel safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<ClientLine>> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            if self.has_ended {
                return Ok(None);
            }
            self.chunk.clear();
            self.position = 0;
            self.chunk.reserve(CHUNK_BYTES);
            self.has_ended = self.reader.read_buf(&mut self.chunk).await? == 0;
        }
    }

    fn take_line(&mut self) -> Option<ClientLine> {
        loop {
            let unread = self.chunk.get(self.position..).unwrap_or_default();
            let end = unread.iter().position(|byte| *byte == b'\n');
            let part = unread
                .get(..end.unwrap_or(unread.len()))
                .unwrap_or_default();
            if !self.is_skipping {
                self.line.extend_from_slice(part);
            }
            self.position += part.len() + usize::from(end.is_some());
            let is_complete = end.is_some() || self.has_ended;
            if self.line.len() > self.limit {
                self.line = Vec::new();
                self.is_skipping = !is_complete;
                return Some(ClientLine::TooLong);
            }
            if !is_complete {
                return None;
            }
            self.is_skipping = false;
            let line = std::mem::take(&mut self.line);
            if !line.trim_ascii().is_empty() {
                return Some(ClientLine::Line(line));
            }
            self.line = line;
            self.line.clear();
            self.line.shrink_to(KEPT_BYTES);
            end?;
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    async fn lines(input: &[u8]) -> Vec<ClientLine> {
        let mut reader = LineReader::with_limit(input, 5);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_reported_once_and_skipped() {
        let line = |text: &str| ClientLine::Line(text.as_bytes().to_vec());
        for (input, expected) in [
            ("", vec![]),
            ("\n \r\n", vec![]),
            ("ab\n\ncd", vec![line("ab"), line("cd")]),
            (
                "ab\n123456\ncd\n",
                vec![line("ab"), ClientLine::TooLong, line("cd")],
            ),
            ("123456", vec![ClientLine::TooLong]),
            ("12345\n", vec![line("12345")]),
        ] {
            assert_eq!(lines(input.as_bytes()).await, expected, "{input:?}");
        }
    }

    #[tokio::test]
    async fn a_long_line_is_not_kept_in_memory() {
        let input = vec![b'x'; 4 * CHUNK_BYTES];
        let mut reader = LineReader::with_limit(&*input, CHUNK_BYTES / 2);
        assert_eq!(reader.next().await.unwrap(), Some(ClientLine::TooLong));
        assert_eq!(reader.next().await.unwrap(), None);
        assert!(reader.line.capacity() <= CHUNK_BYTES);
    }
}
