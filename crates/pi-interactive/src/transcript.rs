//! The conversation on screen: maps messages and tool calls to blocks and updates them.
//!
//! The blocks live in the screen's document; this type tracks which one belongs to which message and tool
//! call. Rendering is up to the blocks.

mod assistant;
mod costs;
mod events;
mod extension_rendering;
mod history;
mod message;
mod missing;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::HashMap;
use std::time::Instant;

use pi_host::ComponentId;
use pi_protocol::EntryId;
use pi_tui::{BlockId, Document, Liveness};
use pi_views::theme::ui_theme::UiTheme;

use crate::blocks::block::{BlockView, TranscriptBlock};
use crate::blocks::{BashExecutionBlock, NoticeBlock, ToolCallBlock};
use crate::extensions::bridge::ExtensionUiBridge;
use crate::session::history::SessionHistory;
use costs::CostTracker;
use history::{HistoryBlocks, HistoryBuilder};
use missing::{GapPosition, MissingParts, push_all};

pub(crate) use message::{TranscriptMsg, TranscriptSource};
pub(crate) use missing::GapEnd;

/// Number of entries shown at first; others are loaded on demand.
const RECENT_ENTRIES: usize = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoticeLevel {
    /// A status message; the next one replaces it.
    Status,
    Info,
    /// An answer of several lines, with headings and charts.
    Report,
    Warning,
    Error,
}

/// A notice in the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) level: NoticeLevel,
    /// May contain untrusted text, which is sanitized.
    pub(crate) text: String,
}

/// Outcome of a user's shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BashOutcome {
    /// `None` if it was killed or never ran.
    pub(crate) exit_code: Option<i64>,
    /// Whether the user stopped it.
    pub(crate) cancelled: bool,
    /// Whether only the end of the output was kept.
    pub(crate) truncated: bool,
    /// File with the full output.
    pub(crate) full_output_path: Option<String>,
    /// Why it could not run.
    pub(crate) error: Option<String>,
}

/// The blocks of a session.
#[derive(Debug)]
pub(crate) struct Transcript {
    ui: UiTheme,
    bridge: ExtensionUiBridge,
    /// Blocks drawn by extensions, by component ID.
    rows: HashMap<ComponentId, BlockId>,
    /// Tool calls without a result yet.
    calls: HashMap<String, BlockId>,
    /// Tool calls of the streaming message, by content index.
    arriving: HashMap<usize, BlockId>,
    /// The text of the streaming message.
    assistant: Option<BlockId>,
    /// The last answer, if it is only an error.
    failed: Option<BlockId>,
    bash: Option<BlockId>,
    status: Option<BlockId>,
    /// Blocks that change over time, and when.
    ticking: HashMap<BlockId, Instant>,
    missing: MissingParts,
    /// The first block of the entries shown at first.
    first: Option<BlockId>,
    costs: CostTracker,
}

impl Transcript {
    pub(crate) fn new(ui: UiTheme, bridge: ExtensionUiBridge) -> Self {
        Self {
            ui,
            bridge,
            rows: HashMap::new(),
            calls: HashMap::new(),
            arriving: HashMap::new(),
            assistant: None,
            failed: None,
            bash: None,
            status: None,
            ticking: HashMap::new(),
            missing: MissingParts::default(),
            first: None,
            costs: CostTracker::default(),
        }
    }

    /// Removes all blocks, for another session; clears the document, too.
    pub(crate) fn clear(&mut self, document: &mut Document) {
        self.bridge.forget_rows(self.rows.keys().copied().collect());
        *self = Self::new(self.ui.clone(), self.bridge.clone());
        document.clear();
    }

    /// Shows a session: the recent part, preceded by a line with the number of older entries.
    fn show(&mut self, document: &mut Document, source: &TranscriptSource) {
        self.costs = CostTracker::with_prices(&source.models);
        let first = source.first.as_ref();
        self.show_recent(document, source.history.as_ref(), source.is_idle, first);
        if let Some(message) = &source.live {
            self.catch_up(document, message);
        }
    }

    /// Shows the recent part, and a part from `first` on if that is older. If `idle`, calls without a result have been
    /// abandoned.
    fn show_recent(
        &mut self,
        document: &mut Document,
        session: &dyn SessionHistory,
        idle: bool,
        first: Option<&EntryId>,
    ) {
        let mut older = session.branch();
        let first = first.and_then(|first| older.iter().position(|id| id == first));
        let count = first.map_or(RECENT_ENTRIES, |first| older.len() - first);
        let recent = history::take_recent(&mut older, count.min(RECENT_ENTRIES), session);
        let count = first.map_or(0, |first| older.len().saturating_sub(first));
        let mut between = history::take_recent(&mut older, count, session);
        let from_first = history::take_first(&mut between, RECENT_ENTRIES, session);

        self.push_missing(document, older, GapPosition::AtStart);
        let HistoryBlocks {
            components, rows, ..
        } = self.build_settled(&from_first, session);
        let from_first = push_all(document, components);
        self.register_rows(rows, &from_first);
        self.missing.set_next(from_first.first().copied());
        self.push_missing(document, between, GapPosition::BetweenLoaded);
        let entries = history::read(&recent, session);
        let mut history = HistoryBuilder::of(&entries, &self.ui, &self.bridge, &mut self.costs);
        if idle {
            history.fail_open_calls();
        }
        let recent = self.push_history(document, history);
        self.missing.set_next(recent.first().copied());
        self.first = from_first.first().or(recent.first()).copied();
    }

    /// Returns the first block of the entries shown at first.
    pub(crate) fn first(&self) -> Option<BlockId> {
        self.first
    }

    /// Builds blocks of entries that others follow.
    fn build_settled(&self, ids: &[EntryId], session: &dyn SessionHistory) -> HistoryBlocks {
        let entries = history::read(ids, session);
        let costs = &mut self.costs.with_same_prices();
        let mut history = HistoryBuilder::of(&entries, &self.ui, &self.bridge, costs);
        history.fail_open_calls();
        history.finish()
    }

    /// Adds a notice. A status replaces the previous status if that is still the last line.
    fn add_notice(&mut self, document: &mut Document, notice: &Notice) {
        let is_status = notice.level == NoticeLevel::Status;
        let replaced = self.status.filter(|_| is_status);
        if replaced.is_some() && document.last() == replaced {
            self.update_block::<NoticeBlock>(document, replaced, |block| {
                block.replace(notice.clone());
            });
            return;
        }
        let id = self.push(document, NoticeBlock::new(notice.clone()));
        self.status = is_status.then_some(id);
    }

    fn begin_bash(&mut self, document: &mut Document, command: &str, excluded: bool) {
        let block = BashExecutionBlock::running(command, excluded, Instant::now());
        self.bash = Some(self.push(document, block));
    }

    fn append_bash_output(&mut self, document: &mut Document, delta: &str) {
        self.update_block::<BashExecutionBlock>(document, self.bash, |block| block.print(delta));
    }

    fn finish_bash(&mut self, document: &mut Document, end: &BashOutcome) {
        let bash = self.bash.take();
        self.update_block::<BashExecutionBlock>(document, bash, |block| block.finish(end));
    }

    /// Expands or collapses all blocks; blocks outside the view follow when they are shown.
    fn set_expanded(&mut self, document: &mut Document, expanded: bool) {
        self.ui.set_expanded(expanded);
        document.invalidate();
    }

    fn is_expanded(&self) -> bool {
        self.ui.is_expanded()
    }

    /// Returns when the next block changes over time.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        self.ticking.values().min().copied()
    }

    /// Updates the blocks that are due.
    pub(crate) fn tick(&mut self, document: &mut Document, now: Instant) {
        let due = self.ticking.iter().filter(|(_, tick)| **tick <= now);
        let due: Vec<BlockId> = due.map(|(id, _)| *id).collect();
        for id in due {
            self.ticking.remove(&id);
            self.update_block::<ToolCallBlock>(document, Some(id), |block| block.tick(now));
            self.update_block::<BashExecutionBlock>(document, Some(id), |block| block.tick(now));
        }
    }

    fn push_notice(&mut self, document: &mut Document, level: NoticeLevel, text: String) {
        self.add_notice(document, &Notice { level, text });
    }

    fn push_history(&mut self, document: &mut Document, history: HistoryBuilder) -> Vec<BlockId> {
        let HistoryBlocks {
            components,
            open,
            rows,
        } = history.finish();
        let ids = push_all(document, components);
        self.register_rows(rows, &ids);
        let open = open.into_iter();
        self.calls
            .extend(open.filter_map(|(call, index)| Some((call, *ids.get(index)?))));
        ids
    }

    fn push(&mut self, document: &mut Document, block: impl TranscriptBlock) -> BlockId {
        let tick = block.next_tick();
        let row = block.row();
        let liveness = liveness_of(&block);
        let view = BlockView::new(block, self.ui.clone());
        let id = document.push_boxed(Box::new(view), liveness);
        self.rows.extend(row.map(|row| (row, id)));
        self.ticking.extend(tick.map(|tick| (id, tick)));
        id
    }

    /// Updates a block, if it exists and has this type.
    fn update_block<B: TranscriptBlock>(
        &mut self,
        document: &mut Document,
        id: Option<BlockId>,
        change: impl FnOnce(&mut B),
    ) {
        let Some(id) = id else {
            return;
        };
        let component = document.get_mut(id);
        let view = component
            .and_then(|component| (component as &mut dyn Any).downcast_mut::<BlockView<B>>());
        let Some(view) = view else {
            return;
        };
        change(view.block_mut());
        let liveness = liveness_of(view.block());
        match view.block().next_tick() {
            Some(tick) => {
                self.ticking.insert(id, tick);
            }
            None => {
                self.ticking.remove(&id);
            }
        }
        if document.liveness(id) != Some(liveness) {
            document.set_liveness(id, liveness);
        }
    }
}

/// Blocks that grow are live, so that they are printed in one piece if the terminal is released meanwhile.
fn liveness_of(block: &impl TranscriptBlock) -> Liveness {
    if block.is_finished() {
        Liveness::Settled
    } else {
        Liveness::Live
    }
}
