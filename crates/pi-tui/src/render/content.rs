//! The content of a screen: a transcript, and below it a dock of blocks that stay at the bottom.
//!
//! Line numbers run through both. On the main screen they form one column; in full-screen mode the
//! transcript scrolls and the dock stays in place.

use std::ops::Range;

use super::document::{Document, LineChange};
use crate::focus::FocusTarget;
use crate::line::Line;
use crate::terminal::ImageSpan;

/// Maximum rows of an image that is searched for above the screen.
const MAX_IMAGE_ROWS: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct ScreenContent {
    pub(crate) transcript: Document,
    pub(crate) dock: Document,
}

impl ScreenContent {
    pub(super) fn line_count(&self) -> usize {
        self.transcript.line_count() + self.dock.line_count()
    }

    /// Renders new, touched and live blocks, and returns the resulting line changes.
    pub(super) fn layout(&mut self, width: usize) -> Vec<LineChange> {
        let mut changes = self.transcript.layout(width);
        let below = self.dock.layout(width);
        changes.extend(self.below_transcript(below));
        changes
    }

    /// Brings the last `rows` lines up to date with the current layout.
    pub(super) fn refresh_tail(&mut self, rows: usize) -> Vec<LineChange> {
        let below = self.dock.refresh_tail(usize::MAX);
        let mut changes: Vec<LineChange> = self.below_transcript(below).collect();
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

    /// Returns the visible part of an image that starts above line `top` and extends into the next
    /// `rows` rows.
    pub(super) fn image_from_above(&self, top: usize, rows: usize) -> Option<String> {
        let above = self.lines(top.saturating_sub(MAX_IMAGE_ROWS)..top);
        above.iter().rev().zip(1..).find_map(|(line, hidden)| {
            let is_visible = ImageSpan::find(line)?.below >= hidden;
            is_visible.then(|| ImageSpan::crop(line, hidden, rows))?
        })
    }

    /// Returns the block at a line, its first line and its line count.
    pub(crate) fn block_at(&self, line: usize) -> Option<(FocusTarget, usize, usize)> {
        let above = self.transcript.line_count();
        if line < above {
            let (id, first, count) = self.transcript.block_at(line)?;
            return Some((FocusTarget::Transcript(id), first, count));
        }
        let (id, first, count) = self.dock.block_at(line - above)?;
        Some((FocusTarget::Dock(id), above + first, count))
    }

    fn below_transcript(
        &self,
        changes: Vec<LineChange>,
    ) -> impl Iterator<Item = LineChange> + use<> {
        let above = self.transcript.line_count();
        changes.into_iter().map(move |change| LineChange {
            start: change.start + above,
            ..change
        })
    }
}
