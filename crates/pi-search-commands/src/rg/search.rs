//! Searches files, several at a time.

use std::io::{self, BufWriter, Stdout, Write};
use std::path::Path;
use std::time::Instant;

use grep_printer::Stats;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::WalkState;
use parking_lot::Mutex;
use serde_json::json;

use super::files::{self, FoundFile};
use super::options::{Case, Mode, Options, PatternOptions};
use super::printer::{Found, Printer};
use crate::{FOUND, Failure, NOT_FOUND, report};

/// The name of stdin on a command line, and in the output.
const STDIN: &str = "-";
const STDIN_NAME: &str = "<stdin>";

/// Searches everything the command line names.
pub(super) fn run(options: &Options, stdout: Stdout) -> Result<u8, Failure> {
    let started = Instant::now();
    let reads_stdin = match options.paths.as_slice() {
        [] => is_readable_stdin(),
        paths => paths.iter().any(|path| path == Path::new(STDIN)),
    };
    let has_names = options
        .output
        .lines
        .filename
        .unwrap_or(match options.paths.as_slice() {
            [] => !reads_stdin,
            [path] => path.is_dir(),
            _ => true,
        });
    let worker = Worker {
        matcher: matcher(&options.pattern)?,
        searcher: searcher(options),
        printer: Printer::new(options, has_names),
        options,
    };
    let output = Mutex::new(Output::new(options, stdout));
    if reads_stdin {
        worker.clone().search_stdin(&output);
    }
    if !reads_stdin || options.paths.len() > 1 {
        search_files(&worker, &output)?;
    }
    let output = output.into_inner();
    output.finish(started)
}

fn search_files(worker: &Worker<'_>, output: &Mutex<Output<'_>>) -> Result<(), Failure> {
    if worker.options.walk.sort.is_some() {
        let mut worker = worker.clone();
        let (files, failed) = files::list(worker.options)?;
        output.lock().failed |= failed;
        for file in files {
            if worker.search(&file, output) == WalkState::Quit {
                break;
            }
        }
        return Ok(());
    }
    files::walk(worker.options)?.build_parallel().run(|| {
        let mut worker = worker.clone();
        Box::new(move |entry| match entry {
            Ok(entry) => match FoundFile::of(entry) {
                Some(file) => worker.search(&file, output),
                None => WalkState::Continue,
            },
            Err(error) => {
                output.lock().fail(&error.to_string());
                WalkState::Continue
            }
        })
    });
    Ok(())
}

/// What was printed so far.
struct Output<'options> {
    options: &'options Options,
    writer: BufWriter<Stdout>,
    has_match: bool,
    failed: bool,
    has_written: bool,
    stats: Stats,
    broken: Option<io::Error>,
}

impl<'options> Output<'options> {
    fn new(options: &'options Options, stdout: Stdout) -> Self {
        Self {
            options,
            writer: BufWriter::new(stdout),
            has_match: false,
            failed: false,
            has_written: false,
            stats: Stats::new(),
            broken: None,
        }
    }

    fn fail(&mut self, problem: &str) {
        self.failed = true;
        if !self.options.output.without_messages {
            report("rg", problem);
        }
    }

    /// Prints what was found in a file, and returns whether to go on.
    fn add(&mut self, found: &Found) -> WalkState {
        self.has_match |= found.has_match;
        self.stats += &found.stats;
        let written = self.write(&found.text);
        if let Err(error) = written {
            self.broken = Some(error);
            return WalkState::Quit;
        }
        if self.has_match && self.options.output.quiet && !self.options.output.stats {
            return WalkState::Quit;
        }
        WalkState::Continue
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.has_written && self.options.mode == Mode::Lines {
            let output = &self.options.output;
            if output.lines.heading {
                self.writer.write_all(b"\n")?;
            } else if output.before > 0 || output.after > 0 {
                let separator = output.lines.context_separator.as_deref().unwrap_or("--");
                writeln!(self.writer, "{separator}")?;
            }
        }
        self.has_written = true;
        self.writer.write_all(text)
    }

    fn finish(mut self, started: Instant) -> Result<u8, Failure> {
        if let Some(error) = self.broken {
            return Err(error.into());
        }
        if self.options.mode == Mode::Json {
            let elapsed = started.elapsed();
            let total = json!({"secs": elapsed.as_secs(), "nanos": elapsed.subsec_nanos(),
                "human": format!("{:.6}s", elapsed.as_secs_f64())});
            let summary = json!({"type": "summary",
                "data": {"elapsed_total": total, "stats": self.stats}});
            writeln!(self.writer, "{summary}")?;
        } else if self.options.output.stats {
            write_stats(&mut self.writer, &self.stats, started)?;
        }
        self.writer.flush()?;
        Ok(match (self.has_match, self.failed) {
            (true, _) if self.options.output.quiet => FOUND,
            (_, true) => 2,
            (true, false) => FOUND,
            (false, false) => NOT_FOUND,
        })
    }
}

fn write_stats(writer: &mut impl Write, stats: &Stats, started: Instant) -> io::Result<()> {
    writeln!(
        writer,
        "\n{} matches\n{} matched lines\n{} files contained matches\n{} files searched\n{} bytes printed\n{} bytes \
         searched\n{:.6} seconds spent searching\n{:.6} seconds total",
        stats.matches(),
        stats.matched_lines(),
        stats.searches_with_match(),
        stats.searches(),
        stats.bytes_printed(),
        stats.bytes_searched(),
        stats.elapsed().as_secs_f64(),
        started.elapsed().as_secs_f64(),
    )
}

/// Searches one file after the other.
#[derive(Clone)]
struct Worker<'options> {
    matcher: RegexMatcher,
    searcher: Searcher,
    printer: Printer,
    options: &'options Options,
}

impl Worker<'_> {
    fn search(&mut self, file: &FoundFile, output: &Mutex<Output<'_>>) -> WalkState {
        let detection = match (&self.options.output, file.is_named) {
            (output, _) if output.text => BinaryDetection::none(),
            (output, is_named) if output.binary || is_named => BinaryDetection::convert(0),
            _ => BinaryDetection::quit(0),
        };
        self.searcher.set_binary_detection(detection);
        let path = files::shown(&file.path, self.options);
        let found = self.printer.print(
            path,
            &self.matcher,
            &mut self.searcher,
            &mut |matcher, searcher, sink| searcher.search_path(matcher, &file.path, sink),
        );
        add(found, path, output)
    }

    fn search_stdin(mut self, output: &Mutex<Output<'_>>) -> WalkState {
        let path = Path::new(STDIN_NAME);
        let found = self.printer.print(
            path,
            &self.matcher,
            &mut self.searcher,
            &mut |matcher, searcher, sink| {
                searcher.search_reader(matcher, io::stdin().lock(), sink)
            },
        );
        add(found, path, output)
    }
}

/// Prints what was found in a file, or why it could not be searched.
fn add(found: io::Result<Found>, path: &Path, output: &Mutex<Output<'_>>) -> WalkState {
    let mut output = output.lock();
    match found {
        Ok(found) => output.add(&found),
        Err(error) => {
            output.fail(&format!("{}: {error}", path.display()));
            WalkState::Continue
        }
    }
}

fn matcher(options: &PatternOptions) -> Result<RegexMatcher, String> {
    let mut patterns = options.patterns.clone();
    for file in &options.pattern_files {
        let text = if file == Path::new(STDIN) {
            io::read_to_string(io::stdin())
        } else {
            std::fs::read_to_string(file)
        };
        let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
        patterns.extend(text.lines().map(str::to_owned));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(options.case == Case::Insensitive)
        .case_smart(options.case == Case::Smart)
        .fixed_strings(options.fixed)
        .word(options.word)
        .whole_line(options.line)
        .multi_line(true)
        .unicode(!options.without_unicode);
    if options.multiline {
        builder.dot_matches_new_line(options.dot_matches_newline);
    } else {
        builder.line_terminator(Some(b'\n'));
        if options.crlf {
            builder.crlf(true);
        }
    }
    let matcher = builder.build_many(&patterns);
    matcher.map_err(|error| hint(&error.to_string()))
}

/// Adds what to do about constructs that the engine lacks.
fn hint(problem: &str) -> String {
    if problem.contains("look-around") || problem.contains("backreferences") {
        return format!("{problem}\nuse a pattern without lookaround and backreferences");
    }
    if problem.contains("literal \"\\n\" is not allowed") || problem.contains("\\n") {
        return format!("{problem}\nuse --multiline (-U) to match across lines");
    }
    problem.to_owned()
}

fn searcher(options: &Options) -> Searcher {
    let output = &options.output;
    let prints_lines = options.mode == Mode::Lines || options.mode == Mode::Json;
    let mut builder = SearcherBuilder::new();
    builder
        .line_number(options.mode == Mode::Json || output.lines.line_number.unwrap_or(false))
        .invert_match(options.pattern.invert)
        .multi_line(options.pattern.multiline)
        .max_matches(output.max_count);
    if prints_lines {
        builder
            .before_context(output.before)
            .after_context(output.after)
            .passthru(output.passthru);
    }
    builder.build()
}

/// Returns whether the text to search is piped in, as in `… | rg x`.
#[cfg(unix)]
fn is_readable_stdin() -> bool {
    use rustix::fs::FileType;

    rustix::fs::fstat(io::stdin()).is_ok_and(|status| {
        matches!(
            FileType::from_raw_mode(status.st_mode),
            FileType::RegularFile | FileType::Fifo | FileType::Socket
        )
    })
}

#[cfg(not(unix))]
fn is_readable_stdin() -> bool {
    false
}
