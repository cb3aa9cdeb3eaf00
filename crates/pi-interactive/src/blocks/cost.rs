//! Notices about unexpected request costs; shown only if enabled.

use pi_tui::{ColorToken, Lines};
use pi_views::theme::ui_theme::RenderContext;

use crate::blocks::block::TranscriptBlock;
use pi_views::canvas::BlockCanvas;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CostNotice {
    pub(crate) token: ColorToken,
    pub(crate) text: String,
}

/// Takes no rows while cost notices are disabled.
#[derive(Debug)]
pub(crate) struct CostBlock(CostNotice);

impl CostBlock {
    pub(crate) fn new(notice: CostNotice) -> Self {
        Self(notice)
    }
}

impl TranscriptBlock for CostBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        if !ctx.show_cost_notices {
            return Lines::empty();
        }
        let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx);
        canvas.untrusted(self.0.token, &self.0.text);
        canvas.plain().into()
    }

    fn generation(&self) -> u64 {
        0
    }
}
