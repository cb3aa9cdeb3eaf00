//! Summaries of compactions and of abandoned branches.

use pi_markdown::MarkdownOptions;
use pi_tui::{ColorToken, Lines, MouseEvent, MouseOutcome};
use pi_views::text::thousands::group_thousands;
use pi_views::theme::ui_theme::RenderContext;

use crate::blocks::block::TranscriptBlock;
use pi_views::canvas::{BlockCanvas, expand_hint, is_click};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summarized {
    Compaction {
        /// Context size before the compaction.
        tokens_before: u64,
    },
    Branch,
}

#[derive(Debug)]
pub(crate) struct SummaryBlock {
    summarized: Summarized,
    summary: String,
    expanded: bool,
    generation: u64,
}

impl SummaryBlock {
    pub(crate) fn new(summarized: Summarized, summary: &str) -> Self {
        Self {
            summarized,
            summary: summary.to_owned(),
            expanded: false,
            generation: 0,
        }
    }
}

impl TranscriptBlock for SummaryBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        let (label, title) = match self.summarized {
            Summarized::Compaction { tokens_before } => (
                "compaction",
                format!("Compacted {} tokens", group_thousands(tokens_before)),
            ),
            Summarized::Branch => ("branch", "Branch summary".to_owned()),
        };
        let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx);
        canvas.label(label);
        canvas.blank();
        let style = ctx.style(ColorToken::CustomMessageText);
        if self.expanded {
            canvas.styled(&style.bold().apply(&title));
            canvas.blank();
            canvas.markdown(&self.summary, style, MarkdownOptions::default());
        } else {
            let hint = expand_hint(ctx);
            canvas.styled(&format!("{}{hint}", style.apply(&title)));
        }
        canvas.panel(ColorToken::CustomMessageBg).into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn set_expanded(&mut self, expanded: bool) {
        if self.expanded != expanded {
            self.expanded = expanded;
            self.generation += 1;
        }
    }

    fn mouse(&mut self, event: &MouseEvent) -> MouseOutcome {
        if !is_click(event) {
            return MouseOutcome::default();
        }
        self.set_expanded(!self.expanded);
        MouseOutcome::handled()
    }
}
