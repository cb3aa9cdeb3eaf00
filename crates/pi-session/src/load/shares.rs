//! Scans the lines of a file, a long file in several shares at once.
//!
//! A share has the lines that begin in it; where it begins in the middle of a line, that one belongs
//! to the share before.

use std::io;
use std::num::NonZero;
use std::thread;

use memchr::memchr;

use super::{Ending, parse};
use crate::index::FoundEntry;
use crate::reader::{Flow, each_line};
use crate::scan::{Line, Scanner};
use crate::storage::LogFile;

/// Below this many bytes a share is not worth a thread.
const SMALLEST_SHARE: u64 = 8 * 1024 * 1024;

/// More threads than this wait for memory more than they work.
const MOST_SHARES: u64 = 4;

/// How much is looked through at once for the beginning of a line.
const SEEK_PIECE: usize = 4096;

/// What was found in a share.
#[derive(Debug, Default)]
pub(super) struct Share {
    pub(super) entries: Vec<FoundEntry>,
    /// How many lines were neither blank nor an entry.
    pub(super) skipped: usize,
    /// The last line of the file and where it begins, if it has no line feed.
    pub(super) unended: Option<(Ending, u64)>,
}

/// Scans the lines between two offsets, in the order of the file.
pub(super) fn scan(file: &dyn LogFile, start: u64, end: u64) -> io::Result<Vec<Share>> {
    let worthwhile = end.saturating_sub(start) / SMALLEST_SHARE;
    let shares = match worthwhile {
        // Most sessions are small, and counting processors takes half a dozen system calls.
        0 | 1 => 1,
        _ => {
            let processors = thread::available_parallelism().map_or(1, NonZero::get) as u64;
            processors.min(MOST_SHARES).min(worthwhile)
        }
    };
    scan_in(file, start, end, shares)
}

fn scan_in(file: &dyn LogFile, start: u64, end: u64, shares: u64) -> io::Result<Vec<Share>> {
    let length = end.saturating_sub(start);
    let border = |number: u64| start + length * number / shares;
    thread::scope(|scope| {
        let others: Vec<_> = (1..shares)
            .map(|number| {
                scope.spawn(move || {
                    let begin = next_line(file, border(number), end)?;
                    scan_share(file, begin, border(number + 1), end)
                })
            })
            .collect();
        let mut found = vec![scan_share(file, start, border(1), end)?];
        for other in others {
            let share = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            found.push(share?);
        }
        Ok(found)
    })
}

/// Finds the first line that begins at an offset or after it.
fn next_line(file: &dyn LogFile, offset: u64, end: u64) -> io::Result<u64> {
    let mut piece = [0; SEEK_PIECE];
    let mut position = offset.saturating_sub(1);
    while position < end {
        let count = file.read_at(&mut piece, position)?;
        let read = piece.get(..count).unwrap_or_default();
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

/// Scans the lines that begin before the border of a share.
fn scan_share(file: &dyn LogFile, start: u64, border: u64, end: u64) -> io::Result<Share> {
    let mut scanner = Scanner::default();
    let mut share = Share::default();
    each_line(file, start, end, |line| {
        if line.offset >= border {
            return Flow::Stop;
        }
        let content = scanner.scan(line.bytes);
        if !line.terminated {
            let ending = match content {
                Line::Malformed => Ending::Torn,
                Line::Blank | Line::Scalar | Line::Object(_) => Ending::Unterminated,
            };
            share.unended = Some((ending, line.offset));
        }
        let found = match content {
            Line::Blank => return Flow::Continue,
            Line::Malformed | Line::Scalar => None,
            Line::Object(fields) => {
                let before = share.entries.last();
                FoundEntry::new(&fields, line, before, || parse(line.bytes))
            }
        };
        match found {
            Some(entry) => share.entries.push(entry),
            None => share.skipped += 1,
        }
        Flow::Continue
    })?;
    Ok(share)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::storage::MemoryFile;

    fn ids(content: &str, shares: u64) -> (Vec<String>, usize, Option<(Ending, u64)>) {
        let file = MemoryFile::new(content.as_bytes().to_vec());
        let found = scan_in(&file, 0, content.len() as u64, shares).unwrap();
        let entries = found.iter().flat_map(|share| &share.entries);
        let ids = entries.map(|entry| entry.id.to_string()).collect();
        let skipped = found.iter().map(|share| share.skipped).sum();
        let unended = found.iter().find_map(|share| share.unended);
        (ids, skipped, unended)
    }

    #[test]
    fn any_number_of_shares_finds_the_same() {
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
            let whole = ids(&content, 1);
            assert!(whole.0.len() >= 20);
            for shares in 2..80 {
                assert_eq!(ids(&content, shares), whole, "{shares}");
            }
        }
    }

    #[test]
    fn a_share_may_be_the_middle_of_one_line() {
        let long = format!(
            "{{\"type\":\"custom\",\"id\":\"a\",\"customType\":\"{}\"}}\n",
            "x".repeat(20_000)
        );
        let content = format!("{long}{{\"type\":\"custom\",\"id\":\"b\"}}\n");
        assert_eq!(ids(&content, 7).0, ["a", "b"]);
    }
}
