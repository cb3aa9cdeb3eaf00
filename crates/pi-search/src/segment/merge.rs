//! Combines segments into one and leaves out documents of session files that are gone. Terms and rows are streamed, so
//! memory is bounded by the longest posting list.

use std::io::Write;

use super::encoding::{Posting, PostingList, length_of};
use super::reader::{SegmentReader, TermEntry};
use super::writer::{FileRun, SegmentWriter};
use crate::directory::IndexDirectory;
use crate::error::SearchError;

/// Writes the documents of `segments` whose files are alive; returns the length and the number of documents.
pub(crate) fn merge_segments(
    segments: &[SegmentReader],
    is_alive: &dyn Fn(u32) -> bool,
    pause: &mut dyn FnMut() -> Result<(), SearchError>,
    directory: &IndexDirectory,
    out: &mut dyn Write,
) -> Result<(u64, u32), SearchError> {
    let plan = MergePlan::new(segments, is_alive);
    let mut sources: Vec<MergeSource<'_>> = Vec::new();
    for (segment, moves) in segments.iter().zip(&plan.moves) {
        sources.push(MergeSource::open(segment, moves)?);
    }
    let failed = |error| directory.error(error);
    let mut writer = SegmentWriter::new(out).map_err(failed)?;
    let mut list = PostingList::default();
    let mut written = 0_usize;
    loop {
        let terms = sources.iter().filter_map(MergeSource::term);
        let Some(term) = terms.min().map(str::to_owned) else {
            break;
        };
        list.clear();
        for source in &mut sources {
            if source.term() == Some(&term) {
                source.take(&mut list)?;
            }
        }
        if list.documents > 0 {
            writer.push_term(&term, &list).map_err(failed)?;
        }
        written += 1;
        if written.is_multiple_of(1000) {
            pause()?;
        }
    }
    let mut rows = writer.end_terms().map_err(failed)?;
    let mut total_terms = 0.0;
    for (segment, moves) in segments.iter().zip(&plan.moves) {
        for moved in moves {
            for document in moved.first..moved.end {
                let row = segment.row(document)?;
                total_terms += length_of(row.length);
                rows.push_row(row).map_err(failed)?;
            }
            pause()?;
        }
    }
    let before: u64 = segments.iter().map(|it| u64::from(it.documents)).sum();
    let is_complete = plan.documents == before;
    let total_terms = if is_complete {
        segments.iter().map(|segment| segment.total_terms).sum()
    } else {
        to_count(total_terms)
    };
    rows.finish(&plan.runs, total_terms).map_err(failed)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and the value is not negative"
)]
fn to_count(number: f64) -> u64 {
    number.round() as u64
}

/// Where documents move.
struct MergePlan {
    /// By segment, in order.
    moves: Vec<Vec<RunMove>>,
    runs: Vec<FileRun>,
    documents: u64,
}

/// Documents from `first` to before `end` become those from `target` on.
struct RunMove {
    first: u32,
    end: u32,
    target: u32,
}

impl MergePlan {
    fn new(segments: &[SegmentReader], is_alive: &dyn Fn(u32) -> bool) -> Self {
        let mut runs: Vec<FileRun> = Vec::new();
        let mut next = 0_u32;
        let mut moves = Vec::new();
        for segment in segments {
            let ends = segment.runs.iter().skip(1).map(|run| run.first);
            let ends = ends.chain([segment.documents]);
            let mut of_segment = Vec::new();
            for (run, end) in segment.runs.iter().zip(ends) {
                if !is_alive(run.file) || end <= run.first {
                    continue;
                }
                of_segment.push(RunMove {
                    first: run.first,
                    end,
                    target: next,
                });
                if runs.last().is_none_or(|last| last.file != run.file) {
                    runs.push(FileRun {
                        first: next,
                        file: run.file,
                    });
                }
                next = next.saturating_add(end - run.first);
            }
            moves.push(of_segment);
        }
        Self {
            moves,
            runs,
            documents: u64::from(next),
        }
    }
}

/// The terms of a segment in order.
struct MergeSource<'a> {
    segment: &'a SegmentReader,
    moves: &'a [RunMove],
    entries: std::vec::IntoIter<TermEntry>,
    current: Option<TermEntry>,
    next_block: usize,
}

impl<'a> MergeSource<'a> {
    fn open(segment: &'a SegmentReader, moves: &'a [RunMove]) -> Result<Self, SearchError> {
        let mut source = Self {
            segment,
            moves,
            entries: Vec::new().into_iter(),
            current: None,
            next_block: 0,
        };
        source.advance()?;
        Ok(source)
    }

    fn term(&self) -> Option<&str> {
        self.current.as_ref().map(|entry| entry.term.as_str())
    }

    fn advance(&mut self) -> Result<(), SearchError> {
        self.current = self.entries.next();
        while self.current.is_none() && self.next_block < self.segment.block_count() {
            self.entries = self.segment.read_block(self.next_block)?.into_iter();
            self.next_block += 1;
            self.current = self.entries.next();
        }
        Ok(())
    }

    /// Appends the postings of the current term under their new numbers, and goes to the next term.
    fn take(&mut self, list: &mut PostingList) -> Result<(), SearchError> {
        let Some(entry) = self.current.take() else {
            return Ok(());
        };
        let mut moves = self.moves.iter().peekable();
        for Posting { document, count } in self.segment.read_postings(&entry)? {
            while moves.next_if(|moved| moved.end <= document).is_some() {}
            let Some(range) = moves.peek() else { break };
            if document >= range.first {
                let document = range.target + (document - range.first);
                list.push(Posting { document, count });
            }
        }
        self.advance()
    }
}
