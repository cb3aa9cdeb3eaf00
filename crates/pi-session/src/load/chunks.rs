//! Scans the lines of a file, splitting a large file into chunks that are scanned in parallel. A
//! chunk owns the lines that start in it; a line that crosses the start of a chunk belongs to the
//! previous one.

use std::io;
use std::num::NonZero;
use std::thread;

use memchr::memchr;

use super::{TailState, parse};
use crate::index::ScannedEntry;
use crate::reader::{LineFlow, each_line};
use crate::scan::{ScannedLine, Scanner};
use crate::storage::LogFile;

/// Smaller chunks are not worth a thread.
const MIN_CHUNK_BYTES: u64 = 8 * 1024 * 1024;

/// More threads are limited by memory bandwidth.
const MAX_CHUNKS: u64 = 4;

/// Buffer size for finding the start of a line.
const SEEK_BUFFER_BYTES: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct ScannedChunk {
    pub(super) entries: Vec<ScannedEntry>,
    /// Lines that are neither blank nor an entry.
    pub(super) skipped: usize,
    /// The state and offset of the last line of the file, if it has no line feed.
    pub(super) unterminated_tail: Option<(TailState, u64)>,
}

/// Scans the lines between two offsets; the chunks are returned in file order.
pub(super) fn scan(file: &dyn LogFile, start: u64, end: u64) -> io::Result<Vec<ScannedChunk>> {
    let max_useful = end.saturating_sub(start) / MIN_CHUNK_BYTES;
    let chunks = match max_useful {
        // Most sessions are small, and counting processors takes half a dozen system calls.
        0 | 1 => 1,
        _ => {
            let processors = thread::available_parallelism().map_or(1, NonZero::get) as u64;
            processors.min(MAX_CHUNKS).min(max_useful)
        }
    };
    scan_chunks(file, start, end, chunks)
}

fn scan_chunks(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    chunks: u64,
) -> io::Result<Vec<ScannedChunk>> {
    let length = end.saturating_sub(start);
    let boundary = |number: u64| start + length * number / chunks;
    thread::scope(|scope| {
        let workers: Vec<_> = (1..chunks)
            .map(|number| {
                scope.spawn(move || {
                    let begin = next_line(file, boundary(number), end)?;
                    scan_chunk(file, begin, boundary(number + 1), end)
                })
            })
            .collect();
        let mut found = vec![scan_chunk(file, start, boundary(1), end)?];
        for worker in workers {
            let chunk = worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            found.push(chunk?);
        }
        Ok(found)
    })
}

/// Returns the offset of the first line that starts at or after `offset`.
fn next_line(file: &dyn LogFile, offset: u64, end: u64) -> io::Result<u64> {
    let mut buffer = [0; SEEK_BUFFER_BYTES];
    let mut position = offset.saturating_sub(1);
    while position < end {
        let count = file.read_at(&mut buffer, position)?;
        let read = buffer.get(..count).unwrap_or_default();
        if let Some(found) = memchr(b'\n', read) {
            return Ok((position + found as u64 + 1).min(end));
        }
        if count == 0 {
            break;
        }
        position += count as u64;
    }
    Ok(end)
}

/// Scans the lines that start before `boundary`.
fn scan_chunk(file: &dyn LogFile, start: u64, boundary: u64, end: u64) -> io::Result<ScannedChunk> {
    let mut scanner = Scanner::default();
    let mut chunk = ScannedChunk::default();
    each_line(file, start, end, |line| {
        if line.offset >= boundary {
            return LineFlow::Stop;
        }
        let content = scanner.scan(line.bytes);
        if !line.terminated {
            let tail = match content {
                ScannedLine::Malformed => TailState::Torn,
                ScannedLine::Blank | ScannedLine::Scalar | ScannedLine::Object(_) => {
                    TailState::Unterminated
                }
            };
            chunk.unterminated_tail = Some((tail, line.offset));
        }
        let found = match content {
            ScannedLine::Blank => return LineFlow::Continue,
            ScannedLine::Malformed | ScannedLine::Scalar => None,
            ScannedLine::Object(fields) => {
                let previous = chunk.entries.last();
                ScannedEntry::new(&fields, line, previous, || parse(line.bytes))
            }
        };
        match found {
            Some(entry) => chunk.entries.push(entry),
            None => chunk.skipped += 1,
        }
        LineFlow::Continue
    })?;
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::storage::MemoryFile;

    fn ids(content: &str, chunks: u64) -> (Vec<String>, usize, Option<(TailState, u64)>) {
        let file = MemoryFile::new(content.as_bytes().to_vec());
        let found = scan_chunks(&file, 0, content.len() as u64, chunks).unwrap();
        let entries = found.iter().flat_map(|chunk| &chunk.entries);
        let ids = entries.map(|entry| entry.id.to_string()).collect();
        let skipped = found.iter().map(|chunk| chunk.skipped).sum();
        let unterminated_tail = found.iter().find_map(|chunk| chunk.unterminated_tail);
        (ids, skipped, unterminated_tail)
    }

    #[test]
    fn any_number_of_chunks_finds_the_same_entries() {
        let mut content = String::new();
        for number in 0..20 {
            let text = "x".repeat(number * 7 % 50);
            writeln!(
                content,
                r#"{{"type":"custom","id":"{number}","customType":"{text}"}}"#
            )
            .unwrap();
            if number % 5 == 0 {
                content += "\nnot json\n";
            }
        }
        for tail in ["", "{\"type\":\"custom\",\"id\":\"last\"}", "{\"type\":"] {
            let content = format!("{content}{tail}");
            let expected = ids(&content, 1);
            assert!(expected.0.len() >= 20);
            for chunks in 2..80 {
                assert_eq!(ids(&content, chunks), expected, "{chunks}");
            }
        }
    }

    #[test]
    fn a_chunk_may_lie_within_a_single_line() {
        let long = format!(
            "{{\"type\":\"custom\",\"id\":\"a\",\"customType\":\"{}\"}}\n",
            "x".repeat(20_000)
        );
        let content = format!("{long}{{\"type\":\"custom\",\"id\":\"b\"}}\n");
        assert_eq!(ids(&content, 7).0, ["a", "b"]);
    }
}
