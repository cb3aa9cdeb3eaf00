//! Reads the header and indexes the entries of a session file.
//!
//! Lines that are not JSON, and lines that are no entry, are counted and left where they are.

use std::io;

use crate::entry::Entry;
use crate::header::SessionHeader;
use crate::index::{Index, Place};
use crate::reader::{Flow, each_line};
use crate::scan::{Line, Scanner};
use crate::storage::LogFile;

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
    let mut scanner = Scanner::default();
    let mut loaded = Loaded {
        header: known_header,
        skipped: 0,
        ending: Ending::Clean,
        scanned_to: end,
    };
    each_line(file, start, end, |line| {
        let found = scanner.scan(line.bytes);
        if !line.terminated {
            loaded.scanned_to = line.offset;
            loaded.ending = match found {
                Line::Malformed => Ending::Torn,
                Line::Blank | Line::Scalar | Line::Object(_) => Ending::Unterminated,
            };
        }
        let fields = match found {
            Line::Blank => return Flow::Continue,
            Line::Malformed => {
                loaded.skipped += 1;
                return Flow::Continue;
            }
            Line::Scalar => None,
            Line::Object(fields) => Some(fields),
        };
        if loaded.header.is_none() {
            loaded.header = parse(line.bytes);
            return if loaded.header.is_some() {
                Flow::Continue
            } else {
                Flow::Stop
            };
        }
        let added = fields
            .filter(|fields| fields.type_name.as_deref() != Some("session"))
            .and_then(|fields| {
                let place = Place {
                    offset: line.offset,
                    length: u32::try_from(line.bytes.len()).ok()?,
                };
                if index.knows_line(place.offset) {
                    return index.last();
                }
                index.add_line(&fields, place, || parse::<Entry>(line.bytes))
            });
        loaded.skipped += usize::from(added.is_none());
        Flow::Continue
    })?;
    Ok(loaded)
}

/// Reads a line as the given type, with the leniency of [`pi_ai::json::from_str_lenient`].
pub(crate) fn parse<T: for<'de> serde::Deserialize<'de>>(line: &[u8]) -> Option<T> {
    let text = String::from_utf8_lossy(line);
    pi_ai::json::from_str_lenient(&text).ok()
}
