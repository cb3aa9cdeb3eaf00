//! What a screen shows: a transcript, and below it a dock of blocks that stay at the bottom.
//!
//! Lines are numbered through both. In main-screen mode they form one column; full-screen mode
//! scrolls the transcript and keeps the dock in place.

use std::ops::Range;

use super::document::{Change, Document};
use crate::focus::FocusTarget;
use crate::line::Line;
use crate::terminal::ImageSpan;

/// Rows of the tallest image that is looked for above the screen.
const TALLEST_IMAGE: usize = 200;

/// The transcript and the dock.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) transcript: Document,
    pub(crate) dock: Document,
}

impl Content {
    pub(super) fn line_count(&self) -> usize {
        self.transcript.line_count() + self.dock.line_count()
    }

    /// Renders what is new, touched or live, and returns what moved.
    pub(super) fn layout(&mut self, width: usize) -> Vec<Change> {
        let mut changes = self.transcript.layout(width);
        let below = self.dock.layout(width);
        changes.extend(self.below_transcript(below));
        changes
    }

    /// Brings the last `rows` lines up to the current layout.
    pub(super) fn refresh_tail(&mut self, rows: usize) -> Vec<Change> {
        let below = self.dock.refresh_tail(usize::MAX);
        let mut changes: Vec<Change> = self.below_transcript(below).collect();
        let rest = rows.saturating_sub(self.dock.line_count());
        changes.extend(self.transcript.refresh_tail(rest));
        changes
    }

    pub(crate) fn lines(&self, range: Range<usize>) -> Vec<Line> {
        let above = self.transcript.line_count();
        let upper = range.start.min(above)..range.end.min(above);
        let lower = range.start.max(above) - above..range.end.max(above) - above;
        self.transcript
            .lines(upper)
            .chain(self.dock.lines(lower))
            .cloned()
            .collect()
    }

    /// Returns the part of an image that reaches from above line `top` into the `rows` rows from there on.
    pub(super) fn image_from_above(&self, top: usize, rows: usize) -> Option<String> {
        let above = self.lines(top.saturating_sub(TALLEST_IMAGE)..top);
        above.iter().rev().zip(1..).find_map(|(line, hidden)| {
            let reaches = ImageSpan::find(line)?.below >= hidden;
            reaches.then(|| ImageSpan::crop(line, hidden, rows))?
        })
    }

    /// Returns the block at a line, the block's first line and its line count.
    pub(crate) fn block_at(&self, line: usize) -> Option<(FocusTarget, usize, usize)> {
        let above = self.transcript.line_count();
        if line < above {
            let (id, first, count) = self.transcript.block_at(line)?;
            return Some((FocusTarget::Transcript(id), first, count));
        }
        let (id, first, count) = self.dock.block_at(line - above)?;
        Some((FocusTarget::Dock(id), above + first, count))
    }

    fn below_transcript(&self, changes: Vec<Change>) -> impl Iterator<Item = Change> + use<> {
        let above = self.transcript.line_count();
        changes.into_iter().map(move |change| Change {
            start: change.start + above,
            ..change
        })
    }
}
