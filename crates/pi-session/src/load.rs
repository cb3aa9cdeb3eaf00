//! Reads the header and indexes the entries of a session file.
//!
//! Lines that are not JSON, and lines that are no entry, are counted and left where they are. The
//! lines after the header are scanned by [`shares`], which may take several threads; the index takes
//! what they found in the order of the file.

use std::io;

use crate::header::SessionHeader;
use crate::index::{FoundEntry, Index};
use crate::reader::{Flow, each_line};
use crate::scan::{Line, Scanner};
use crate::storage::LogFile;

mod shares;

/// What was found at the end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A line feed, or nothing at all.
    Clean,
    /// A whole entry without its line feed.
    Unterminated,
    /// Part of a record.
    Torn,
}

/// What reading a file gave, beside the index.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The header; none if the first readable line is something else or there is none.
    pub(crate) header: Option<SessionHeader>,
    /// How many lines were neither blank, header nor entry.
    pub(crate) skipped: usize,
    pub(crate) ending: Ending,
    /// Where the next line begins; an unended one at the end may yet grow.
    pub(crate) scanned_to: u64,
}

/// Indexes the lines between two offsets. Without a header, the first readable line must be one.
pub(crate) fn load(
    file: &dyn LogFile,
    start: u64,
    end: u64,
    known_header: Option<SessionHeader>,
    index: &mut Index,
) -> io::Result<Loaded> {
    let mut loaded = Loaded {
        header: known_header,
        skipped: 0,
        ending: Ending::Clean,
        scanned_to: end,
    };
    let mut entries_start = start;
    if loaded.header.is_none() {
        entries_start = find_header(file, start, end, &mut loaded)?;
    }
    if loaded.header.is_none() {
        return Ok(loaded);
    }
    for share in shares::scan(file, entries_start, end)? {
        loaded.skipped += share.skipped;
        if let Some((ending, offset)) = share.unended {
            (loaded.ending, loaded.scanned_to) = (ending, offset);
        }
        take_in(index, &share.entries);
    }
    Ok(loaded)
}

/// Puts what was found into the index, except what it knows already.
fn take_in(index: &mut Index, entries: &[FoundEntry]) {
    let mut before = None;
    for entry in entries {
        if !index.knows_line(entry.place.offset) {
            index.add_found(entry, before);
        }
        before = Some(&entry.id);
    }
}

/// Looks for the header and returns where the line after it begins.
fn find_header(file: &dyn LogFile, start: u64, end: u64, loaded: &mut Loaded) -> io::Result<u64> {
    let mut scanner = Scanner::default();
    let mut after = end;
    each_line(file, start, end, |line| match scanner.scan(line.bytes) {
        Line::Blank => Flow::Continue,
        Line::Malformed => {
            loaded.skipped += 1;
            Flow::Continue
        }
        Line::Scalar | Line::Object(_) => {
            loaded.header = parse(line.bytes);
            if line.terminated {
                after = line.offset + line.bytes.len() as u64 + 1;
            } else {
                (loaded.ending, loaded.scanned_to) = (Ending::Unterminated, line.offset);
            }
            Flow::Stop
        }
    })?;
    Ok(after)
}

/// Reads a line as the given type, with the leniency of [`pi_ai::json::from_str_lenient`].
pub(crate) fn parse<T: for<'de> serde::Deserialize<'de>>(line: &[u8]) -> Option<T> {
    let text = String::from_utf8_lossy(line);
    pi_ai::json::from_str_lenient(&text).ok()
}
