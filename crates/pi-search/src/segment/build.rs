//! Collects documents in memory until they fill a segment.

use std::collections::HashMap;
use std::io::Write;

use pi_session::listing::EntryText;

use super::encoding::{DocumentRow, Posting, PostingList, stored_length};
use super::writer::{FileRun, SegmentWriter};
use crate::terms::terms;

/// About what a term costs in memory besides its text and its postings.
const TERM_OVERHEAD: usize = 128;

#[derive(Debug, Default)]
pub(crate) struct SegmentBuilder {
    lists: HashMap<Box<str>, PostingList>,
    rows: Vec<DocumentRow>,
    runs: Vec<FileRun>,
    total_terms: u64,
    /// About how much memory is in use.
    bytes: usize,
    /// The terms of the current document.
    counts: HashMap<String, u32>,
}

impl SegmentBuilder {
    /// Adds an entry of a session file; returns whether it has terms.
    pub(crate) fn add(&mut self, file: u32, entry: &EntryText) -> bool {
        let mut length = 0_u32;
        for term in terms(&entry.text) {
            length = length.saturating_add(1);
            *self.counts.entry(term).or_default() += 1;
        }
        let Ok(document) = u32::try_from(self.rows.len()) else {
            return false;
        };
        if length == 0 {
            return false;
        }
        if self.runs.last().is_none_or(|run| run.file != file) {
            self.runs.push(FileRun {
                first: document,
                file,
            });
        }
        let seconds = entry.timestamp_ms.unwrap_or_default() / 1000;
        self.rows.push(DocumentRow {
            offset: entry.offset,
            seconds: u32::try_from(seconds).unwrap_or_default(),
            role: entry.role,
            length: stored_length(length),
        });
        self.bytes += size_of::<DocumentRow>();
        self.total_terms += u64::from(length);
        for (term, count) in self.counts.drain() {
            let list = match self.lists.get_mut(term.as_str()) {
                Some(list) => list,
                None => {
                    self.bytes += TERM_OVERHEAD + term.len();
                    self.lists.entry(term.into_boxed_str()).or_default()
                }
            };
            let before = list.bytes.capacity();
            list.push(Posting { document, count });
            self.bytes += list.bytes.capacity() - before;
        }
        true
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns about how much memory is in use.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes the segment; returns its length and its number of documents.
    pub(crate) fn write(self, out: &mut dyn Write) -> std::io::Result<(u64, u32)> {
        let mut lists: Vec<_> = self.lists.into_iter().collect();
        lists.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let mut writer = SegmentWriter::new(out)?;
        for (term, list) in &lists {
            writer.push_term(term, list)?;
        }
        let mut rows = writer.end_terms()?;
        for row in self.rows {
            rows.push_row(row)?;
        }
        rows.finish(&self.runs, self.total_terms)
    }
}
