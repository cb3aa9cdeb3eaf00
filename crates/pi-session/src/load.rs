//! Loads the header and indexes the entries of a session file. Lines that are not entries are
//! counted and stay in the file. Lines after the header are scanned by [`chunks`], possibly on
//! several threads; the results are indexed in file order.

use std::io;

use pi_protocol::SessionHeader;

use crate::index::{Index, ScannedEntry};
use crate::reader::{LineFlow, each_line};
use crate::scan::{ScannedLine, Scanner};
use crate::storage::LogFile;

mod chunks;

/// The state of the last line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TailState {
    /// Ends with a line feed, or the file is empty.
    Clean,
    /// A complete entry without a line feed.
    Unterminated,
    /// A partial record.
    Torn,
}

/// The result of loading, in addition to the index.
#[derive(Debug)]
pub(crate) struct LoadResult {
    /// `None` if the first readable line is not a header.
    pub(crate) header: Option<SessionHeader>,
    /// Lines that are neither blank nor a header nor an entry.
    pub(crate) skipped: usize,
    pub(crate) tail: TailState,
    /// Offset of the next line to read; an unterminated last line may still grow.
    pub(crate) scanned_to: u64,
}

/// Indexes the lines between two offsets. Without a known header, the first readable line must be
/// one.
pub(crate) fn load(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    known_header: Option<SessionHeader>,
    index: &mut Index,
) -> io::Result<LoadResult> {
    let mut loaded = LoadResult {
        header: known_header,
        skipped: 0,
        tail: TailState::Clean,
        scanned_to: end,
    };
    let mut entries_start = start;
    if loaded.header.is_none() {
        entries_start = find_header(file, start, end, &mut loaded)?;
    }
    if loaded.header.is_none() {
        return Ok(loaded);
    }
    chunks::scan(file, entries_start, end, |chunk| {
        loaded.skipped += chunk.skipped;
        if let Some((tail, offset)) = chunk.unterminated_tail {
            (loaded.tail, loaded.scanned_to) = (tail, offset);
        }
        index_entries(index, chunk.entries);
    })?;
    Ok(loaded)
}

/// Adds the scanned entries to the index, except those it already contains.
fn index_entries(index: &mut Index, entries: Vec<ScannedEntry>) {
    let mut previous = None;
    for entry in entries {
        let id = entry.id.clone();
        if !index.contains_offset(entry.span.offset) {
            index.add_scanned(entry, previous.as_ref());
        }
        previous = Some(id);
    }
}

/// Reads the header of a file; `None` if its first readable line is not one.
pub(crate) fn read_header(file: &dyn LogFile, end: u64) -> io::Result<Option<SessionHeader>> {
    let mut loaded = LoadResult {
        header: None,
        skipped: 0,
        tail: TailState::Clean,
        scanned_to: end,
    };
    find_header(file, 0, end, &mut loaded)?;
    Ok(loaded.header)
}

/// Finds the header and returns the offset of the line after it.
fn find_header(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    loaded: &mut LoadResult,
) -> io::Result<u64> {
    let mut scanner = Scanner::default();
    let mut after = end;
    each_line(file, start, end, |line| match scanner.scan(line.bytes) {
        ScannedLine::Blank => LineFlow::Continue,
        ScannedLine::Malformed => {
            loaded.skipped += 1;
            LineFlow::Continue
        }
        ScannedLine::Scalar | ScannedLine::Object(_) => {
            loaded.header = parse(line.bytes);
            if line.terminated {
                after = line.offset + line.bytes.len() as u64 + 1;
            } else {
                (loaded.tail, loaded.scanned_to) = (TailState::Unterminated, line.offset);
            }
            LineFlow::Stop
        }
    })?;
    Ok(after)
}

/// Parses a line as `T`, with the leniency of [`pi_protocol::json::from_str_lenient`].
pub(crate) fn parse<T: serde::de::DeserializeOwned>(line: &[u8]) -> Option<T> {
    let text = String::from_utf8_lossy(line);
    pi_protocol::json::from_str_lenient(&text).ok()
}
