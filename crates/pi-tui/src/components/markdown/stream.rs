//! A document that grows at its end: finished blocks are rendered once and never looked at again.
//!
//! A block is finished when the next one has begun with a whole line; until then one more character
//! could change what it is. Code at the margin, lists and tables are taken by lines, items and rows.

use std::collections::HashMap;

use super::block::BlockRenderer;
use super::parse::{
    Block, Definition, Parsed, Placed, Reading, is_blank_before, line_start, parse,
};
use crate::line::Line;
use crate::style::Style;

mod code;
mod list;
mod table;

use code::OpenCode;
use list::OpenList;
use table::OpenTable;

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

/// A block whose end has not come yet, of which finished parts are not read again.
#[derive(Debug)]
enum Open {
    Code(OpenCode),
    List(OpenList),
    Table(OpenTable),
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
    open: Option<Open>,
    /// A place where a block was found but could not be read in parts; it is read as a whole, lest it
    /// is found for ever.
    unreadable: Option<usize>,
    /// The addresses of the links that are defined in finished parts, by their names.
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
        self.unreadable = None;
        loop {
            self.open = match self.open.take() {
                Some(Open::Code(code)) => self.read_code(code, text, page).map(Open::Code),
                Some(Open::List(list)) => self.read_list(list, text, page).map(Open::List),
                Some(Open::Table(table)) => self.read_table(table, text, page).map(Open::Table),
                None => {
                    self.open = self.read_blocks(text, page);
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

    fn parse<'a>(&self, text: &'a str, page: &Page<'_>) -> Parsed<'a> {
        let reading = Reading {
            math: page.renderer.options.latex,
            keep_escapes: page.renderer.options.keep_escapes,
            definitions: &self.definitions,
        };
        parse(text, reading)
    }

    /// Keeps the definitions of what is finished: all before `end`. Of those, the first one of a name counts.
    fn learn(&mut self, definitions: Vec<Definition>, end: usize) {
        for definition in definitions {
            if definition.start < end {
                let known = self.definitions.entry(definition.label);
                known.or_insert(definition.address);
            }
        }
    }

    /// Reads blocks; returns the last one if it is to be read in parts.
    fn read_blocks(&mut self, text: &str, page: &Page<'_>) -> Option<Open> {
        let rest = text.get(self.rest..).unwrap_or_default();
        let parsed = self.parse(rest, page);
        let (last, before) = parsed.blocks.split_last()?;
        if !has_begun(&parsed.source, last) {
            self.render_from(self.rest, text, &parsed.blocks, page);
            return None;
        }
        let offset = self.rest;
        for placed in before {
            let lines = self.render(text, offset, placed, page);
            self.finished.extend(lines);
        }
        let start = line_start(&parsed.source, last.range.start);
        self.learn(parsed.definitions, start);
        self.rest = offset + start;
        let opened = if self.unreadable == Some(self.rest) {
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

    /// Starts reading a block in parts, if it is of such a kind; `source` is the rest of the text as it
    /// was parsed.
    fn open(&mut self, text: &str, source: &str, block: &Placed, page: &Page<'_>) -> Option<Open> {
        let written = text.get(self.rest..)?;
        let mut open = match &block.block {
            Block::Code { .. } => Open::Code(OpenCode::find(written, block, page)?),
            Block::List(list) => Open::List(OpenList::new(list)),
            Block::Table(table) => Open::Table(OpenTable::find(written, source, table, page)?),
            _ => return None,
        };
        let separator = self.separate(text, self.rest, Kind::of(&block.block), page);
        self.finished.extend(separator);
        match &mut open {
            Open::Code(code) => self.start_code(code, text, &block.block, page),
            Open::List(_) => {}
            Open::Table(table) => self.start_table(table),
        }
        Some(open)
    }

    /// Shows blocks that may still change; their ranges count from `offset`.
    fn render_from(&mut self, offset: usize, text: &str, blocks: &[Placed], page: &Page<'_>) {
        let kept = self.last;
        for placed in blocks {
            let lines = self.render(text, offset, placed, page);
            self.tail.extend(lines);
        }
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
        let apart =
            last.is_some_and(|last| last.is_apart_from(next, is_blank_before(text, start, 0)));
        if apart {
            vec![(page.frame)("")]
        } else {
            Vec::new()
        }
    }
}

/// Returns whether a block has the whole lines that make it what it is; until then it may become
/// another one. A table is one by its second line, the columns of which must be those of the first; so is
/// whether a line that could be its first one ends the paragraph before.
fn has_begun(text: &str, placed: &Placed) -> bool {
    let lines = match placed.block {
        Block::Table(_) => 2,
        Block::Paragraph(_) if starts_with_pipe(text, placed) => 2,
        _ => 1,
    };
    has_whole_lines(text, placed.range.start, lines)
}

fn starts_with_pipe(text: &str, placed: &Placed) -> bool {
    let source = text.get(placed.range.start..).unwrap_or_default();
    source.trim_start_matches(' ').starts_with('|')
}

/// Returns whether this many lines, from the one at `start` on, are whole.
fn has_whole_lines(text: &str, start: usize, lines: usize) -> bool {
    let rest = text.get(line_start(text, start)..).unwrap_or_default();
    rest.matches('\n').take(lines).count() == lines
}
