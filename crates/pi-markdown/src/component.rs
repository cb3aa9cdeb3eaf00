//! The component that shows a document: sanitizes the text, lays out the page and caches it.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use pi_tui::{
    BackgroundFill, Component, Line, Lines, Painter, Sanitizer, Style, TAB_WIDTH,
    horizontal_padding,
};

use crate::block::BlockRenderer;
use crate::code::HighlightCache;
use crate::stream::{MarkdownStream, PageLayout};
use crate::theme::MarkdownTheme;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkdownOptions {
    /// Keep list markers as written, for text the user wrote.
    pub keep_list_markers: bool,
    /// Keep backslashes before escaped characters.
    pub keep_escapes: bool,
    /// Render formulas as Unicode text.
    pub latex: bool,
    pub mermaid: MermaidRendering,
}

/// When Mermaid diagrams are drawn. Otherwise they are shown as code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MermaidRendering {
    Off,
    /// When their block is complete.
    Final,
    /// While they stream in, as far as they can be parsed.
    #[default]
    Streaming,
}

impl Default for MarkdownOptions {
    fn default() -> Self {
        Self {
            keep_list_markers: false,
            keep_escapes: false,
            latex: true,
            mermaid: MermaidRendering::default(),
        }
    }
}

/// Transforms a text for a number of columns.
#[derive(Clone)]
struct Transform(Arc<TransformFunction>);

type TransformFunction = dyn Fn(&str, usize) -> String + Send + Sync;

impl fmt::Debug for Transform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Transform")
    }
}

/// Shows Markdown, complete or streaming.
#[derive(Debug)]
pub struct Markdown {
    theme: MarkdownTheme,
    options: MarkdownOptions,
    style: Style,
    transform: Option<Transform>,
    background: Option<Painter>,
    padding_x: usize,
    padding_y: usize,
    /// The text as given. `clean` is the text without control sequences.
    text: String,
    clean: String,
    sanitizer: Sanitizer,
    /// The transformed text as of the last render, if there is a transform.
    transformed: String,
    stream: MarkdownStream,
    highlights: RefCell<HighlightCache>,
    rendered: Option<(usize, usize, Lines)>,
}

impl Markdown {
    /// Returns a document without padding.
    pub fn new(text: &str, theme: MarkdownTheme) -> Self {
        let mut markdown = Self {
            theme,
            options: MarkdownOptions::default(),
            style: Style::plain(),
            transform: None,
            background: None,
            padding_x: 0,
            padding_y: 0,
            text: String::new(),
            clean: String::new(),
            sanitizer: Sanitizer::new(),
            transformed: String::new(),
            stream: MarkdownStream::default(),
            highlights: RefCell::default(),
            rendered: None,
        };
        markdown.append(text);
        markdown
    }

    #[must_use]
    pub fn options(mut self, options: MarkdownOptions) -> Self {
        self.options = options;
        self.invalidate();
        self
    }

    /// Sets the padding: columns left and right, rows above and below.
    #[must_use]
    pub fn padding(mut self, columns: usize, rows: usize) -> Self {
        self.padding_x = columns;
        self.padding_y = rows;
        self.invalidate();
        self
    }

    /// Sets the style of text that has no other style.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self.invalidate();
        self
    }

    /// Sets a function that transforms the text before it is rendered.
    ///
    /// `transform` receives the text without control sequences and the available columns. Its
    /// result is trusted and may contain styles. Transformed text is parsed again from the first
    /// byte that changed, so a transform should leave already streamed text alone.
    #[must_use]
    pub fn transform(
        mut self,
        transform: impl Fn(&str, usize) -> String + Send + Sync + 'static,
    ) -> Self {
        self.transform = Some(Transform(Arc::new(transform)));
        self.invalidate();
        self
    }

    /// Sets a background that fills the lines.
    #[must_use]
    pub fn background(mut self, painter: impl Into<Painter>) -> Self {
        self.background = Some(painter.into());
        self.invalidate();
        self
    }

    pub fn append(&mut self, text: &str) {
        self.text.push_str(text);
        let mut clean = String::with_capacity(text.len());
        self.sanitizer.push(text, &mut clean);
        if clean.contains('\t') {
            clean = clean.replace('\t', &" ".repeat(TAB_WIDTH));
        }
        self.clean.push_str(&clean);
    }

    /// Replaces the text. If it only grew, finished blocks are kept.
    pub fn set_text(&mut self, text: &str) {
        if let Some(added) = text.strip_prefix(self.text.as_str()) {
            if !added.is_empty() {
                self.append(added);
            }
            return;
        }
        self.text.clear();
        self.clean.clear();
        self.sanitizer = Sanitizer::new();
        self.invalidate();
        self.append(text);
    }

    pub fn set_theme(&mut self, theme: MarkdownTheme) {
        self.theme = theme;
        self.invalidate();
    }

    /// Returns the text as given.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn layout(&mut self, width: usize) -> Lines {
        if width == 0 || self.clean.trim().is_empty() {
            return Lines::empty();
        }
        let padding = horizontal_padding(self.padding_x, width);
        let margin = " ".repeat(padding);
        let fill = self
            .background
            .as_ref()
            .map(BackgroundFill::of)
            .unwrap_or_default();
        let frame = |line: &str| -> Line {
            if padding == 0 {
                fill.line(line, width)
            } else {
                fill.line(&format!("{margin}{line}"), width)
            }
        };
        let page = PageLayout {
            renderer: BlockRenderer {
                theme: &self.theme,
                options: &self.options,
                highlights: &self.highlights,
            },
            width: width - padding * 2,
            style: self.style,
            frame: &frame,
        };
        match &self.transform {
            Some(Transform(transform)) => {
                let transformed = transform(&self.clean, page.width);
                if !transformed.starts_with(&self.transformed) {
                    self.stream = MarkdownStream::default();
                }
                self.transformed = transformed;
                self.stream.advance(&self.transformed, &page);
            }
            None => self.stream.advance(&self.clean, &page),
        }
        let [finished, tail] = self.stream.lines();
        let edge = vec![frame(""); self.padding_y];
        let mut lines = Vec::with_capacity(finished.len() + tail.len() + 2 * edge.len());
        lines.extend_from_slice(&edge);
        lines.extend_from_slice(finished);
        lines.extend_from_slice(tail);
        lines.extend_from_slice(&edge);
        lines.into()
    }
}

impl Component for Markdown {
    fn render(&mut self, width: usize) -> Lines {
        match &self.rendered {
            Some((rendered, length, lines))
                if *rendered == width && *length == self.clean.len() =>
            {
                return lines.clone();
            }
            Some((rendered, _, _)) if *rendered != width => self.invalidate(),
            _ => {}
        }
        let lines = self.layout(width);
        self.rendered = Some((width, self.clean.len(), lines.clone()));
        lines
    }

    fn invalidate(&mut self) {
        self.stream = MarkdownStream::default();
        self.highlights.borrow_mut().clear();
        self.rendered = None;
    }
}
