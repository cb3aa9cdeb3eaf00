//! A notice of the application.

use pi_tui::{ColorToken, Lines};
use pi_views::theme::ui_theme::RenderContext;

use crate::blocks::block::TranscriptBlock;
use crate::transcript::{Notice, NoticeLevel};
use pi_views::canvas::BlockCanvas;

#[derive(Debug)]
pub(crate) struct NoticeBlock {
    notice: Notice,
    generation: u64,
}

impl NoticeBlock {
    pub(crate) fn new(notice: Notice) -> Self {
        Self {
            notice,
            generation: 0,
        }
    }

    pub(crate) fn replace(&mut self, notice: Notice) {
        self.notice = notice;
        self.generation += 1;
    }
}

impl TranscriptBlock for NoticeBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        let Notice { level, text } = &self.notice;
        let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx);
        let (token, prefix) = match level {
            NoticeLevel::Report => {
                canvas.report(text);
                return canvas.plain().into();
            }
            NoticeLevel::Status | NoticeLevel::Info => (ColorToken::Dim, ""),
            NoticeLevel::Warning => (ColorToken::Warning, "Warning: "),
            NoticeLevel::Error => (ColorToken::Error, "Error: "),
        };
        canvas.notice(token, &format!("{prefix}{text}"));
        canvas.plain().into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}
