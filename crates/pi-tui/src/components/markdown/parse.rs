//! Markdown source as a tree of blocks, from `pulldown-cmark`'s events.
//!
//! Nesting is followed to a fixed depth; what is deeper is shown as if it were at that depth, so that
//! no text can exhaust the stack.

use std::borrow::Cow;
use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;

use pulldown_cmark::{
    BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag,
};

use super::latex::unify_delimiters;

mod inline;

use inline::is_inline;

const MAX_DEPTH: usize = 24;

/// A block of a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    Heading(usize, Vec<Inline>),
    Paragraph(Vec<Inline>),
    Code { language: String, text: String },
    List(List),
    Quote(Vec<Self>),
    Table(Table),
    Rule,
    Html(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct List {
    /// The first number of an ordered list.
    pub(super) start: Option<u64>,
    pub(super) items: Vec<Item>,
}

impl List {
    /// Returns whether its items are set apart from each other: one blank line between two of them, or
    /// between two blocks of one, does so for all.
    pub(super) fn is_loose(&self) -> bool {
        self.items.iter().any(Item::has_gap)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    /// Where in the source its marker stands.
    pub(super) start: usize,
    /// The marker as it was written.
    pub(super) marker: String,
    /// Whether it is a task, and one that is done.
    pub(super) task: Option<bool>,
    /// Whether a blank line stands between the item before and this one.
    pub(super) blank_before: bool,
    /// Whether a blank line stands between two of its blocks.
    pub(super) blank_inside: bool,
    pub(super) blocks: Vec<Block>,
}

impl Item {
    /// Returns whether a blank line stands before it or inside.
    pub(super) fn has_gap(&self) -> bool {
        self.blank_before || self.blank_inside
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) header: Vec<Vec<Inline>>,
    pub(super) rows: Vec<Row>,
    pub(super) source: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Where in the source it stands.
    pub(super) start: usize,
    pub(super) cells: Vec<Vec<Inline>>,
}

/// A piece of running text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Inline {
    Text(String),
    Code(String),
    Strong(Vec<Self>),
    Emphasis(Vec<Self>),
    Strikethrough(Vec<Self>),
    Link {
        address: String,
        text: Vec<Self>,
    },
    /// A formula without its delimiters.
    Math(String),
    /// The end of a line in the source, or a forced one.
    Break,
}

/// What reading depends on besides the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'a> {
    pub(super) math: bool,
    pub(super) keep_escapes: bool,
    /// Link definitions of parts of the document that are not in the text.
    pub(super) definitions: &'a HashMap<String, String>,
}

/// What a text holds.
#[derive(Debug)]
pub(super) struct Parsed<'a> {
    /// The text as it was parsed, byte for byte in place. A formula is one line of it: whoever counts
    /// lines counts these.
    pub(super) source: Cow<'a, str>,
    pub(super) blocks: Vec<Placed>,
    pub(super) definitions: Vec<Definition>,
}

/// What a link by a name leads to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Definition {
    /// Where in the source it stands.
    pub(super) start: usize,
    /// The name, in lower case.
    pub(super) label: String,
    pub(super) address: String,
}

/// A block with its place in the source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) range: Range<usize>,
    pub(super) block: Block,
}

#[cfg(test)]
thread_local! {
    /// How much was parsed, for tests of how much is parsed again.
    pub(super) static BYTES_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Reads a text.
pub(super) fn parse<'a>(text: &'a str, reading: Reading<'_>) -> Parsed<'a> {
    #[cfg(test)]
    BYTES_READ.set(BYTES_READ.get() + text.len());
    let mut options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let unified = if reading.math {
        options |= Options::ENABLE_MATH;
        unify_delimiters(text)
    } else {
        text.into()
    };
    let look_up = |link: BrokenLink<'_>| {
        let address = reading.definitions.get(&link.reference.to_lowercase())?;
        Some((CowStr::from(address.clone()), CowStr::from("")))
    };
    let parser = Parser::new_with_broken_link_callback(&unified, options, Some(look_up));
    let definitions = parser
        .reference_definitions()
        .iter()
        .map(|(label, definition)| Definition {
            start: definition.span.start,
            label: label.to_lowercase(),
            address: definition.dest.to_string(),
        })
        .collect();
    let blocks = Reader {
        written: text,
        source: &unified,
        keep_escapes: reading.keep_escapes,
        events: parser.into_offset_iter().peekable(),
        task: None,
        quotes: 0,
    }
    .top_level();
    Parsed {
        source: unified,
        blocks,
        definitions,
    }
}

struct Reader<'a, I: Iterator<Item = (Event<'a>, Range<usize>)>> {
    /// The text as it was written, which code shows.
    written: &'a str,
    /// The text as it is parsed, byte for byte in the same places.
    source: &'a str,
    keep_escapes: bool,
    events: Peekable<I>,
    /// The box of the item under way, which stands before or, in a loose list, inside its first
    /// paragraph.
    task: Option<bool>,
    /// How many quotes the block under way stands in.
    quotes: usize,
}

impl<'a, I: Iterator<Item = (Event<'a>, Range<usize>)>> Reader<'a, I> {
    fn top_level(&mut self) -> Vec<Placed> {
        let mut placed = Vec::new();
        while let Some((_, range)) = self.events.peek() {
            let range = range.clone();
            let mut blocks = Vec::new();
            self.block(&mut blocks, 0);
            placed.extend(blocks.into_iter().map(|block| Placed {
                range: range.clone(),
                block,
            }));
        }
        placed
    }

    /// Reads blocks up to the end of the container they are in.
    fn blocks(&mut self, depth: usize) -> Vec<Block> {
        self.blocks_and_gap(depth).0
    }

    /// Reads blocks up to the end of the container they are in; tells whether a blank line stands between
    /// two of them.
    fn blocks_and_gap(&mut self, depth: usize) -> (Vec<Block>, bool) {
        let mut blocks = Vec::new();
        let mut has_gap = false;
        let mut ignored = 0;
        while let Some((event, range)) = self.events.peek() {
            match event {
                Event::End(_) if ignored == 0 => {
                    self.events.next();
                    break;
                }
                Event::End(_) => {
                    ignored -= 1;
                    self.events.next();
                }
                Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Item)
                    if depth >= MAX_DEPTH =>
                {
                    ignored += 1;
                    self.events.next();
                }
                _ => {
                    let start = range.start;
                    has_gap |= !blocks.is_empty() && self.is_blank_before(start);
                    self.block(&mut blocks, depth);
                }
            }
        }
        (blocks, has_gap)
    }

    fn block(&mut self, blocks: &mut Vec<Block>, depth: usize) {
        let Some((event, range)) = self.events.peek() else {
            return;
        };
        let range = range.clone();
        let Event::Start(tag) = event else {
            if matches!(event, Event::Rule) {
                self.events.next();
                blocks.push(Block::Rule);
            } else if matches!(event, Event::End(_)) {
                self.events.next();
            } else {
                let text = self.inlines(depth, None);
                blocks.push(Block::Paragraph(text));
            }
            return;
        };
        if is_inline(tag) {
            let text = self.inlines(depth, None);
            blocks.push(Block::Paragraph(text));
            return;
        }
        let Some((Event::Start(tag), _)) = self.events.next() else {
            return;
        };
        match tag {
            Tag::Heading { level, .. } => {
                let text = self.inlines(depth, Some(()));
                blocks.push(Block::Heading(level_number(level), text));
            }
            Tag::Paragraph => {
                let text = self.inlines(depth, Some(()));
                blocks.push(Block::Paragraph(text));
            }
            Tag::CodeBlock(kind) => {
                let (language, margin) = match kind {
                    CodeBlockKind::Fenced(info) => (info.to_string(), self.column(range.start)),
                    CodeBlockKind::Indented => (String::new(), 0),
                };
                let text = self.raw_text(margin);
                blocks.push(Block::Code { language, text });
            }
            Tag::List(start) => blocks.push(Block::List(self.list(start, depth))),
            Tag::BlockQuote(_) => {
                self.quotes += 1;
                let quoted = self.blocks(depth + 1);
                self.quotes -= 1;
                blocks.push(Block::Quote(quoted));
            }
            Tag::Table(_) => {
                let source = self.source.get(range).unwrap_or_default();
                let table = self.table(source.trim_end().to_owned(), depth);
                blocks.push(Block::Table(table));
            }
            Tag::HtmlBlock => blocks.push(Block::Html(self.raw_text(0))),
            _ => blocks.extend(self.blocks(depth + 1)),
        }
    }

    fn list(&mut self, start: Option<u64>, depth: usize) -> List {
        let mut list = List {
            start,
            items: Vec::new(),
        };
        while let Some((event, range)) = self.events.next() {
            match event {
                Event::Start(Tag::Item) => {
                    let start = range.start;
                    let source = self.source.get(range).unwrap_or_default();
                    let marker = source.split_whitespace().next().unwrap_or("-").to_owned();
                    let blank_before = !list.items.is_empty() && self.is_blank_before(start);
                    let outer = self.task.take();
                    self.task = self.task_marker();
                    let (blocks, blank_inside) = self.blocks_and_gap(depth + 1);
                    let task = std::mem::replace(&mut self.task, outer);
                    list.items.push(Item {
                        start,
                        marker,
                        task,
                        blank_before,
                        blank_inside,
                        blocks,
                    });
                }
                _ => break,
            }
        }
        list
    }

    /// Returns how many bytes stand before this place in its line.
    fn column(&self, at: usize) -> usize {
        at - line_start(self.source, at)
    }

    fn is_blank_before(&self, at: usize) -> bool {
        is_blank_before(self.source, at, self.quotes)
    }

    fn task_marker(&mut self) -> Option<bool> {
        let is_task =
            |event: &(Event<'a>, Range<usize>)| matches!(event.0, Event::TaskListMarker(_));
        match self.events.next_if(is_task) {
            Some((Event::TaskListMarker(done), _)) => Some(done),
            _ => None,
        }
    }

    fn table(&mut self, source: String, depth: usize) -> Table {
        let mut table = Table {
            header: Vec::new(),
            rows: Vec::new(),
            source,
        };
        while let Some((event, range)) = self.events.next() {
            match event {
                Event::Start(Tag::TableHead) => table.header = self.cells(depth),
                Event::Start(Tag::TableRow) => {
                    let start = range.start;
                    let cells = self.cells(depth);
                    table.rows.push(Row { start, cells });
                }
                _ => break,
            }
        }
        table
    }

    fn cells(&mut self, depth: usize) -> Vec<Vec<Inline>> {
        let mut cells = Vec::new();
        while let Some((Event::Start(Tag::TableCell), _)) = self.events.next() {
            cells.push(self.inlines(depth, Some(())));
        }
        cells
    }

    /// Reads text that is shown as it was written, but for the margin of its block; a line that has less of a
    /// margin loses what it has.
    fn raw_text(&mut self, margin: usize) -> String {
        let mut text = String::new();
        while let Some((event, range)) = self.events.next() {
            match event {
                Event::Text(part) | Event::Html(part) => {
                    self.push_written(&part, range, margin, &mut text);
                }
                Event::End(_) => break,
                _ => {}
            }
        }
        text
    }

    /// Adds a part of the parsed text as it was written. What was taken for a formula stands on one line
    /// there: its further lines lose the margin that the parser took from the first, or would have taken.
    fn push_written(&self, part: &str, range: Range<usize>, margin: usize, text: &mut String) {
        let margin = self.column(range.start).max(margin);
        let written = match self.written.get(range) {
            Some(written) if written.len() == part.len() => written,
            _ => part,
        };
        for (index, line) in written.split_inclusive('\n').enumerate() {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            let clip = if index == 0 { 0 } else { spaces.min(margin) };
            text.push_str(line.get(clip..).unwrap_or_default());
        }
    }
}

/// Returns where the line at `at` starts.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.rfind('\n').map_or(0, |end| end + 1)
}

/// Returns whether the line before the one at `at` is blank for what stands in this many quotes.
pub(super) fn is_blank_before(text: &str, at: usize, quotes: usize) -> bool {
    let before = text.get(..line_start(text, at)).unwrap_or_default();
    let Some(before) = before.strip_suffix('\n') else {
        return false;
    };
    let mut line = before.rsplit('\n').next().unwrap_or(before).trim_ascii();
    for _ in 0..quotes {
        line = line.strip_prefix('>').unwrap_or(line).trim_ascii_start();
    }
    line.is_empty()
}

fn level_number(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
