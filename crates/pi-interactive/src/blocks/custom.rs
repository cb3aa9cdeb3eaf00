//! A message or an entry that an extension put in.

use pi_runtime::ComponentId;
use pi_tui::{ColorToken, Line, Lines, MarkdownOptions};

use super::canvas::{BlockCanvas, PANEL_PADDING};
use super::extension_renderer::CustomRenderer;
use crate::block::Block;
use crate::ui_theme::RenderContext;

/// A message of an extension, drawn by it or as all of them are.
#[derive(Debug)]
pub(crate) struct CustomBlock {
    /// The name of its kind and the text; nothing where only the extension can show it.
    usual: Option<(String, String)>,
    renderer: Option<CustomRenderer>,
    expanded: bool,
    generation: u64,
}

impl CustomBlock {
    /// Makes a block of a message and the extension's name for its kind.
    pub(crate) fn new(kind: &str, content: &pi_ai::Content) -> Self {
        Self {
            usual: Some((kind.to_owned(), content.joined_text())),
            renderer: None,
            expanded: false,
            generation: 0,
        }
    }

    /// Makes a block that shows what an extension draws, and nothing else.
    pub(crate) fn drawn(renderer: CustomRenderer) -> Self {
        Self {
            usual: None,
            renderer: Some(renderer),
            expanded: false,
            generation: 0,
        }
    }

    /// Has an extension draw the block.
    #[must_use]
    pub(crate) fn rendered_by(mut self, renderer: Option<CustomRenderer>) -> Self {
        self.renderer = renderer;
        self
    }

    /// Takes lines of the extension; none show the block as all are shown.
    pub(crate) fn accept(&mut self, drawn: Option<Vec<String>>) {
        if let Some(renderer) = &mut self.renderer {
            renderer.accept(drawn);
            self.generation += 1;
        }
    }
}

impl Block for CustomBlock {
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
        let Some((kind, text)) = &self.usual else {
            return Lines::empty();
        };
        let mut canvas = BlockCanvas::new(width, PANEL_PADDING, ctx);
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
