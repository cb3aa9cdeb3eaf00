//! A document that grows at its end: finished blocks are rendered once and never visited again.
//!
//! A block is finished when the next one has started with a complete line; until then, one more
//! character could change its kind. Unindented code, lists and tables are processed by line, item
//! and row.

use std::collections::HashMap;

use pi_tui::{Line, Style};

use super::block::BlockRenderer;
use super::parse::{
    LinkDefinition, MarkdownBlock, ParseOptions, ParsedMarkdown, SpannedBlock, is_blank_before,
    line_start, parse,
};

mod code;
mod list;
mod table;

use code::OpenCode;
use list::OpenList;
use table::OpenTable;

/// The kinds of blocks that determine separation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    Paragraph,
    List,
    Html,
    Other,
}

impl BlockKind {
    fn of(block: &MarkdownBlock) -> Self {
        match block {
            MarkdownBlock::Paragraph(_) => Self::Paragraph,
            MarkdownBlock::List(_) => Self::List,
            MarkdownBlock::Html(_) => Self::Html,
            _ => Self::Other,
        }
    }

    /// Whether there is an empty line between two blocks.
    fn is_separated_from(self, next: Self, blank_in_source: bool) -> bool {
        blank_in_source
            || !matches!(
                (self, next),
                (Self::List | Self::Html, _) | (Self::Paragraph, Self::List)
            )
    }
}

/// A block that is still growing, whose finished parts are not parsed again.
#[derive(Debug)]
enum OpenBlock {
    Code(OpenCode),
    List(OpenList),
    Table(OpenTable),
}

/// How lines are laid out and padded.
pub(super) struct PageLayout<'a> {
    pub(super) renderer: BlockRenderer<'a>,
    pub(super) width: usize,
    pub(super) style: Style,
    /// Pads a line and applies the background.
    pub(super) frame: &'a dyn Fn(&str) -> Line,
}

impl PageLayout<'_> {
    fn add(&self, lines: &[String], out: &mut Vec<Line>) {
        out.extend(lines.iter().map(|line| (self.frame)(line)));
    }
}

/// The rendered part of a document, and where the rest starts.
#[derive(Debug, Default)]
pub(super) struct MarkdownStream {
    finished: Vec<Line>,
    tail: Vec<Line>,
    /// Offset in the text where the unfinished part starts.
    rest: usize,
    last: Option<BlockKind>,
    open: Option<OpenBlock>,
    /// Offset of a block that could not be parsed incrementally; it is parsed as a whole, to avoid
    /// retrying forever.
    non_incremental: Option<usize>,
    /// URLs of the link definitions in finished parts, by label.
    definitions: HashMap<String, String>,
}

impl MarkdownStream {
    /// Returns the lines so far: of finished blocks, and of the rest.
    pub(super) fn lines(&self) -> [&[Line]; 2] {
        [&self.finished, &self.tail]
    }

    /// Updates for the text, which may only have grown since the last call.
    pub(super) fn advance(&mut self, text: &str, page: &PageLayout<'_>) {
        self.tail.clear();
        self.non_incremental = None;
        loop {
            self.open = match self.open.take() {
                Some(OpenBlock::Code(code)) => {
                    self.continue_code(code, text, page).map(OpenBlock::Code)
                }
                Some(OpenBlock::List(list)) => {
                    self.continue_list(list, text, page).map(OpenBlock::List)
                }
                Some(OpenBlock::Table(table)) => {
                    self.continue_table(table, text, page).map(OpenBlock::Table)
                }
                None => {
                    self.open = self.parse_blocks(text, page);
                    if self.open.is_none() {
                        return;
                    }
                    continue;
                }
            };
            if self.open.is_some() {
                return;
            }
        }
    }

    fn parse<'a>(&self, text: &'a str, page: &PageLayout<'_>) -> ParsedMarkdown<'a> {
        let options = ParseOptions {
            math: page.renderer.options.latex,
            keep_escapes: page.renderer.options.keep_escapes,
            definitions: &self.definitions,
        };
        parse(text, options)
    }

    /// Stores the definitions of the finished part: all before `end`. The first definition of a
    /// label applies.
    fn store_definitions(&mut self, definitions: Vec<LinkDefinition>, end: usize) {
        for definition in definitions {
            if definition.start < end {
                let known = self.definitions.entry(definition.label);
                known.or_insert(definition.url);
            }
        }
    }

    /// Parses blocks. Returns the last one if it is to be parsed incrementally.
    fn parse_blocks(&mut self, text: &str, page: &PageLayout<'_>) -> Option<OpenBlock> {
        let rest = text.get(self.rest..).unwrap_or_default();
        let parsed = self.parse(rest, page);
        let (last, before) = parsed.blocks.split_last()?;
        if !is_determined(&parsed.source, last) {
            self.render_from(self.rest, text, &parsed.blocks, page);
            return None;
        }
        let offset = self.rest;
        for spanned in before {
            let lines = self.render(text, offset, spanned, page);
            self.finished.extend(lines);
        }
        let start = line_start(&parsed.source, last.range.start);
        self.store_definitions(parsed.definitions, start);
        self.rest = offset + start;
        let opened = if self.non_incremental == Some(self.rest) {
            None
        } else {
            let source = parsed.source.get(start..).unwrap_or_default();
            self.open(text, source, last, page)
        };
        if opened.is_none() {
            self.render_from(offset, text, std::slice::from_ref(last), page);
        }
        opened
    }

    /// Starts parsing a block incrementally, if its kind supports that; `source` is the rest of the
    /// text as parsed.
    fn open(
        &mut self,
        text: &str,
        source: &str,
        block: &SpannedBlock,
        page: &PageLayout<'_>,
    ) -> Option<OpenBlock> {
        let written = text.get(self.rest..)?;
        let mut open = match &block.block {
            MarkdownBlock::Code { .. } => OpenBlock::Code(OpenCode::find(written, block, page)?),
            MarkdownBlock::List(list) => OpenBlock::List(OpenList::new(list)),
            MarkdownBlock::Table(table) => {
                OpenBlock::Table(OpenTable::find(written, source, table, page)?)
            }
            _ => return None,
        };
        let separator = self.separate(text, self.rest, BlockKind::of(&block.block), page);
        self.finished.extend(separator);
        match &mut open {
            OpenBlock::Code(code) => self.start_code(code, text, &block.block, page),
            OpenBlock::List(_) => {}
            OpenBlock::Table(table) => self.start_table(table),
        }
        Some(open)
    }

    /// Renders blocks that may still change; their ranges are relative to `offset`.
    fn render_from(
        &mut self,
        offset: usize,
        text: &str,
        blocks: &[SpannedBlock],
        page: &PageLayout<'_>,
    ) {
        let kept = self.last;
        for spanned in blocks {
            let lines = self.render(text, offset, spanned, page);
            self.tail.extend(lines);
        }
        self.last = kept;
    }

    /// Returns the lines of a block, including the empty line before it. Its range is relative to
    /// `offset`.
    fn render(
        &mut self,
        text: &str,
        offset: usize,
        spanned: &SpannedBlock,
        page: &PageLayout<'_>,
    ) -> Vec<Line> {
        let kind = BlockKind::of(&spanned.block);
        let mut lines = self.separate(text, offset + spanned.range.start, kind, page);
        let block = page.renderer.block(&spanned.block, page.width, page.style);
        page.add(&block, &mut lines);
        lines
    }

    fn separate(
        &mut self,
        text: &str,
        start: usize,
        next: BlockKind,
        page: &PageLayout<'_>,
    ) -> Vec<Line> {
        let last = self.last.replace(next);
        let is_separated =
            last.is_some_and(|last| last.is_separated_from(next, is_blank_before(text, start, 0)));
        if is_separated {
            vec![(page.frame)("")]
        } else {
            Vec::new()
        }
    }
}

/// Whether a block has the complete lines that determine its kind; until then it may become a
/// different one. A table is determined by its second line, whose columns must match the first;
/// that line also determines whether a potential first line ends the preceding paragraph.
fn is_determined(text: &str, spanned: &SpannedBlock) -> bool {
    let lines = match spanned.block {
        MarkdownBlock::Table(_) => 2,
        MarkdownBlock::Paragraph(_) if starts_with_pipe(text, spanned) => 2,
        _ => 1,
    };
    has_complete_lines(text, spanned.range.start, lines)
}

fn starts_with_pipe(text: &str, spanned: &SpannedBlock) -> bool {
    let source = text.get(spanned.range.start..).unwrap_or_default();
    source.trim_start_matches(' ').starts_with('|')
}

/// Whether this many lines, starting at `start`, are complete.
fn has_complete_lines(text: &str, start: usize, lines: usize) -> bool {
    let rest = text.get(line_start(text, start)..).unwrap_or_default();
    rest.matches('\n').take(lines).count() == lines
}
