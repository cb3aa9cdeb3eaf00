//! A remark of the program.

use pi_tui::{ColorToken, Lines};

use super::page::Page;
use crate::block::Block;
use crate::look::Appearance;
use crate::transcript::{Notice, NoticeLevel};

/// A remark.
#[derive(Debug)]
pub(crate) struct NoticeBlock {
    notice: Notice,
    generation: u64,
}

impl NoticeBlock {
    /// Makes a block of a remark.
    pub(crate) fn new(notice: Notice) -> Self {
        Self {
            notice,
            generation: 0,
        }
    }

    /// Makes another remark in its place.
    pub(crate) fn replace(&mut self, notice: Notice) {
        self.notice = notice;
        self.generation += 1;
    }
}

impl Block for NoticeBlock {
    fn lines(&mut self, width: usize, appearance: &Appearance) -> Lines {
        let Notice { level, text } = &self.notice;
        let (token, prefix) = match level {
            NoticeLevel::Status | NoticeLevel::Info => (ColorToken::Dim, ""),
            NoticeLevel::Warning => (ColorToken::Warning, "Warning: "),
            NoticeLevel::Error => (ColorToken::Error, "Error: "),
        };
        let mut page = Page::new(width, appearance.output_padding, appearance);
        page.remark(token, &format!("{prefix}{text}"));
        page.plain().into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}
