//! An unindented code block that is still growing, processed line by line.

use super::{MarkdownStream, PageLayout};
use crate::MermaidRendering;
use crate::code::CodeHighlighter;
use crate::mermaid::{MAX_SOURCE_LEN, is_mermaid};
use crate::parse::{MarkdownBlock, SpannedBlock};

/// An incomplete line is highlighted again each time it has grown by this many bytes.
///
/// Highlighting is by far the most expensive part of a delta; text received since then is
/// temporarily plain.
const COLOR_STEP: usize = 32;

/// An unindented code block that is still growing.
#[derive(Debug)]
pub(super) struct OpenCode {
    fence: char,
    length: usize,
    indent: usize,
    highlighter: Option<CodeHighlighter>,
    /// For a diagram drawn at the end: the offset of its source in the text, and the index of its
    /// first line among the finished lines.
    diagram: Option<(usize, usize)>,
    /// The highlighted start of the incomplete line: its length in the source, and the styled text.
    colored: (usize, String),
}

impl OpenCode {
    /// Returns the code block `last`, whose source is `source`, if its fence is not indented and
    /// not closed.
    pub(super) fn find(source: &str, last: &SpannedBlock, page: &PageLayout<'_>) -> Option<Self> {
        let MarkdownBlock::Code { language, .. } = &last.block else {
            return None;
        };
        let (first, body) = source.split_once('\n')?;
        // A diagram that is shown while it grows is parsed as a whole each time, as long as it is
        // short.
        let streaming = page.renderer.options.mermaid == MermaidRendering::Streaming;
        if streaming && is_mermaid(language) && body.len() <= MAX_SOURCE_LEN {
            return None;
        }
        let info = first.trim_start_matches(' ');
        let indent = first.len() - info.len();
        let fence = info.chars().next()?;
        let length = info.len() - info.trim_start_matches(fence).len();
        if !matches!(fence, '`' | '~') || length < 3 || indent > 3 {
            return None;
        }
        let theme = page.renderer.theme;
        let open = Self {
            fence,
            length,
            indent,
            highlighter: CodeHighlighter::new(language, &theme.syntax, theme.code_block),
            diagram: None,
            colored: (0, String::new()),
        };
        // If a closed block were followed by text, it would already be a finished block.
        let closed = body
            .split_inclusive('\n')
            .any(|line| line.ends_with('\n') && open.is_closed_by(line));
        (!closed).then_some(open)
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let trimmed = line.trim_start_matches(' ');
        let rest = trimmed.trim_start_matches(self.fence);
        line.len() - trimmed.len() <= 3
            && trimmed.len() - rest.len() >= self.length
            && rest.trim_ascii().is_empty()
    }

    /// Whether a line may become the closing fence. Showing it would flicker.
    fn may_be_closed_by(&self, partial: &str) -> bool {
        let trimmed = partial.trim_start_matches(' ');
        let rest = trimmed.trim_start_matches(self.fence);
        rest.trim_ascii().is_empty()
    }

    fn show(&mut self, line: &str, page: &PageLayout<'_>) -> Vec<String> {
        self.colored = (0, String::new());
        let line = self.without_indent(line);
        let shown = match &mut self.highlighter {
            Some(highlighter) => highlighter.line(line),
            None => page.renderer.theme.code_block.apply(line),
        };
        page.renderer.code_line(&shown, page.width)
    }

    /// Highlights an incomplete line up to a word boundary and leaves the rest plain.
    fn show_partial(&mut self, line: &str, page: &PageLayout<'_>) -> Vec<String> {
        let line = self.without_indent(line);
        let step = line.floor_char_boundary(line.len() / COLOR_STEP * COLOR_STEP);
        let before = line.get(..step).unwrap_or_default();
        let words = before
            .rfind(char::is_whitespace)
            .map_or("", |end| before.get(..end).unwrap_or_default());
        if let Some(highlighter) = &self.highlighter
            && words.len() != self.colored.0
        {
            self.colored = (words.len(), highlighter.clone().line(words));
        }
        let (length, colored) = &self.colored;
        let plain = line.get(*length..).unwrap_or_default();
        let plain = page.renderer.theme.code_block.apply(plain);
        page.renderer
            .code_line(&format!("{colored}{plain}"), page.width)
    }

    /// Returns a line without the indentation of its fence.
    fn without_indent<'a>(&self, line: &'a str) -> &'a str {
        let margin = line.len() - line.trim_start_matches(' ').len();
        let line = line.get(margin.min(self.indent)..).unwrap_or_default();
        line.trim_end_matches('\r')
    }
}

impl MarkdownStream {
    /// Writes the opening fence of a block and advances past it.
    pub(super) fn start_code(
        &mut self,
        code: &mut OpenCode,
        text: &str,
        block: &MarkdownBlock,
        page: &PageLayout<'_>,
    ) {
        let start = self.finished.len();
        let language = match block {
            MarkdownBlock::Code { language, .. } => language.as_str(),
            _ => "",
        };
        page.add(
            &page.renderer.fence(language, page.width),
            &mut self.finished,
        );
        let info = text.get(self.rest..).and_then(|code| code.find('\n'));
        self.rest += info.map_or(0, |end| end + 1);
        if page.renderer.options.mermaid != MermaidRendering::Off && is_mermaid(language) {
            code.diagram = Some((self.rest, start));
        }
    }

    /// Replaces the source with its diagram, if it can be drawn.
    fn draw_diagram(&mut self, source: Option<&str>, start: usize, page: &PageLayout<'_>) -> bool {
        let diagram = source.and_then(|it| page.renderer.diagram("mermaid", it, page.width));
        if let Some(lines) = &diagram {
            self.finished.truncate(start);
            page.add(lines, &mut self.finished);
        }
        diagram.is_some()
    }

    /// Parses complete lines of code. Returns the block if it has not ended.
    pub(super) fn continue_code(
        &mut self,
        mut code: OpenCode,
        text: &str,
        page: &PageLayout<'_>,
    ) -> Option<OpenCode> {
        while let Some((line, _)) = text.get(self.rest..).and_then(|rest| rest.split_once('\n')) {
            let end = self.rest;
            self.rest += line.len() + 1;
            if code.is_closed_by(line) {
                if let Some((from, start)) = code.diagram
                    && self.draw_diagram(text.get(from..end), start, page)
                {
                    return None;
                }
                page.add(&page.renderer.fence("", page.width), &mut self.finished);
                return None;
            }
            let shown = code.show(line, page);
            page.add(&shown, &mut self.finished);
        }
        let partial = text.get(self.rest..).unwrap_or_default();
        if !partial.is_empty() && !code.may_be_closed_by(partial) {
            let shown = code.show_partial(partial, page);
            page.add(&shown, &mut self.tail);
        }
        page.add(&page.renderer.fence("", page.width), &mut self.tail);
        Some(code)
    }
}
