//! User messages.

use pi_host::ComponentId;
use pi_markdown::MarkdownOptions;
use pi_protocol::{InputBlock, MessageContent};
use pi_tui::{ColorToken, Line, Lines, MouseEvent, MouseOutcome};
use pi_views::theme::ui_theme::RenderContext;

use super::extension_renderer::TextTransform;
use crate::blocks::block::TranscriptBlock;
use pi_views::canvas::{BlockCanvas, is_click, mark_zone};
use pi_views::image_preview::ImagePreview;

/// A prompt with more rows than this is folded, to this many.
const MAX_ROWS: usize = 30;
pub(super) const FOLDED_ROWS: usize = 15;

/// Columns of the preview of an attached image.
const THUMBNAIL_COLUMNS: usize = 42;

#[derive(Debug)]
pub(crate) struct UserBlock {
    text: String,
    images: Vec<ImagePreview>,
    transform: Option<TextTransform>,
    expanded: bool,
    is_long: bool,
    generation: u64,
}

impl UserBlock {
    /// Lets extensions transform the text.
    #[must_use]
    pub(crate) fn transformed_by(mut self, transform: Option<TextTransform>) -> Self {
        self.transform = transform;
        self
    }

    /// Accepts the transformed text.
    pub(crate) fn accept(&mut self, texts: Option<Vec<String>>) {
        if let Some(transform) = &mut self.transform {
            transform.accept(texts);
            self.generation += 1;
        }
    }

    /// Creates a block for a message; `None` if it is empty.
    pub(crate) fn new(content: &MessageContent) -> Option<Self> {
        let images = match content {
            MessageContent::Text(_) => Vec::new(),
            MessageContent::Blocks(blocks) => blocks.iter().filter_map(image).collect(),
        };
        Self::with(content.joined_text(), images)
    }

    /// Creates a block for text; `None` if it is empty.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        Self::with(text.to_owned(), Vec::new())
    }

    fn with(text: String, images: Vec<ImagePreview>) -> Option<Self> {
        let is_empty = text.trim().is_empty() && images.is_empty();
        (!is_empty).then_some(Self {
            text,
            images,
            transform: None,
            expanded: false,
            is_long: false,
            generation: 0,
        })
    }
}

fn image(block: &InputBlock) -> Option<ImagePreview> {
    match block {
        InputBlock::Image(image) => Some(ImagePreview::new(image.clone())),
        InputBlock::Text(_) | InputBlock::Unknown(_) => None,
    }
}

impl TranscriptBlock for UserBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        let has_background = ctx.has_background(ColorToken::UserMessageBg);
        let bar_columns = usize::from(!has_background);
        let mut canvas =
            BlockCanvas::new(width, ctx.output_padding + bar_columns, ctx).expanded(self.expanded);
        let options = MarkdownOptions {
            keep_list_markers: true,
            keep_escapes: true,
            ..MarkdownOptions::default()
        };
        let style = ctx.style(ColorToken::UserMessageText);
        if let Some(transform) = &mut self.transform {
            let parts = [("user", self.text.as_str())].into_iter();
            transform.request(width, ctx, (0, false), parts);
        }
        let accept_texts = self
            .transform
            .as_ref()
            .and_then(|transform| transform.text(0));
        canvas.markdown(accept_texts.unwrap_or(&self.text), style, options);
        self.is_long = canvas.fold(MAX_ROWS, FOLDED_ROWS);
        for image in &self.images {
            canvas.untrusted(ColorToken::Muted, &image.description());
        }
        let mut lines = if has_background {
            canvas.panel(ColorToken::UserMessageBg)
        } else {
            canvas.barred(ColorToken::Accent)
        };
        for image in &mut self.images {
            if let Some(rows) = image.lines(width.min(THUMBNAIL_COLUMNS), ctx) {
                lines.push(Line::default());
                lines.extend(rows);
            }
        }
        mark_zone(&mut lines);
        lines.into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn set_expanded(&mut self, expanded: bool) {
        self.generation += u64::from(self.is_long && self.expanded != expanded);
        self.expanded = expanded;
    }

    fn mouse(&mut self, event: &MouseEvent) -> MouseOutcome {
        if !self.is_long || !is_click(event) {
            return MouseOutcome::default();
        }
        self.set_expanded(!self.expanded);
        MouseOutcome::handled()
    }

    fn row(&self) -> Option<ComponentId> {
        self.transform.as_ref().map(TextTransform::id)
    }
}
