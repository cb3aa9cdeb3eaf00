//! A document that grows at its end: finished blocks are rendered once and never looked at again.
//!
//! A block is finished when the next one has begun with a whole line; until then one more character
//! could change what it is. An open code fence at the margin is taken line by line.

use std::collections::HashMap;

use super::block::BlockRenderer;
use super::code::CodeHighlighter;
use super::parse::{Block, Placed, Reading, parse};
use crate::line::Line;
use crate::style::Style;

/// What the separation of blocks depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Paragraph,
    List,
    Html,
    Other,
}

impl Kind {
    fn of(block: &Block) -> Self {
        match block {
            Block::Paragraph(_) => Self::Paragraph,
            Block::List(_) => Self::List,
            Block::Html(_) => Self::Html,
            _ => Self::Other,
        }
    }

    /// Returns whether an empty line stands between two blocks.
    fn is_apart_from(self, next: Self, blank_in_source: bool) -> bool {
        blank_in_source
            || !matches!(
                (self, next),
                (Self::List | Self::Html, _) | (Self::Paragraph, Self::List)
            )
    }
}

/// A code block at the margin whose end has not come yet.
#[derive(Clone, Debug)]
struct OpenCode {
    fence: char,
    length: usize,
    indent: usize,
    highlighter: Option<CodeHighlighter>,
}

/// How lines are laid out and framed.
pub(super) struct Page<'a> {
    pub(super) renderer: BlockRenderer<'a>,
    pub(super) width: usize,
    pub(super) style: Style,
    /// Pads a line and puts it on the background.
    pub(super) frame: &'a dyn Fn(&str) -> Line,
}

impl Page<'_> {
    fn add(&self, lines: &[String], out: &mut Vec<Line>) {
        out.extend(lines.iter().map(|line| (self.frame)(line)));
    }
}

/// The rendered part of a document, and where the rest starts.
#[derive(Debug, Default)]
pub(super) struct Stream {
    finished: Vec<Line>,
    tail: Vec<Line>,
    /// Where in the text the part that is not finished starts.
    rest: usize,
    last: Option<Kind>,
    code: Option<OpenCode>,
    definitions: HashMap<String, String>,
}

impl Stream {
    /// Returns the lines so far: of finished blocks, and of the rest.
    pub(super) fn lines(&self) -> [&[Line]; 2] {
        [&self.finished, &self.tail]
    }

    /// Follows the text, which may only have grown since the last time.
    pub(super) fn advance(&mut self, text: &str, page: &Page<'_>) {
        self.tail.clear();
        loop {
            if self.code.is_some() && !self.read_code(text, page) {
                return;
            }
            if !self.read_blocks(text, page) {
                return;
            }
        }
    }

    /// Reads blocks; returns whether an open code block is left to be read.
    fn read_blocks(&mut self, text: &str, page: &Page<'_>) -> bool {
        let rest = text.get(self.rest..).unwrap_or_default();
        let reading = Reading {
            math: page.renderer.options.latex,
            keep_escapes: page.renderer.options.keep_escapes,
            definitions: &self.definitions,
        };
        let (blocks, definitions) = parse(rest, reading);
        let Some((last, before)) = blocks.split_last() else {
            return false;
        };
        let start = line_start(rest, last.range.start);
        let begun = rest.get(start..).is_some_and(|last| last.contains('\n'));
        if !begun {
            self.render_all(text, &blocks, page);
            return false;
        }
        let offset = self.rest;
        for placed in before {
            let lines = self.render(text, offset, placed, page);
            self.finished.extend(lines);
        }
        self.definitions.extend(definitions);
        self.rest = offset + start;
        if let Some(open) = self.open_code(text, last, page) {
            let mut lines = self.separate(text, self.rest, Kind::Other, page);
            let language = match &last.block {
                Block::Code { language, .. } => language.as_str(),
                _ => "",
            };
            page.add(&page.renderer.fence(language, page.width), &mut lines);
            self.finished.extend(lines);
            let info = text.get(self.rest..).and_then(|code| code.find('\n'));
            self.rest += info.map_or(0, |end| end + 1);
            self.code = Some(open);
            return true;
        }
        self.render_last(text, offset, last, page);
        false
    }

    fn render_all(&mut self, text: &str, blocks: &[Placed], page: &Page<'_>) {
        let kept = self.last;
        for placed in blocks {
            let lines = self.render(text, self.rest, placed, page);
            self.tail.extend(lines);
        }
        self.last = kept;
    }

    fn render_last(&mut self, text: &str, offset: usize, last: &Placed, page: &Page<'_>) {
        let kept = self.last;
        self.tail = self.render(text, offset, last, page);
        self.last = kept;
    }

    /// Returns the lines of a block with the empty line before it; `offset` is where its ranges count
    /// from.
    fn render(&mut self, text: &str, offset: usize, placed: &Placed, page: &Page<'_>) -> Vec<Line> {
        let kind = Kind::of(&placed.block);
        let mut lines = self.separate(text, offset + placed.range.start, kind, page);
        let block = page.renderer.block(&placed.block, page.width, page.style);
        page.add(&block, &mut lines);
        lines
    }

    fn separate(&mut self, text: &str, start: usize, next: Kind, page: &Page<'_>) -> Vec<Line> {
        let last = self.last.replace(next);
        let apart = last.is_some_and(|last| last.is_apart_from(next, blank_before(text, start)));
        if apart {
            vec![(page.frame)("")]
        } else {
            Vec::new()
        }
    }

    /// Returns the code block `last` if its fence stands at the margin and is not closed.
    fn open_code(&self, text: &str, last: &Placed, page: &Page<'_>) -> Option<OpenCode> {
        let Block::Code { language, .. } = &last.block else {
            return None;
        };
        let source = text.get(self.rest..)?;
        let (first, body) = source.split_once('\n')?;
        let indent = first.len() - first.trim_start_matches(' ').len();
        let fence = first.trim_start_matches(' ').chars().next()?;
        let length = first.trim_start_matches(' ').len()
            - first
                .trim_start_matches(' ')
                .trim_start_matches(fence)
                .len();
        if !matches!(fence, '`' | '~') || length < 3 || indent > 3 {
            return None;
        }
        let open = OpenCode {
            fence,
            length,
            indent,
            highlighter: CodeHighlighter::new(
                language,
                &page.renderer.theme.syntax,
                page.renderer.theme.code_block,
            ),
        };
        // What follows a closed block would have made it a finished one.
        let closed = body
            .split_inclusive('\n')
            .any(|line| line.ends_with('\n') && open.is_closed_by(line));
        (!closed).then_some(open)
    }

    /// Reads whole lines of code; returns whether the block ended.
    fn read_code(&mut self, text: &str, page: &Page<'_>) -> bool {
        let Some(mut code) = self.code.take() else {
            return true;
        };
        while let Some((line, _)) = text.get(self.rest..).and_then(|rest| rest.split_once('\n')) {
            self.rest += line.len() + 1;
            if code.is_closed_by(line) {
                page.add(&page.renderer.fence("", page.width), &mut self.finished);
                return true;
            }
            let shown = code.show(line, page);
            page.add(&shown, &mut self.finished);
        }
        let partial = text.get(self.rest..).unwrap_or_default();
        if !partial.is_empty() && !code.may_be_closed_by(partial) {
            let mut ahead = code.clone();
            page.add(&ahead.show(partial, page), &mut self.tail);
        }
        page.add(&page.renderer.fence("", page.width), &mut self.tail);
        self.code = Some(code);
        false
    }
}

impl OpenCode {
    fn is_closed_by(&self, line: &str) -> bool {
        let trimmed = line.trim_start_matches(' ');
        let rest = trimmed.trim_start_matches(self.fence);
        line.len() - trimmed.len() <= 3
            && trimmed.len() - rest.len() >= self.length
            && rest.trim().is_empty()
    }

    /// Returns whether a line may become the closing fence; showing it would make it flicker.
    fn may_be_closed_by(&self, partial: &str) -> bool {
        let trimmed = partial.trim_start_matches(' ');
        trimmed.trim_start_matches(self.fence).trim().is_empty()
    }

    fn show(&mut self, line: &str, page: &Page<'_>) -> Vec<String> {
        let margin = line.len() - line.trim_start_matches(' ').len();
        let line = line.get(margin.min(self.indent)..).unwrap_or_default();
        let line = line.trim_end_matches('\r');
        let shown = match &mut self.highlighter {
            Some(highlighter) => highlighter.line(line),
            None => page.renderer.theme.code_block.apply(line),
        };
        page.renderer.code_line(&shown, page.width)
    }
}

fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.rfind('\n').map_or(0, |end| end + 1)
}

/// Returns whether the line before the one at `at` is blank.
fn blank_before(text: &str, at: usize) -> bool {
    let before = text.get(..line_start(text, at)).unwrap_or_default();
    let Some(before) = before.strip_suffix('\n') else {
        return false;
    };
    let line = before.rsplit('\n').next().unwrap_or(before);
    line.trim().is_empty()
}
