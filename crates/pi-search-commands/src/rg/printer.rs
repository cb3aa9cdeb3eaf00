//! Writes what was found in one file.

use std::io;
use std::path::Path;

use grep_printer::{ColorSpecs, JSONBuilder, StandardBuilder, Stats, SummaryBuilder, SummaryKind};
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use termcolor::Buffer;

use super::options::{Mode, Options};

/// What was found in one file.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) has_match: bool,
    pub(super) text: Vec<u8>,
    pub(super) stats: Stats,
}

/// Prints files in the way the options ask for.
#[derive(Debug, Clone)]
pub(super) struct Printer {
    kind: Kind,
    has_color: bool,
}

#[derive(Debug, Clone)]
enum Kind {
    Lines(StandardBuilder),
    Summary(SummaryBuilder),
    Json(JSONBuilder),
}

/// Runs a search with a sink.
pub(super) type Search<'search> =
    &'search mut dyn FnMut(&RegexMatcher, &mut Searcher, AnySink<'_>) -> io::Result<()>;

impl Printer {
    /// Returns a printer that writes file names if `has_names` is set.
    pub(super) fn new(options: &Options, has_names: bool) -> Self {
        let has_color = options.output.lines.color;
        let colors = if has_color {
            ColorSpecs::default_with_color()
        } else {
            ColorSpecs::new(&[])
        };
        let kind = match options.mode {
            Mode::Json => Kind::Json(JSONBuilder::new()),
            _ if options.output.quiet => {
                summary(options, SummaryKind::QuietWithMatch, has_names, colors)
            }
            Mode::Count => summary(options, SummaryKind::Count, has_names, colors),
            Mode::CountMatches => summary(options, SummaryKind::CountMatches, has_names, colors),
            Mode::FilesWithMatches => summary(options, SummaryKind::PathWithMatch, true, colors),
            Mode::FilesWithoutMatch => {
                summary(options, SummaryKind::PathWithoutMatch, true, colors)
            }
            _ => Kind::Lines(lines(options, has_names, colors)),
        };
        Self { kind, has_color }
    }

    /// Searches one file and returns what was found.
    pub(super) fn print(
        &self,
        path: &Path,
        matcher: &RegexMatcher,
        searcher: &mut Searcher,
        search: Search<'_>,
    ) -> io::Result<Found> {
        let buffer = if self.has_color {
            Buffer::ansi()
        } else {
            Buffer::no_color()
        };
        match &self.kind {
            Kind::Lines(builder) => {
                let mut printer = builder.build(buffer);
                let mut sink = printer.sink_with_path(matcher, path);
                search(matcher, searcher, AnySink(&mut sink))?;
                let (has_match, stats) = (sink.has_match(), sink.stats().cloned());
                Ok(found(has_match, stats, printer.into_inner()))
            }
            Kind::Summary(builder) => {
                let mut printer = builder.build(buffer);
                let mut sink = printer.sink_with_path(matcher, path);
                search(matcher, searcher, AnySink(&mut sink))?;
                let (has_match, stats) = (sink.has_match(), sink.stats().cloned());
                Ok(found(has_match, stats, printer.into_inner()))
            }
            Kind::Json(builder) => {
                let mut printer = builder.build(buffer);
                let mut sink = printer.sink_with_path(matcher, path);
                search(matcher, searcher, AnySink(&mut sink))?;
                let (has_match, stats) = (sink.has_match(), sink.stats().clone());
                Ok(found(has_match, Some(stats), printer.into_inner()))
            }
        }
    }
}

fn found(has_match: bool, stats: Option<Stats>, buffer: Buffer) -> Found {
    Found {
        has_match,
        text: buffer.into_inner(),
        stats: stats.unwrap_or_default(),
    }
}

fn lines(options: &Options, has_names: bool, colors: ColorSpecs) -> StandardBuilder {
    let lines = &options.output.lines;
    let mut builder = StandardBuilder::new();
    builder
        .color_specs(colors)
        .stats(options.output.stats)
        .path(has_names)
        .heading(lines.heading)
        .only_matching(lines.only_matching)
        .per_match(lines.vimgrep)
        .per_match_one_line(true)
        .replacement(lines.replacement.clone().map(String::into_bytes))
        .max_columns(lines.max_columns)
        .max_columns_preview(lines.max_columns_preview)
        .column(lines.column)
        .byte_offset(lines.byte_offset)
        .trim_ascii(lines.trim)
        .path_terminator(lines.null.then_some(0));
    if let Some(separator) = &lines.context_separator {
        builder.separator_context(Some(separator.clone().into_bytes()));
    }
    builder
}

fn summary(options: &Options, kind: SummaryKind, has_names: bool, colors: ColorSpecs) -> Kind {
    let mut builder = SummaryBuilder::new();
    builder
        .kind(kind)
        .color_specs(colors)
        .stats(options.output.stats)
        .path(has_names)
        .exclude_zero(!options.output.include_zero)
        .path_terminator(options.output.lines.null.then_some(0));
    Kind::Summary(builder)
}

/// Any sink: the search is compiled once instead of once per kind of output.
pub(super) struct AnySink<'sink>(&'sink mut dyn Sink<Error = io::Error>);

impl Sink for AnySink<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.0.matched(searcher, found)
    }

    fn context(&mut self, searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.0.context(searcher, context)
    }

    fn context_break(&mut self, searcher: &Searcher) -> io::Result<bool> {
        self.0.context_break(searcher)
    }

    fn binary_data(&mut self, searcher: &Searcher, offset: u64) -> io::Result<bool> {
        self.0.binary_data(searcher, offset)
    }

    fn begin(&mut self, searcher: &Searcher) -> io::Result<bool> {
        self.0.begin(searcher)
    }

    fn finish(&mut self, searcher: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.0.finish(searcher, finish)
    }
}
