//! Line framing: one JSON record per line, separated by LF only.
//!
//! U+2028 and U+2029 are data, and so is a CR anywhere except at the end of a line. A line longer
//! than the limit is reported and skipped, so a client that never sends LF cannot exhaust memory.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Maximum length of a line a server reads; allows a prompt with several large images.
pub const COMMAND_LINE_LIMIT: usize = 64 * 1024 * 1024;

const CHUNK: usize = 64 * 1024;

/// Capacity that is kept for the next line.
const KEPT_CAPACITY: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineFrame {
    /// A line without its line ending; invalid UTF-8 is replaced with U+FFFD.
    Line(String),
    /// A line that exceeded the limit and was dropped.
    TooLong,
}

/// Splits a byte stream into lines, independent of chunk boundaries.
#[derive(Debug)]
pub struct LineDecoder {
    buffer: Vec<u8>,
    /// Start of the next line.
    start: usize,
    /// Position up to which no line ending was found.
    searched: usize,
    limit: usize,
    /// Whether the current line is too long and is dropped up to its end.
    skipping: bool,
}

impl LineDecoder {
    /// Creates a decoder that rejects lines longer than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            limit,
            skipping: false,
        }
    }

    /// Adds bytes. Take the available frames before adding more, since they stay in memory.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
            // The memory of a long line is not kept for a session that may last for days.
            self.buffer.shrink_to(KEPT_CAPACITY);
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete line.
    pub fn next_frame(&mut self) -> Option<LineFrame> {
        loop {
            let unseen = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(offset) = unseen.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                return self.drop_overlong();
            };
            let end = self.searched + offset;
            let line = self.buffer.get(self.start..end).unwrap_or_default();
            let frame = if self.skipping {
                None
            } else if line.len() > self.limit {
                Some(LineFrame::TooLong)
            } else {
                Some(LineFrame::Line(text(line)))
            };
            self.skipping = false;
            self.start = end + 1;
            self.searched = self.start;
            if frame.is_some() {
                return frame;
            }
        }
    }

    /// Returns the data after the last line ending, at the end of the input.
    pub fn finish(&mut self) -> Option<LineFrame> {
        let line = self.buffer.get(self.start..).unwrap_or_default();
        let frame = (!line.is_empty() && !self.skipping).then(|| LineFrame::Line(text(line)));
        self.buffer.clear();
        (self.start, self.searched, self.skipping) = (0, 0, false);
        frame
    }

    fn drop_overlong(&mut self) -> Option<LineFrame> {
        if self.buffer.len() - self.start <= self.limit {
            return None;
        }
        self.buffer = Vec::new();
        (self.start, self.searched) = (0, 0);
        (!std::mem::replace(&mut self.skipping, true)).then_some(LineFrame::TooLong)
    }
}

fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    String::from_utf8_lossy(line).into_owned()
}

/// Reads the lines of a client.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    decoder: LineDecoder,
    chunk: Vec<u8>,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Creates a reader that rejects lines longer than `limit` bytes.
    pub fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            decoder: LineDecoder::new(limit),
            chunk: vec![0; CHUNK],
            ended: false,
        }
    }

    /// Reads the next line; `None` at the end of the stream. Cancel safe: no data is lost if the
    /// future is dropped.
    pub async fn next(&mut self) -> io::Result<Option<LineFrame>> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                return Ok(Some(frame));
            }
            if self.ended {
                return Ok(self.decoder.finish());
            }
            let read = self.reader.read(&mut self.chunk).await?;
            self.ended = read == 0;
            self.decoder
                .push(self.chunk.get(..read).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn frames(chunks: &[&[u8]], limit: usize) -> Vec<LineFrame> {
        let mut decoder = LineDecoder::new(limit);
        let mut frames = Vec::new();
        for chunk in chunks {
            decoder.push(chunk);
            frames.extend(std::iter::from_fn(|| decoder.next_frame()));
        }
        frames.extend(decoder.finish());
        frames
    }

    fn line(text: &str) -> LineFrame {
        LineFrame::Line(text.to_owned())
    }

    #[test]
    fn only_line_feeds_separate_lines() {
        for (input, expected) in [
            ("", vec![]),
            ("a\nb\n", vec![line("a"), line("b")]),
            ("a\r\nb\r\r\n", vec![line("a"), line("b\r")]),
            ("\n\na", vec![line(""), line(""), line("a")]),
            (
                "a\u{2028}b\u{2029}\u{85}\n",
                vec![line("a\u{2028}b\u{2029}\u{85}")],
            ),
            ("tail\r", vec![line("tail")]),
        ] {
            assert_eq!(frames(&[input.as_bytes()], 100), expected, "{input:?}");
        }
    }

    #[test]
    fn invalid_utf8_does_not_end_the_stream() {
        assert_eq!(
            frames(&[b"\xff\xfe\nok\n"], 100),
            [line("\u{fffd}\u{fffd}"), line("ok")]
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_once_and_skipped() {
        let expected = [line("ab"), LineFrame::TooLong, line("cd"), line("abcd")];
        assert_eq!(frames(&[b"ab\n12345\ncd\nabcd"], 4), expected);
        assert_eq!(
            frames(&[b"ab\n", b"12345", b"6789", b"0\ncd\nab", b"cd"], 4),
            expected
        );
    }

    #[test]
    fn an_endless_line_is_not_buffered() {
        let mut decoder = LineDecoder::new(1000);
        for _ in 0..100 {
            decoder.push(&[b'x'; 500]);
            decoder.next_frame();
            assert!(decoder.buffer.capacity() <= 4000);
        }
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_matter(
            input in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
            cuts in prop::collection::vec(0_usize..200, 0..8),
            limit in 1_usize..40,
        ) {
            let unsplit = frames(&[&input], limit);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(input.len())).collect();
            cuts.extend([0, input.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect();
            prop_assert_eq!(frames(&pieces, limit), unsplit);
        }
    }

    #[tokio::test]
    async fn a_reader_returns_the_tail_and_then_none() {
        let mut reader = LineReader::new(&b"one\ntwo"[..], 100);
        assert_eq!(reader.next().await.unwrap(), Some(line("one")));
        assert_eq!(reader.next().await.unwrap(), Some(line("two")));
        assert_eq!(reader.next().await.unwrap(), None);
        assert_eq!(reader.next().await.unwrap(), None);
    }
}
