//! Scans the lines of a file, splitting a large file into chunks that are scanned in parallel and
//! returned one at a time, so that memory use does not depend on the length of the file. A chunk
//! owns the lines that start in it; a line that crosses the start of a chunk belongs to the previous
//! one.

use std::io;
use std::num::NonZero;
use std::sync::mpsc::sync_channel;
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
const MAX_WORKERS: u64 = 4;

/// Chunks of a worker that may wait to be indexed.
const WAITING_CHUNKS: usize = 1;

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

/// Scans the lines between two offsets and visits the chunks in file order.
pub(super) fn scan(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    visit: impl FnMut(ScannedChunk),
) -> io::Result<()> {
    let chunks = (end.saturating_sub(start) / MIN_CHUNK_BYTES).max(1);
    let workers = match chunks {
        // Most sessions are small, and counting processors takes half a dozen system calls.
        1 => 1,
        _ => {
            let processors = thread::available_parallelism().map_or(1, NonZero::get) as u64;
            processors.min(MAX_WORKERS).min(chunks)
        }
    };
    let plan = ChunkPlan {
        file,
        start,
        end,
        chunks,
    };
    match workers {
        1 => plan.scan_here(visit),
        _ => plan.scan_with(workers, visit),
    }
}

/// A range of a file, divided into chunks of equal size.
#[derive(Debug, Clone, Copy)]
struct ChunkPlan<'file> {
    file: &'file dyn LogFile,
    start: u64,
    end: u64,
    chunks: u64,
}

impl ChunkPlan<'_> {
    fn scan_here(self, mut visit: impl FnMut(ScannedChunk)) -> io::Result<()> {
        for number in 0..self.chunks {
            visit(self.scan_chunk(number)?);
        }
        Ok(())
    }

    /// Every worker scans the chunks of its turn and waits while the last one is not indexed.
    fn scan_with(self, workers: u64, mut visit: impl FnMut(ScannedChunk)) -> io::Result<()> {
        let turns =
            |worker: u64| (worker..self.chunks).step_by(usize::try_from(workers).unwrap_or(1));
        thread::scope(|scope| {
            let mut scanned = Vec::new();
            for worker in 0..workers {
                let (sender, receiver) = sync_channel(WAITING_CHUNKS);
                scanned.push(receiver);
                scope.spawn(move || {
                    for number in turns(worker) {
                        // The receiver is dropped if another chunk could not be read.
                        if sender.send(self.scan_chunk(number)).is_err() {
                            return;
                        }
                    }
                });
            }
            for (_, worker) in (0..self.chunks).zip(scanned.iter().cycle()) {
                match worker.recv() {
                    Ok(chunk) => visit(chunk?),
                    // The worker panicked, which the scope propagates.
                    Err(_) => break,
                }
            }
            Ok(())
        })
    }

    fn boundary(self, number: u64) -> u64 {
        let length = self.end.saturating_sub(self.start);
        self.start + length * number / self.chunks
    }

    fn scan_chunk(self, number: u64) -> io::Result<ScannedChunk> {
        let boundary = self.boundary(number + 1);
        let begin = match number {
            0 => self.start,
            _ => next_line(self.file, self.boundary(number), boundary)?,
        };
        if begin >= boundary {
            return Ok(ScannedChunk::default());
        }
        scan_lines(self.file, begin, boundary, self.end)
    }
}

/// Returns the offset of the first line that starts at or after `offset`; `end` if none starts
/// before it.
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
fn scan_lines(file: &dyn LogFile, start: u64, boundary: u64, end: u64) -> io::Result<ScannedChunk> {
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
    use std::sync::atomic::{AtomicU64, Ordering};

    use pi_fs::file_lock::LockState;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::storage::{MemoryFile, PathState};

    fn ids(
        content: &str,
        chunks: u64,
        workers: u64,
    ) -> (Vec<String>, usize, Option<(TailState, u64)>) {
        let file = MemoryFile::new(content.as_bytes().to_vec());
        let plan = ChunkPlan {
            file: &file,
            start: 0,
            end: content.len() as u64,
            chunks,
        };
        let mut found = Vec::new();
        match workers {
            0 => plan.scan_here(|chunk| found.push(chunk)),
            _ => plan.scan_with(workers, |chunk| found.push(chunk)),
        }
        .unwrap();
        assert_eq!(found.len() as u64, chunks);
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
            let expected = ids(&content, 1, 0);
            assert!(expected.0.len() >= 20);
            for chunks in 2..80 {
                for workers in 0..4 {
                    assert_eq!(ids(&content, chunks, workers), expected, "{chunks}");
                }
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
        assert_eq!(ids(&content, 7, 2).0, ["a", "b"]);
    }

    #[test]
    fn chunks_within_a_line_do_not_read_the_rest_of_it() {
        let content = format!(
            "{{\"type\":\"custom\",\"id\":\"a\",\"customType\":\"{}\"}}\n",
            "x".repeat(1_000_000)
        );
        let file = CountingFile::new(content.into_bytes());
        let plan = ChunkPlan {
            file: &file,
            start: 0,
            end: file.length().unwrap(),
            chunks: 50,
        };
        plan.scan_here(drop).unwrap();
        // The line itself, and every chunk up to the start of the next one.
        let read = file.bytes_read.load(Ordering::Relaxed);
        assert!(read < 2_500_000, "{read}");
    }

    /// Counts the bytes that are read.
    #[derive(Debug)]
    struct CountingFile {
        file: MemoryFile,
        bytes_read: AtomicU64,
    }

    impl CountingFile {
        fn new(content: Vec<u8>) -> Self {
            Self {
                file: MemoryFile::new(content),
                bytes_read: AtomicU64::new(0),
            }
        }
    }

    impl LogFile for CountingFile {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let count = self.file.read_at(buffer, offset)?;
            self.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
            Ok(count)
        }

        fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.file.append(bytes)
        }

        fn truncate(&mut self, length: u64) -> io::Result<()> {
            self.file.truncate(length)
        }

        fn length(&self) -> io::Result<u64> {
            self.file.length()
        }

        fn path_state(&self) -> io::Result<PathState> {
            self.file.path_state()
        }

        fn try_lock(&self) -> LockState {
            self.file.try_lock()
        }

        fn sync(&self) -> io::Result<()> {
            self.file.sync()
        }
    }
}
