//! Entries of a long session that are not loaded: where they are missing, and loading them a part at a time.

use pi_protocol::EntryId;
use pi_tui::{BlockId, Component, Document, Liveness};

use super::history::{self, HistoryBlocks};
use super::{RECENT_ENTRIES, Transcript};
use crate::blocks::EarlierBlock;
use crate::session::history::SessionHistory;

/// Number of entries shown when the user goes to the start of a partially loaded session.
const FIRST_ENTRIES: usize = 200;

/// The parts of a session that are not loaded yet, in the order of the document: what is before the shown entry, and
/// what is between the entries after it and the recent ones.
#[derive(Debug, Default)]
pub(super) struct MissingParts(Vec<MissingEntries>);

/// Consecutive entries that are not loaded yet.
#[derive(Debug)]
struct MissingEntries {
    /// Oldest first.
    ids: Vec<EntryId>,
    /// The line that shows their number.
    line: BlockId,
    /// The first loaded block after them.
    next: Option<BlockId>,
    /// Whether the entries before them are loaded.
    follows_loaded: bool,
}

impl MissingParts {
    /// Sets the block after the last part, if that is not known yet.
    pub(super) fn set_next(&mut self, next: Option<BlockId>) {
        if let Some(last) = self.0.last_mut() {
            last.next = last.next.or(next);
        }
    }

    fn get_mut(&mut self, gap: TranscriptGap) -> Option<&mut MissingEntries> {
        self.0.iter_mut().find(|missing| missing.line == gap.block)
    }
}

/// Where entries are missing in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TranscriptGap {
    /// The line that shows their number.
    block: BlockId,
    /// Where that line is; 0 if there are no entries above it.
    pub(crate) line: usize,
    /// Whether there are entries above it.
    pub(crate) follows_loaded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GapPosition {
    AtStart,
    BetweenLoaded,
}

/// Where a gap becomes smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GapEnd {
    /// Its first entries are loaded: only a few at the start of the session, to be seen at once.
    First,
    Last,
}

impl Transcript {
    /// Adds a line for entries that are not loaded, if there are any.
    pub(super) fn push_missing(
        &mut self,
        document: &mut Document,
        ids: Vec<EntryId>,
        position: GapPosition,
    ) {
        if ids.is_empty() {
            return;
        }
        let follows_loaded = position == GapPosition::BetweenLoaded;
        let mut block = EarlierBlock::new(ids.len());
        block.set_entries(ids.len(), follows_loaded);
        let line = self.push(document, block);
        self.missing.set_next(Some(line));
        self.missing.0.push(MissingEntries {
            ids,
            line,
            next: None,
            follows_loaded,
        });
    }

    /// Returns where entries are missing, in the order of the document.
    pub(crate) fn gaps(
        &self,
        document: &Document,
    ) -> impl DoubleEndedIterator<Item = TranscriptGap> {
        self.missing.0.iter().filter_map(|missing| {
            let line = document.first_line(missing.line)?;
            Some(TranscriptGap {
                block: missing.line,
                line: if missing.follows_loaded { line } else { 0 },
                follows_loaded: missing.follows_loaded,
            })
        })
    }

    /// Loads some of the missing entries.
    pub(crate) fn load(
        &mut self,
        document: &mut Document,
        session: &dyn SessionHistory,
        gap: TranscriptGap,
        end: GapEnd,
    ) {
        let Some(missing) = self.missing.get_mut(gap) else {
            return;
        };
        let ids = &mut missing.ids;
        let (loaded, before) = match end {
            GapEnd::First if missing.follows_loaded => (
                history::take_first(ids, RECENT_ENTRIES, session),
                Some(missing.line),
            ),
            GapEnd::First => (
                history::take_first(ids, FIRST_ENTRIES, session),
                Some(missing.line),
            ),
            GapEnd::Last => (
                history::take_recent(ids, RECENT_ENTRIES, session),
                missing.next,
            ),
        };
        missing.follows_loaded |= end == GapEnd::First;
        let (left, follows_loaded) = (missing.ids.len(), missing.follows_loaded);
        let HistoryBlocks {
            components, rows, ..
        } = self.build_settled(&loaded, session);
        let blocks = match before {
            Some(before) => document.insert_all_before(before, components),
            None => push_all(document, components),
        };
        self.register_rows(rows, &blocks);
        if end == GapEnd::Last
            && let Some(missing) = self.missing.get_mut(gap)
        {
            missing.next = blocks.first().copied().or(before);
        }
        if left > 0 {
            self.update_block::<EarlierBlock>(document, Some(gap.block), |block| {
                block.set_entries(left, follows_loaded);
            });
        } else {
            self.missing.0.retain(|missing| missing.line != gap.block);
            document.remove(gap.block);
        }
    }
}

/// Adds blocks at the end.
pub(super) fn push_all(
    document: &mut Document,
    components: Vec<Box<dyn Component>>,
) -> Vec<BlockId> {
    let components = components.into_iter();
    components
        .map(|component| document.push_boxed(component, Liveness::Settled))
        .collect()
}
