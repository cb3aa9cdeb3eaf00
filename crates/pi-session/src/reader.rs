//! Reads a session file line by line in chunks. Memory use is bounded by the longest line plus one
//! chunk.

use std::io;

use memchr::memchr;

use crate::log::read_range;
use crate::storage::LogFile;

/// Size of the first read: large enough for a header, and a listing reads thousands of headers.
const FIRST_READ_BYTES: usize = 8 * 1024;

/// Maximum size of a read: large enough that system calls do not matter, small enough for the CPU
/// cache.
const MAX_READ_BYTES: usize = 256 * 1024;

/// UTF-8 byte order mark, which some editors write at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[derive(Debug, Clone, Copy)]
pub(crate) struct RawLine<'file> {
    pub(crate) offset: u64,
    /// Without the line feed.
    pub(crate) bytes: &'file [u8],
    pub(crate) terminated: bool,
}

/// Whether to continue with the next line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineFlow {
    Continue,
    Stop,
}

/// Calls `visit` for every line between two offsets until it returns [`LineFlow::Stop`].
pub(crate) fn each_line(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    visit: impl FnMut(RawLine<'_>) -> LineFlow,
) -> io::Result<()> {
    each_bounded_line(file, start, end, usize::MAX, visit)
}

/// Like [`each_line`], but skips lines that are longer than `limit` bytes without keeping them in memory.
pub(crate) fn each_bounded_line(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    limit: usize,
    mut visit: impl FnMut(RawLine<'_>) -> LineFlow,
) -> io::Result<()> {
    let mut buffer: Vec<u8> = Vec::new();
    // The buffer holds `filled` bytes of the file starting at `base`, with no line feed before
    // `searched`.
    let mut filled = 0;
    let mut base = start;
    let mut searched = 0;
    let mut read_size = FIRST_READ_BYTES;
    // Whether the buffer starts inside of a line that is too long.
    let mut is_skipping = false;
    loop {
        let position = base + filled as u64;
        let requested = usize::try_from(end.saturating_sub(position))
            .unwrap_or(read_size)
            .min(read_size);
        read_size = MAX_READ_BYTES;
        if buffer.len() < filled + requested {
            buffer.resize(filled + requested, 0);
        }
        let count = match buffer.get_mut(filled..filled + requested) {
            Some(room) if requested > 0 => file.read_at(room, position)?,
            _ => 0,
        };
        filled += count;

        let content = buffer.get(..filled).unwrap_or_default();
        let mut line_start = 0;
        while let Some(found) = content.get(searched..).and_then(|rest| memchr(b'\n', rest)) {
            let line_end = searched + found;
            let offset = base + line_start as u64;
            let bytes = content.get(line_start..line_end).unwrap_or_default();
            let is_skipped = std::mem::take(&mut is_skipping) || bytes.len() > limit;
            if !is_skipped && visit(line(offset, bytes, true)) == LineFlow::Stop {
                return Ok(());
            }
            line_start = line_end + 1;
            searched = line_start;
        }
        if count == 0 {
            let bytes = content.get(line_start..).unwrap_or_default();
            if !bytes.is_empty() && !is_skipping && bytes.len() <= limit {
                visit(line(base + line_start as u64, bytes, false));
            }
            return Ok(());
        }
        if filled - line_start > limit {
            is_skipping = true;
            line_start = filled;
        }
        buffer.copy_within(line_start..filled, 0);
        filled -= line_start;
        base += line_start as u64;
        searched = filled;
    }
}

fn line(offset: u64, bytes: &[u8], terminated: bool) -> RawLine<'_> {
    match bytes.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) if offset == 0 => RawLine {
            offset: BYTE_ORDER_MARK.len() as u64,
            bytes: rest,
            terminated,
        },
        _ => RawLine {
            offset,
            bytes,
            terminated,
        },
    }
}

/// Reads one line as text. Invalid UTF-8 is replaced with U+FFFD, as in JavaScript.
pub(crate) fn read_text(file: &dyn LogFile, offset: u64, length: u32) -> io::Result<String> {
    let bytes = read_range(file, offset, offset + u64::from(length))?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::storage::MemoryFile;

    fn lines(content: &[u8], start: u64) -> Vec<(u64, usize, bool)> {
        let file = MemoryFile::new(content.to_vec());
        let mut lines = Vec::new();
        each_line(&file, start, content.len() as u64, |line| {
            lines.push((line.offset, line.bytes.len(), line.terminated));
            LineFlow::Continue
        })
        .unwrap();
        lines
    }

    #[test]
    fn lines_have_correct_offsets() {
        assert_eq!(lines(b"", 0), []);
        assert_eq!(lines(b"\n", 0), [(0, 0, true)]);
        assert_eq!(
            lines(b"ab\n\ncd", 0),
            [(0, 2, true), (3, 0, true), (4, 2, false)]
        );
        assert_eq!(lines(b"ab\ncd\n", 3), [(3, 2, true)]);
        assert_eq!(lines(b"\xEF\xBB\xBFab\n", 0), [(3, 2, true)]);
    }

    #[test]
    fn lines_above_a_limit_are_skipped() {
        let mut content = b"ab\n".to_vec();
        content.extend(vec![b'x'; MAX_READ_BYTES * 3]);
        content.extend(b"\ncd\n");
        content.extend(vec![b'y'; 100]);
        let file = MemoryFile::new(content.clone());
        let mut lines = Vec::new();
        each_bounded_line(&file, 0, content.len() as u64, 99, |line| {
            lines.push((line.offset, line.bytes.to_vec()));
            LineFlow::Continue
        })
        .unwrap();
        let after = (MAX_READ_BYTES * 3 + 4) as u64;
        assert_eq!(lines, [(0, b"ab".to_vec()), (after, b"cd".to_vec())]);
    }

    #[test]
    fn lines_longer_than_a_chunk_are_complete() {
        let long = MAX_READ_BYTES * 2 + 17;
        let mut content = vec![b'x'; long];
        content.extend(b"\ny\n");
        content.extend(vec![b'z'; MAX_READ_BYTES]);
        let end = (long + 3) as u64;
        assert_eq!(
            lines(&content, 0),
            [
                (0, long, true),
                (long as u64 + 1, 1, true),
                (end, MAX_READ_BYTES, false)
            ]
        );
    }
}
