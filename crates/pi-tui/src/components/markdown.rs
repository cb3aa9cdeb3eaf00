//! Markdown, as models write it: shown while it still grows.
//!
//! Source becomes blocks (`parse`), blocks become lines (`block`, `inline`, `list`, `table`, `code`,
//! `latex`, `mermaid`), and finished blocks are kept (`stream`). The text is foreign: control sequences in it are
//! removed.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use super::background::Fill;
use super::text::horizontal_padding;
use crate::component::Component;
use crate::line::{Line, Lines};
use crate::style::{Painter, Style};
use crate::text::{Sanitizer, TAB_WIDTH};
use crate::theme::{ColorToken, Theme};

mod block;
mod code;
mod inline;
mod latex;
mod list;
mod mermaid;
mod parse;
mod stream;
mod table;
#[cfg(test)]
mod tests;

pub use code::{CodeHighlighter, SyntaxStyles, highlight_code};
pub use latex::latex_to_unicode;
pub use mermaid::mermaid_to_text;

use block::BlockRenderer;
use code::HighlightCache;
use stream::{Page, Stream};

/// How [`Markdown`] looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownTheme {
    pub heading: Style,
    pub link: Style,
    /// Addresses beside links that cannot be clicked.
    pub link_url: Style,
    /// Code in running text.
    pub code: Style,
    /// Code in blocks, where it is not highlighted.
    pub code_block: Style,
    /// Fences of code blocks.
    pub code_block_border: Style,
    pub quote: Style,
    pub quote_border: Style,
    pub rule: Style,
    /// Markers of list items.
    pub list_bullet: Style,
    /// Code, by its parts.
    pub syntax: SyntaxStyles,
    /// Stands before each line of a code block.
    pub code_indent: String,
    /// Links can be clicked, so that their address need not be shown.
    pub hyperlinks: bool,
}

impl Default for MarkdownTheme {
    fn default() -> Self {
        let plain = Style::plain();
        Self {
            heading: plain,
            link: plain,
            link_url: plain,
            code: plain,
            code_block: plain,
            code_block_border: plain,
            quote: plain,
            quote_border: plain,
            rule: plain,
            list_bullet: plain,
            syntax: SyntaxStyles::default(),
            code_indent: "  ".to_owned(),
            hyperlinks: false,
        }
    }
}

impl MarkdownTheme {
    /// Returns the looks of a theme; `hyperlinks` tells whether the terminal knows OSC 8.
    pub fn from_theme(theme: &Theme, hyperlinks: bool) -> Self {
        Self {
            heading: theme.style(ColorToken::MdHeading),
            link: theme.style(ColorToken::MdLink),
            link_url: theme.style(ColorToken::MdLinkUrl),
            code: theme.style(ColorToken::MdCode),
            code_block: theme.style(ColorToken::MdCodeBlock),
            code_block_border: theme.style(ColorToken::MdCodeBlockBorder),
            quote: theme.style(ColorToken::MdQuote),
            quote_border: theme.style(ColorToken::MdQuoteBorder),
            rule: theme.style(ColorToken::MdHr),
            list_bullet: theme.style(ColorToken::MdListBullet),
            syntax: SyntaxStyles::from_theme(theme),
            hyperlinks,
            ..Self::default()
        }
    }
}

/// What [`Markdown`] does with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkdownOptions {
    /// List markers stay as they were written, for text that is somebody's own.
    pub keep_list_markers: bool,
    /// Backslashes before escaped characters stay.
    pub keep_escapes: bool,
    /// Formulas become Unicode text.
    pub latex: bool,
    /// When Mermaid diagrams are drawn.
    pub mermaid: MermaidRendering,
}

/// When Mermaid diagrams are drawn; else they are shown as code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MermaidRendering {
    Off,
    /// When their block has ended.
    Final,
    /// While they arrive, as far as they can be read.
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

/// Changes a text for a number of columns.
#[derive(Clone)]
struct Transform(Arc<TransformFunction>);

type TransformFunction = dyn Fn(&str, usize) -> String + Send + Sync;

impl fmt::Debug for Transform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Transform")
    }
}

/// Shows Markdown, whole or while it arrives.
#[derive(Debug)]
pub struct Markdown {
    theme: MarkdownTheme,
    options: MarkdownOptions,
    style: Style,
    transform: Option<Transform>,
    background: Option<Painter>,
    padding_x: usize,
    padding_y: usize,
    /// The text as given, and as shown: without control sequences.
    text: String,
    clean: String,
    sanitizer: Sanitizer,
    /// The text as it was transformed for the last time, if it is.
    transformed: String,
    stream: Stream,
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
            stream: Stream::default(),
            highlights: RefCell::default(),
            rendered: None,
        };
        markdown.append(text);
        markdown
    }

    /// Returns the document with these options.
    #[must_use]
    pub fn options(mut self, options: MarkdownOptions) -> Self {
        self.options = options;
        self.invalidate();
        self
    }

    /// Returns the document with this padding: columns left and right, rows above and below.
    #[must_use]
    pub fn padding(mut self, columns: usize, rows: usize) -> Self {
        self.padding_x = columns;
        self.padding_y = rows;
        self.invalidate();
        self
    }

    /// Returns the document with this style for what has none of its own.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self.invalidate();
        self
    }

    /// Returns the document with its text changed before it is shown.
    ///
    /// `transform` gets the text without control sequences and the columns there are. What it returns
    /// is trusted: it may hold styles. A text that is transformed is read again from the first place
    /// that changed, hence a transformation should leave what has arrived alone.
    #[must_use]
    pub fn transform(
        mut self,
        transform: impl Fn(&str, usize) -> String + Send + Sync + 'static,
    ) -> Self {
        self.transform = Some(Transform(Arc::new(transform)));
        self.invalidate();
        self
    }

    /// Returns the document on a background that fills its lines.
    #[must_use]
    pub fn background(mut self, painter: impl Into<Painter>) -> Self {
        self.background = Some(painter.into());
        self.invalidate();
        self
    }

    /// Adds text at the end.
    pub fn append(&mut self, text: &str) {
        self.text.push_str(text);
        let mut clean = String::with_capacity(text.len());
        self.sanitizer.push(text, &mut clean);
        if clean.contains('\t') {
            clean = clean.replace('\t', &" ".repeat(TAB_WIDTH));
        }
        self.clean.push_str(&clean);
    }

    /// Replaces the text; if it only grew, what is finished stays.
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

    /// Replaces the looks.
    pub fn set_theme(&mut self, theme: MarkdownTheme) {
        self.theme = theme;
        self.invalidate();
    }

    /// Returns the text as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn lay_out(&mut self, width: usize) -> Lines {
        if width == 0 || self.clean.trim().is_empty() {
            return Lines::empty();
        }
        let padding = horizontal_padding(self.padding_x, width);
        let margin = " ".repeat(padding);
        let fill = self.background.as_ref().map(Fill::of).unwrap_or_default();
        let frame = |line: &str| -> Line {
            if padding == 0 {
                fill.line(line, width)
            } else {
                fill.line(&format!("{margin}{line}"), width)
            }
        };
        let page = Page {
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
                    self.stream = Stream::default();
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
        let lines = self.lay_out(width);
        self.rendered = Some((width, self.clean.len(), lines.clone()));
        lines
    }

    fn invalidate(&mut self) {
        self.stream = Stream::default();
        self.highlights.borrow_mut().clear();
        self.rendered = None;
    }
}
