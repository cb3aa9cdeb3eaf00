//! Parses Markdown source into a tree of blocks, from `pulldown-cmark` events.
//!
//! Nesting is limited to a fixed depth; deeper content is shown at that depth, so that no text can
//! overflow the stack.

use std::borrow::Cow;
use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;

use pulldown_cmark::{
    Alignment, BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag,
};

use super::latex::unify_delimiters;

mod east_asian;
mod inline;

pub(super) use east_asian::is_east_asian;

use east_asian::MaskedText;
use inline::is_inline;

const MAX_DEPTH: usize = 24;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum MarkdownBlock {
    Heading(usize, Vec<Inline>),
    Paragraph(Vec<Inline>),
    Code { language: String, text: String },
    List(MarkdownList),
    Quote(Vec<Self>),
    Table(MarkdownTable),
    Rule,
    Html(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct MarkdownList {
    /// The first number of an ordered list.
    pub(super) start: Option<u64>,
    pub(super) items: Vec<ListItem>,
}

impl MarkdownList {
    /// Whether the list is loose: one blank line between two items, or between two blocks of an
    /// item, makes it so.
    pub(super) fn is_loose(&self) -> bool {
        self.items.iter().any(ListItem::has_gap)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListItem {
    /// Offset of its marker in the source.
    pub(super) start: usize,
    /// The marker as written.
    pub(super) marker: String,
    /// Whether the task is done, if the item is a task.
    pub(super) task: Option<bool>,
    /// Whether there is a blank line between the previous item and this one.
    pub(super) blank_before: bool,
    /// Whether there is a blank line between two of its blocks.
    pub(super) blank_inside: bool,
    pub(super) blocks: Vec<MarkdownBlock>,
}

impl ListItem {
    /// Whether there is a blank line before or inside it.
    pub(super) fn has_gap(&self) -> bool {
        self.blank_before || self.blank_inside
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct MarkdownTable {
    pub(super) header: Vec<Vec<Inline>>,
    /// One per column.
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<TableRow>,
    pub(super) source: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableRow {
    /// Offset in the source.
    pub(super) start: usize,
    pub(super) cells: Vec<Vec<Inline>>,
}

/// A span of inline content.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Inline {
    Text(String),
    Code(String),
    Strong(Vec<Self>),
    Emphasis(Vec<Self>),
    Strikethrough(Vec<Self>),
    Link {
        url: String,
        text: Vec<Self>,
    },
    /// A formula without its delimiters.
    Math(String),
    /// A soft or hard line break.
    Break,
}

/// Parser options.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParseOptions<'a> {
    pub(super) math: bool,
    pub(super) keep_escapes: bool,
    /// Link definitions from parts of the document that are not in the text.
    pub(super) definitions: &'a HashMap<String, String>,
}

/// The result of parsing a text.
#[derive(Debug)]
pub(super) struct ParsedMarkdown<'a> {
    /// The text as parsed, with the same byte offsets. A formula is a single line in it, so line
    /// numbers must be computed from this text.
    pub(super) source: Cow<'a, str>,
    pub(super) blocks: Vec<SpannedBlock>,
    pub(super) definitions: Vec<LinkDefinition>,
}

/// A link reference definition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LinkDefinition {
    /// Offset in the source.
    pub(super) start: usize,
    /// The label, in lowercase.
    pub(super) label: String,
    pub(super) url: String,
}

/// A block with its range in the source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpannedBlock {
    pub(super) range: Range<usize>,
    pub(super) block: MarkdownBlock,
}

#[cfg(test)]
thread_local! {
    /// Number of bytes parsed, to test how much is parsed again.
    pub(super) static BYTES_PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

pub(super) fn parse<'a>(text: &'a str, options: ParseOptions<'_>) -> ParsedMarkdown<'a> {
    #[cfg(test)]
    BYTES_PARSED.set(BYTES_PARSED.get() + text.len());
    let mut extensions =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let unified = if options.math {
        extensions |= Options::ENABLE_MATH;
        unify_delimiters(text)
    } else {
        text.into()
    };
    let look_up = |link: BrokenLink<'_>| {
        let url = options.definitions.get(&link.reference.to_lowercase())?;
        Some((CowStr::from(url.clone()), CowStr::from("")))
    };
    let masked = MaskedText::of(&unified);
    let parsed = masked.as_ref().map_or(&*unified, |masked| &masked.text);
    let parser = Parser::new_with_broken_link_callback(parsed, extensions, Some(look_up));
    let definitions = parser
        .reference_definitions()
        .iter()
        .map(|(label, definition)| LinkDefinition {
            start: definition.span.start,
            label: label.to_lowercase(),
            url: definition.dest.to_string(),
        })
        .collect();
    let blocks = MarkdownParser {
        original: text,
        source: &unified,
        masked: masked.as_ref(),
        keep_escapes: options.keep_escapes,
        events: parser.into_offset_iter().peekable(),
        task: None,
        quotes: 0,
    }
    .top_level();
    ParsedMarkdown {
        source: unified,
        blocks,
        definitions,
    }
}

struct MarkdownParser<'a, I: Iterator<Item = (Event<'a>, Range<usize>)>> {
    /// The text as written, which code blocks show.
    original: &'a str,
    /// The text as parsed, with the same byte offsets.
    source: &'a str,
    /// What the events were read from, if that is another text.
    masked: Option<&'a MaskedText>,
    keep_escapes: bool,
    events: Peekable<I>,
    /// The checkbox of the current item, which is before or, in a loose list, inside its first
    /// paragraph.
    task: Option<bool>,
    /// How many block quotes enclose the current block.
    quotes: usize,
}

impl<'a, I: Iterator<Item = (Event<'a>, Range<usize>)>> MarkdownParser<'a, I> {
    fn top_level(&mut self) -> Vec<SpannedBlock> {
        let mut spanned = Vec::new();
        while let Some((_, range)) = self.events.peek() {
            let range = range.clone();
            let mut blocks = Vec::new();
            self.block(&mut blocks, 0);
            spanned.extend(blocks.into_iter().map(|block| SpannedBlock {
                range: range.clone(),
                block,
            }));
        }
        spanned
    }

    /// Parses blocks up to the end of their container.
    fn blocks(&mut self, depth: usize) -> Vec<MarkdownBlock> {
        self.blocks_and_gap(depth).0
    }

    /// Parses blocks up to the end of their container. Also returns whether there is a blank line
    /// between two of them.
    fn blocks_and_gap(&mut self, depth: usize) -> (Vec<MarkdownBlock>, bool) {
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

    fn block(&mut self, blocks: &mut Vec<MarkdownBlock>, depth: usize) {
        let Some((event, range)) = self.events.peek() else {
            return;
        };
        let range = range.clone();
        let Event::Start(tag) = event else {
            if matches!(event, Event::Rule) {
                self.events.next();
                blocks.push(MarkdownBlock::Rule);
            } else if matches!(event, Event::End(_)) {
                self.events.next();
            } else {
                let text = self.inlines(depth, None);
                blocks.push(MarkdownBlock::Paragraph(text));
            }
            return;
        };
        if is_inline(tag) {
            let text = self.inlines(depth, None);
            blocks.push(MarkdownBlock::Paragraph(text));
            return;
        }
        let Some((Event::Start(tag), _)) = self.events.next() else {
            return;
        };
        match tag {
            Tag::Heading { level, .. } => {
                let text = self.inlines(depth, Some(()));
                blocks.push(MarkdownBlock::Heading(level_number(level), text));
            }
            Tag::Paragraph => {
                let text = self.inlines(depth, Some(()));
                blocks.push(MarkdownBlock::Paragraph(text));
            }
            Tag::CodeBlock(kind) => {
                let (language, margin) = match kind {
                    CodeBlockKind::Fenced(info) => (info.to_string(), self.column(range.start)),
                    CodeBlockKind::Indented => (String::new(), 0),
                };
                let text = self.raw_text(margin);
                blocks.push(MarkdownBlock::Code { language, text });
            }
            Tag::List(start) => blocks.push(MarkdownBlock::List(self.list(start, depth))),
            Tag::BlockQuote(_) => {
                self.quotes += 1;
                let quoted = self.blocks(depth + 1);
                self.quotes -= 1;
                blocks.push(MarkdownBlock::Quote(quoted));
            }
            Tag::Table(alignments) => {
                let source = self.source.get(range).unwrap_or_default();
                let table = self.table(source.trim_end().to_owned(), alignments, depth);
                blocks.push(MarkdownBlock::Table(table));
            }
            Tag::HtmlBlock => blocks.push(MarkdownBlock::Html(self.raw_text(0))),
            _ => blocks.extend(self.blocks(depth + 1)),
        }
    }

    fn list(&mut self, start: Option<u64>, depth: usize) -> MarkdownList {
        let mut list = MarkdownList {
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
                    list.items.push(ListItem {
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

    /// Returns how many bytes precede this offset in its line.
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

    fn table(&mut self, source: String, alignments: Vec<Alignment>, depth: usize) -> MarkdownTable {
        let mut table = MarkdownTable {
            header: Vec::new(),
            alignments,
            rows: Vec::new(),
            source,
        };
        while let Some((event, range)) = self.events.next() {
            match event {
                Event::Start(Tag::TableHead) => table.header = self.cells(depth),
                Event::Start(Tag::TableRow) => {
                    let start = range.start;
                    let cells = self.cells(depth);
                    table.rows.push(TableRow { start, cells });
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

    /// Parses text that is shown as written, except for the margin of its block. A line with a
    /// smaller margin loses what it has.
    fn raw_text(&mut self, margin: usize) -> String {
        let mut text = String::new();
        while let Some((event, range)) = self.events.next() {
            match event {
                Event::Text(part) | Event::Html(part) => {
                    self.push_original(&part, range, margin, &mut text);
                }
                Event::End(_) => break,
                _ => {}
            }
        }
        text
    }

    /// Appends a part of the parsed text as it was written. A formula is a single line in the
    /// parsed text: its further lines lose the margin that the parser removed from the first, or
    /// would have removed.
    fn push_original(&self, part: &str, range: Range<usize>, margin: usize, text: &mut String) {
        let margin = self.column(range.start).max(margin);
        let restored = self.restored(part, &range);
        let original = match self.original.get(range) {
            Some(original) if original.len() == part.len() => original,
            _ => &*restored,
        };
        for (index, line) in original.split_inclusive('\n').enumerate() {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            let clip = if index == 0 { 0 } else { spaces.min(margin) };
            text.push_str(line.get(clip..).unwrap_or_default());
        }
    }
}

/// Returns the start of the line at `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.rfind('\n').map_or(0, |end| end + 1)
}

/// Whether the line before the one at `at` is blank, given the number of enclosing block quotes.
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
