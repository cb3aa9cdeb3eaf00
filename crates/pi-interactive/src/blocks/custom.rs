//! A message or entry added by an extension.

use pi_host::ComponentId;
use pi_markdown::MarkdownOptions;
use pi_tui::{ColorToken, Line, Lines};
use pi_views::theme::ui_theme::RenderContext;

use super::extension_renderer::CustomRenderer;
use crate::blocks::block::TranscriptBlock;
use pi_views::canvas::BlockCanvas;

/// An extension's message, drawn by the extension or in the default style.
#[derive(Debug)]
pub(crate) struct CustomBlock {
    /// The custom type and text; `None` if only the extension can draw it.
    default_view: Option<(String, String)>,
    renderer: Option<CustomRenderer>,
    expanded: bool,
    generation: u64,
}

impl CustomBlock {
    pub(crate) fn new(kind: &str, content: &pi_protocol::MessageContent) -> Self {
        Self {
            default_view: Some((kind.to_owned(), content.joined_text())),
            renderer: None,
            expanded: false,
            generation: 0,
        }
    }

    /// Creates a block that shows only what an extension draws.
    pub(crate) fn drawn(renderer: CustomRenderer) -> Self {
        Self {
            default_view: None,
            renderer: Some(renderer),
            expanded: false,
            generation: 0,
        }
    }

    /// Lets an extension draw the block.
    #[must_use]
    pub(crate) fn rendered_by(mut self, renderer: Option<CustomRenderer>) -> Self {
        self.renderer = renderer;
        self
    }

    /// Accepts lines of the extension; `None` shows the default style.
    pub(crate) fn accept(&mut self, drawn: Option<Vec<String>>) {
        if let Some(renderer) = &mut self.renderer {
            renderer.accept(drawn);
            self.generation += 1;
        }
    }
}

impl TranscriptBlock for CustomBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        let expanded = self.expanded;
        let drawn = self
            .renderer
            .as_mut()
            .and_then(|renderer| renderer.lines(width, ctx, expanded));
        if let Some(mut drawn) = drawn {
            if !drawn.is_empty() {
                drawn.insert(0, Line::default());
            }
            return drawn.into();
        }
        let Some((kind, text)) = &self.default_view else {
            return Lines::empty();
        };
        let mut canvas = BlockCanvas::new(width, ctx.output_padding, ctx);
        canvas.label(kind);
        canvas.blank();
        let style = ctx.style(ColorToken::CustomMessageText);
        canvas.markdown(text, style, MarkdownOptions::default());
        canvas.panel(ColorToken::CustomMessageBg).into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn set_expanded(&mut self, expanded: bool) {
        if self.expanded != expanded {
            self.expanded = expanded;
            if self.renderer.is_some() {
                self.generation += 1;
            }
        }
    }

    fn row(&self) -> Option<ComponentId> {
        self.renderer.as_ref().map(CustomRenderer::id)
    }
}
