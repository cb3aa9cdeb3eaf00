//! A remark about what a request cost beyond what one would expect, for those who asked for such remarks.

use pi_tui::{ColorToken, Lines};

use super::canvas::BlockCanvas;
use crate::block::Block;
use crate::ui_theme::RenderContext;

/// What there is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CostNotice {
    /// How loud it is.
    pub(crate) token: ColorToken,
    pub(crate) text: String,
}

/// The remark; it takes no room while such remarks are not wanted.
#[derive(Debug)]
pub(crate) struct CostBlock(CostNotice);

impl CostBlock {
    /// Makes a block of a remark.
    pub(crate) fn new(notice: CostNotice) -> Self {
        Self(notice)
    }
}

impl Block for CostBlock {
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
