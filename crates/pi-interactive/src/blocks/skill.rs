//! A skill invoked by the user; additional text is a separate block.

use pi_markdown::MarkdownOptions;
use pi_tui::{ColorToken, Lines, MouseEvent, MouseOutcome};
use pi_views::theme::ui_theme::RenderContext;

use crate::blocks::block::TranscriptBlock;
use pi_views::canvas::{BlockCanvas, clean_line, expand_hint, is_click};

/// A parsed message that invokes a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SkillCall<'text> {
    pub(crate) name: &'text str,
    pub(crate) instructions: &'text str,
    /// Additional text from the user; may be empty.
    pub(crate) message: &'text str,
}

impl<'text> SkillCall<'text> {
    /// Parses a message; `None` if it invokes no skill.
    pub(crate) fn parse(text: &'text str) -> Option<Self> {
        let rest = text.strip_prefix("<skill name=\"")?;
        let (name, rest) = rest.split_once("\" location=\"")?;
        let (location, rest) = rest.split_once("\">\n")?;
        if name.contains(['"', '\n']) || location.contains(['"', '\n']) {
            return None;
        }
        let (instructions, message) = rest.rsplit_once("\n</skill>")?;
        let message = match message {
            "" => "",
            message => message.strip_prefix("\n\n")?,
        };
        Some(Self {
            name,
            instructions,
            message: message.trim(),
        })
    }
}

#[derive(Debug)]
pub(crate) struct SkillBlock {
    name: String,
    instructions: String,
    expanded: bool,
    generation: u64,
}

impl SkillBlock {
    pub(crate) fn new(call: &SkillCall<'_>) -> Self {
        Self {
            name: call.name.replace("&quot;", "\""),
            instructions: call.instructions.to_owned(),
            expanded: false,
            generation: 0,
        }
    }
}

impl TranscriptBlock for SkillBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx);
        let label = ctx.style(ColorToken::CustomMessageLabel).bold();
        let style = ctx.style(ColorToken::CustomMessageText);
        let name = clean_line(&self.name);
        let hint = if self.expanded {
            String::new()
        } else {
            expand_hint(ctx)
        };
        let title = format!("{} {}{hint}", label.apply("[skill]"), style.apply(&name));
        canvas.styled(&title);
        if self.expanded {
            canvas.blank();
            canvas.markdown(&self.instructions, style, MarkdownOptions::default());
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
