//! The line where entries of a partially loaded conversation are missing.

use pi_tui::{ColorToken, Lines, action};
use pi_views::text::thousands::group_thousands;
use pi_views::theme::ui_theme::RenderContext;

use crate::blocks::block::TranscriptBlock;
use pi_views::canvas::BlockCanvas;

/// Shows the number of entries that are not loaded.
#[derive(Debug)]
pub(crate) struct EarlierBlock {
    entries: usize,
    /// Whether there are entries above the line.
    follows_loaded: bool,
    generation: u64,
}

impl EarlierBlock {
    pub(crate) fn new(entries: usize) -> Self {
        Self {
            entries,
            follows_loaded: false,
            generation: 0,
        }
    }

    pub(crate) fn set_entries(&mut self, entries: usize, follows_loaded: bool) {
        self.entries = entries;
        self.follows_loaded = follows_loaded;
        self.generation += 1;
    }
}

impl TranscriptBlock for EarlierBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        let count = group_thousands(self.entries as u64);
        let text = if self.follows_loaded {
            format!("… {count} more entries, loaded while scrolling")
        } else {
            let key = ctx.key(action::EDITOR_PAGE_UP);
            format!("… {count} earlier entries ({key} at an empty prompt)")
        };
        let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx);
        canvas.text(ColorToken::Dim, &text);
        canvas.plain().into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}
