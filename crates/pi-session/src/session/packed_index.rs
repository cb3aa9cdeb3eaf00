//! Opening a session file with the index of the process that writes it, instead of scanning the file.

use std::fmt;
use std::io;

use pi_protocol::SessionHeader;

use super::Session;
use crate::index::Index;
use crate::load::{LoadResult, load, read_header};
use crate::log::{AppendLog, read_range};
use crate::scan::{ScannedLine, Scanner};
use crate::storage::LogFile;

/// The index of a session file up to some offset. It is a hint: one that does not fit the file is not used.
#[derive(Clone, PartialEq, Eq)]
pub struct PackedIndex {
    /// The entries, about twenty bytes each.
    pub bytes: Vec<u8>,
    /// Offset up to which the index has read the file.
    pub scanned_to: u64,
    /// Lines before it that could not be read as entries.
    pub skipped_lines: usize,
}

impl PackedIndex {
    /// The version of the format. A process uses only an index of its own version.
    pub const FORMAT: u32 = 1;

    /// Returns the index of a session for another process that opens its file; `None` if there is no file, or the index
    /// has an unusual shape.
    pub fn of(session: &Session) -> Option<Self> {
        if !session.is_saved() {
            return None;
        }
        Some(Self {
            bytes: session.entries.index.pack()?,
            scanned_to: session.entries.scanned_to,
            skipped_lines: session.open_report.skipped_lines,
        })
    }
}

impl fmt::Debug for PackedIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut packed = formatter.debug_struct("PackedIndex");
        packed.field("bytes", &self.bytes.len());
        packed.field("scanned_to", &self.scanned_to);
        packed.finish_non_exhaustive()
    }
}

/// Loads a file with a packed index: reads the header, and scans what was appended since. `None` if the index does not
/// fit the file.
pub(super) fn load_packed(
    log: &AppendLog,
    packed: &PackedIndex,
) -> io::Result<Option<(LoadResult, Index)>> {
    let file = log.file();
    let Some(header) = current_header(file, log.length())? else {
        return Ok(None);
    };
    let Some(mut index) = Index::unpack(&packed.bytes, log.length()) else {
        return Ok(None);
    };
    if !ends_line(file, packed.scanned_to)? || !has_last_entry(file, &index)? {
        return Ok(None);
    }
    let (start, end) = (packed.scanned_to, log.length());
    let mut loaded = load(file, start, end, Some(header), &mut index)?;
    loaded.skipped += packed.skipped_lines;
    Ok(Some((loaded, index)))
}

/// Returns the header of a file that needs no migration.
fn current_header(file: &dyn LogFile, end: u64) -> io::Result<Option<SessionHeader>> {
    let header = read_header(file, end)?;
    Ok(header.filter(|header| header.format_version() >= SessionHeader::CURRENT_VERSION))
}

/// Returns whether a line ends before an offset.
fn ends_line(file: &dyn LogFile, offset: u64) -> io::Result<bool> {
    let Some(before) = offset.checked_sub(1) else {
        return Ok(false);
    };
    let mut last = [0];
    Ok(file.read_at(&mut last, before)? == 1 && last == *b"\n")
}

/// Returns whether the last entry of an index is where the index says.
fn has_last_entry(file: &dyn LogFile, index: &Index) -> io::Result<bool> {
    let Some(last) = index.records().last() else {
        return Ok(true);
    };
    let end = last.offset + u64::from(last.length);
    let line = read_range(file, last.offset, end)?;
    Ok(match Scanner::default().scan(&line) {
        ScannedLine::Object(fields) => fields.id.is_some_and(|id| last.id == *id),
        ScannedLine::Blank | ScannedLine::Malformed | ScannedLine::Scalar => false,
    })
}
