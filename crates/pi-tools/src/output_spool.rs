//! Buffers command output in bounded memory. The end of the output stays in memory; if the output
//! exceeds the limits, all of it is also written to a file.

mod full_output;
mod spill;

use std::io;
use std::path::{Path, PathBuf};

pub(crate) use spill::{MAX_FILE_BYTES, SpillTarget};

use crate::plain_text::TextFilter;
use crate::truncate::{TextSize, Truncation, TruncationLimits, truncate_tail_suffix};
use crate::utf8_stream::Utf8Stream;
use spill::SpillFile;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputForm {
    /// All characters; the file contains the raw bytes.
    Raw,
    /// Plain text, also in the file.
    Plain,
}

#[derive(Debug)]
pub(crate) struct OutputSpool {
    limits: TruncationLimits,
    target: SpillTarget,
    decoder: Utf8Stream,
    filter: Option<TextFilter>,
    /// The end of the text: everything, or more than the limits allow.
    tail: String,
    lines: LineCounter,
    text_bytes: usize,
    raw_bytes: usize,
    spill: Spill,
}

#[derive(Debug)]
enum Spill {
    /// What the file would contain, until it is needed.
    Memory(Vec<u8>),
    File(SpillFile),
    Failed(io::Error),
}

/// Counts the lines of a text that arrives in chunks.
#[derive(Debug, Default)]
struct LineCounter {
    newlines: usize,
    /// Bytes of the last line, without its newline.
    last_line_bytes: usize,
    line_is_open: bool,
}

impl LineCounter {
    fn push(&mut self, chunk: &[u8]) {
        if chunk.is_empty() {
            return;
        }
        self.newlines += memchr::memchr_iter(b'\n', chunk).count();
        let closed = chunk.strip_suffix(b"\n");
        let body = closed.unwrap_or(chunk);
        match memchr::memrchr(b'\n', body) {
            Some(newline) => self.last_line_bytes = body.len() - newline - 1,
            None if self.line_is_open => self.last_line_bytes += body.len(),
            None => self.last_line_bytes = body.len(),
        }
        self.line_is_open = closed.is_none();
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputSnapshot {
    pub(crate) truncation: Truncation,
    pub(crate) full_output_path: Option<PathBuf>,
}

impl OutputSpool {
    pub(crate) fn new(form: OutputForm, target: SpillTarget) -> Self {
        Self {
            limits: TruncationLimits::default(),
            target,
            decoder: Utf8Stream::default(),
            filter: match form {
                OutputForm::Raw => None,
                OutputForm::Plain => Some(TextFilter::default()),
            },
            tail: String::new(),
            lines: LineCounter::default(),
            text_bytes: 0,
            raw_bytes: 0,
            spill: Spill::Memory(Vec::new()),
        }
    }

    /// Appends a chunk of output and returns the text it adds.
    pub(crate) async fn push(&mut self, chunk: &[u8]) -> &str {
        let start = self.tail.len();
        self.raw_bytes += chunk.len();
        self.decoder.push(chunk, &mut self.tail);
        self.append_text(start, chunk).await
    }

    /// Ends the output, returns the remaining text and flushes the file.
    pub(crate) async fn finish(&mut self) -> &str {
        let start = self.tail.len();
        self.decoder.finish(&mut self.tail);
        let added = self.append_text(start, &[]).await.len();
        if let Spill::File(file) = &mut self.spill
            && let Err(error) = file.flush().await
        {
            self.fail(error);
        }
        let start = self.tail.len() - added;
        self.tail.get(start..).unwrap_or_default()
    }

    pub(crate) fn snapshot(&self) -> OutputSnapshot {
        OutputSnapshot {
            truncation: truncate_tail_suffix(&self.tail, self.size(), self.limits),
            full_output_path: self.full_output_path().map(Path::to_owned),
        }
    }

    /// Returns the file with the full output, if that exceeds the limits.
    pub(crate) fn full_output_path(&self) -> Option<&Path> {
        match &self.spill {
            Spill::File(file) => Some(file.path()),
            Spill::Memory(_) | Spill::Failed(_) => None,
        }
    }

    /// Returns the size of the last line, without its newline.
    pub(crate) fn last_line_bytes(&self) -> usize {
        self.lines.last_line_bytes
    }

    /// Returns why the full output could not be saved.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        match &self.spill {
            Spill::Failed(error) => Some(error),
            Spill::Memory(_) | Spill::File(_) => None,
        }
    }

    /// Returns whether the file contains only the start of the output.
    pub(crate) fn file_is_truncated(&self) -> bool {
        matches!(&self.spill, Spill::File(file) if file.is_truncated())
    }

    /// Counts and saves the text that was appended at `start`.
    async fn append_text(&mut self, start: usize, chunk: &[u8]) -> &str {
        if let Some(filter) = &mut self.filter {
            let decoded = self.tail.split_off(start);
            filter.push(&decoded, &mut self.tail);
        }
        let new = self.tail.get(start..).unwrap_or_default();
        self.text_bytes += new.len();
        self.lines.push(new.as_bytes());
        let saved = match self.filter {
            Some(_) => new.as_bytes(),
            None => chunk,
        };
        let over_limits = self.raw_bytes > self.limits.bytes
            || self.text_bytes > self.limits.bytes
            || self.size().lines > self.limits.lines;
        if let Err(error) = save(&mut self.spill, saved, over_limits.then_some(&self.target)).await
        {
            self.fail(error);
        }
        let start = start - self.trim(start);
        self.tail.get(start..).unwrap_or_default()
    }

    /// Drops old text from the front, at most up to `limit`, and returns how many bytes were
    /// dropped.
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
        tracing::warn!(%error, "cannot save command output");
        self.spill = Spill::Failed(error);
    }
}

/// Saves a chunk: to a file if `target` is given, otherwise in memory.
async fn save(spill: &mut Spill, chunk: &[u8], target: Option<&SpillTarget>) -> io::Result<()> {
    match (&mut *spill, target) {
        (Spill::Failed(_), _) => Ok(()),
        (Spill::File(file), _) => file.write(chunk).await,
        (Spill::Memory(buffered), None) => {
            buffered.extend_from_slice(chunk);
            Ok(())
        }
        (Spill::Memory(buffered), Some(target)) => {
            let mut file = target.create().await?;
            file.write(buffered).await?;
            file.write(chunk).await?;
            *spill = Spill::File(file);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
