//! The line above a conversation of which only the recent part is shown.

use pi_tui::{ColorToken, Lines, action};

use super::page::Page;
use crate::block::Block;
use crate::grouped::grouped;
use crate::look::Appearance;

/// Says how much is not shown.
#[derive(Debug)]
pub(crate) struct EarlierBlock {
    entries: usize,
    generation: u64,
}

impl EarlierBlock {
    /// Makes a block for this many entries.
    pub(crate) fn new(entries: usize) -> Self {
        Self {
            entries,
            generation: 0,
        }
    }

    /// Says another number.
    pub(crate) fn set_entries(&mut self, entries: usize) {
        self.entries = entries;
        self.generation += 1;
    }
}

impl Block for EarlierBlock {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        let count = grouped(self.entries as u64);
        let key = appearance.key(action::EDITOR_PAGE_UP);
        let mut page = Page::new(width, appearance.output_padding, appearance);
        page.text(
            ColorToken::Dim,
            &format!("… {count} earlier entries: {key} at an empty prompt"),
        );
        page.plain().into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}
