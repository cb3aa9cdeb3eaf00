//! Keeps the output of a command in bounded memory.
//!
//! The end of it, which a model or a person reads, stays at hand; once the output is over the limits
//! all of it goes to a file as well. What is said about either is left to others.

use std::io;
use std::path::{Path, PathBuf};

use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use crate::plain_text::TextFilter;
use crate::truncate::{TextSize, Truncation, TruncationLimits, truncate_tail_suffix};
use crate::utf8_stream::Utf8Stream;

/// What is kept of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputForm {
    /// Every character; the file holds the bytes as they came.
    Raw,
    /// Text alone, in the file too.
    Plain,
}

/// Where the whole output goes when it is too long to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpillPlace {
    pub(crate) directory: PathBuf,
    /// What the file's name begins with.
    pub(crate) prefix: &'static str,
}

/// The output so far.
#[derive(Debug)]
pub(crate) struct OutputSpool {
    limits: TruncationLimits,
    place: SpillPlace,
    decoder: Utf8Stream,
    filter: Option<TextFilter>,
    /// The text's end: more than the limits allow, or all of it.
    tail: String,
    lines: LineCount,
    text_bytes: usize,
    raw_bytes: usize,
    spill: Spill,
}

#[derive(Debug)]
enum Spill {
    /// Not needed yet: what the file would hold.
    Memory(Vec<u8>),
    File {
        path: PathBuf,
        file: File,
    },
    Failed(io::Error),
}

/// The lines of a text that arrives in pieces.
#[derive(Debug, Default)]
struct LineCount {
    newlines: usize,
    /// Bytes of the last line that was begun, its newline not counted.
    last_line_bytes: usize,
    line_is_open: bool,
}

impl LineCount {
    fn push(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        self.newlines += memchr::memchr_iter(b'\n', piece).count();
        let closed = piece.strip_suffix(b"\n");
        let body = closed.unwrap_or(piece);
        match memchr::memrchr(b'\n', body) {
            Some(newline) => self.last_line_bytes = body.len() - newline - 1,
            None if self.line_is_open => self.last_line_bytes += body.len(),
            None => self.last_line_bytes = body.len(),
        }
        self.line_is_open = closed.is_none();
    }
}

/// What can be shown of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) truncation: Truncation,
    pub(crate) full_output_path: Option<PathBuf>,
}

impl OutputSpool {
    pub(crate) fn new(form: OutputForm, place: SpillPlace) -> Self {
        Self {
            limits: TruncationLimits::default(),
            place,
            decoder: Utf8Stream::default(),
            filter: match form {
                OutputForm::Raw => None,
                OutputForm::Plain => Some(TextFilter::default()),
            },
            tail: String::new(),
            lines: LineCount::default(),
            text_bytes: 0,
            raw_bytes: 0,
            spill: Spill::Memory(Vec::new()),
        }
    }

    /// Takes a piece of output and returns the text it adds.
    pub(crate) async fn push(&mut self, piece: &[u8]) -> &str {
        let start = self.tail.len();
        self.raw_bytes += piece.len();
        self.decoder.push(piece, &mut self.tail);
        self.take_text(start, piece).await
    }

    /// Takes the end of the output, returns the text it adds and completes the file.
    pub(crate) async fn finish(&mut self) -> &str {
        let start = self.tail.len();
        self.decoder.finish(&mut self.tail);
        let added = self.take_text(start, &[]).await.len();
        if let Spill::File { file, .. } = &mut self.spill
            && let Err(error) = file.flush().await
        {
            self.fail(error);
        }
        let start = self.tail.len() - added;
        self.tail.get(start..).unwrap_or_default()
    }

    /// Returns what can be shown now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            truncation: truncate_tail_suffix(&self.tail, self.size(), self.limits),
            full_output_path: match &self.spill {
                Spill::File { path, .. } => Some(path.clone()),
                Spill::Memory(_) | Spill::Failed(_) => None,
            },
        }
    }

    /// Returns the size of the last line, its newline not counted.
    pub(crate) fn last_line_bytes(&self) -> usize {
        self.lines.last_line_bytes
    }

    /// Returns why the whole output could not be saved.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        match &self.spill {
            Spill::Failed(error) => Some(error),
            Spill::Memory(_) | Spill::File { .. } => None,
        }
    }

    /// Counts and saves the text that was appended at `start`.
    async fn take_text(&mut self, start: usize, piece: &[u8]) -> &str {
        if let Some(filter) = &mut self.filter {
            let decoded = self.tail.split_off(start);
            filter.push(&decoded, &mut self.tail);
        }
        let new = self.tail.get(start..).unwrap_or_default();
        self.text_bytes += new.len();
        self.lines.push(new.as_bytes());
        let saved = match self.filter {
            Some(_) => new.as_bytes(),
            None => piece,
        };
        let over_limits = self.raw_bytes > self.limits.bytes
            || self.text_bytes > self.limits.bytes
            || self.size().lines > self.limits.lines;
        if let Err(error) = save(&mut self.spill, saved, over_limits.then_some(&self.place)).await {
            self.fail(error);
        }
        let start = start - self.trim(start);
        self.tail.get(start..).unwrap_or_default()
    }

    /// Drops the front of what is kept, at most up to `limit`, and returns how much that was.
    fn trim(&mut self, limit: usize) -> usize {
        let enough = 2 * self.limits.bytes;
        if self.tail.len() <= 2 * enough {
            return 0;
        }
        let cut = self
            .tail
            .ceil_char_boundary((self.tail.len() - enough).min(limit));
        self.tail.drain(..cut);
        cut
    }

    fn size(&self) -> TextSize {
        TextSize {
            lines: self.lines.newlines + usize::from(self.lines.line_is_open),
            bytes: self.text_bytes,
        }
    }

    fn fail(&mut self, error: io::Error) {
        tracing::warn!(%error, "the output of a command could not be saved");
        self.spill = Spill::Failed(error);
    }
}

/// Saves a piece: in memory until there is a place for it.
async fn save(spill: &mut Spill, piece: &[u8], place: Option<&SpillPlace>) -> io::Result<()> {
    match (&mut *spill, place) {
        (Spill::Failed(_), _) => Ok(()),
        (Spill::File { file, .. }, _) => file.write_all(piece).await,
        (Spill::Memory(held), None) => {
            held.extend_from_slice(piece);
            Ok(())
        }
        (Spill::Memory(held), Some(place)) => {
            let (path, mut file) = place.create().await?;
            file.write_all(held).await?;
            file.write_all(piece).await?;
            *spill = Spill::File { path, file };
            Ok(())
        }
    }
}

impl SpillPlace {
    /// Creates a file that only the user may read.
    async fn create(&self) -> io::Result<(PathBuf, File)> {
        let name = format!("{}-{:016x}.log", self.prefix, rand::random::<u64>());
        let path = self.directory.join(name);
        let file = create_private(&path).await?;
        Ok((path, file))
    }
}

async fn create_private(path: &Path) -> io::Result<File> {
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path).await
}

#[cfg(test)]
mod tests;
