//! Checksums of what pi wrote to a session file, in `NAME.jsonl.sums` next to it.
//!
//! The session file has no place for them: its format is shared with other programs, which may also change the file.
//! Each line of the checksum file covers consecutive bytes that pi appended, with the state of the session file
//! afterwards. The last line is rewritten until it covers [`CHUNK_BYTES`], so that the file stays small. Checksums are
//! only for [`crate::check`]: if they cannot be written, the session continues without them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;

use crate::directory::SESSIONS_DIR;
use crate::log::read_range;
use crate::storage::{FileStamp, LogFile};

/// Added to the name of the session file.
const EXTENSION: &str = "sums";

/// How many bytes one line covers before the next one begins.
const CHUNK_BYTES: u64 = 4096;

/// Length of a line, which is the same for all.
const LINE_BYTES: usize = 62;

/// Larger checksum files are not read; this is enough for a session of 4 GiB.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// How much is read at a time to compute a checksum.
const READ_BYTES: u64 = 1024 * 1024;

/// Bytes of the session file that pi appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chunk {
    start: u64,
    length: u64,
    checksum: u32,
    /// Modification time of the session file when the chunk was complete, in nanoseconds.
    modified_ns: u64,
    /// Another program changed the session file before this chunk.
    follows_change: bool,
}

impl Chunk {
    fn stamp(&self) -> FileStamp {
        FileStamp {
            length: self.start.saturating_add(self.length),
            modified_ns: self.modified_ns,
        }
    }

    fn encode(&self) -> String {
        let mut line = String::with_capacity(LINE_BYTES);
        let mark = if self.follows_change { 'c' } else { '-' };
        let Self {
            start,
            length,
            checksum,
            modified_ns,
            ..
        } = self;
        // Writing to a string cannot fail.
        writeln!(
            line,
            "{start:016x} {length:016x} {checksum:08x} {modified_ns:016x} {mark}"
        )
        .ok();
        line
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let mut fields = line.split_ascii_whitespace();
        let mut number = || u64::from_str_radix(fields.next()?, 16).ok();
        Some(Self {
            start: number()?,
            length: number()?,
            checksum: number()?.try_into().ok()?,
            modified_ns: number()?,
            follows_change: match fields.next()? {
                "c" => true,
                "-" => false,
                _ => return None,
            },
        })
    }
}

/// The checksums of a session file that this process appends to.
#[derive(Debug, Default)]
pub(crate) enum Checksums {
    /// None are kept.
    #[default]
    Off,
    /// The checksum file is opened with the first record.
    Deferred,
    Open(ChecksumWriter),
}

impl Checksums {
    /// Covers bytes that were appended to a file, which was in the state `before` and is now in the state `after`.
    pub(crate) fn record(
        &mut self,
        file: &dyn LogFile,
        before: FileStamp,
        bytes: &[u8],
        after: FileStamp,
    ) {
        if matches!(self, Self::Deferred) {
            *self = match file.checksum_path().map(|path| ChecksumWriter::open(&path)) {
                Some(Ok(writer)) => Self::Open(writer),
                Some(Err(error)) => {
                    tracing::warn!(%error, "cannot open the checksums of a session");
                    Self::Off
                }
                None => Self::Off,
            };
        }
        if let Self::Open(writer) = self
            && let Err(error) = writer.record(before, bytes, after)
        {
            tracing::warn!(%error, "cannot write the checksums of a session");
            *self = Self::Off;
        }
    }
}

#[derive(Debug)]
pub(crate) struct ChecksumWriter {
    file: File,
    /// Where the line of the current chunk begins.
    position: u64,
    current: Option<(Chunk, Hasher)>,
    /// The state of the session file according to the last line; `None` without one.
    last: Option<FileStamp>,
}

impl ChecksumWriter {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = pi_fs::private::open_or_create(path)?;
        let length = file.metadata()?.len();
        // A killed process may have left a part of a line.
        let position = length - length % LINE_BYTES as u64;
        let last = match position.checked_sub(LINE_BYTES as u64) {
            Some(start) => {
                let mut line = [0; LINE_BYTES];
                io::Seek::seek(&mut file, io::SeekFrom::Start(start))?;
                file.read_exact(&mut line)?;
                // The state after an unreadable line is unknown and matches no file.
                Some(Chunk::parse(&line).map_or_else(FileStamp::default, |last| last.stamp()))
            }
            None => None,
        };
        Ok(Self {
            file,
            position,
            current: None,
            last,
        })
    }

    fn record(&mut self, before: FileStamp, bytes: &[u8], after: FileStamp) -> io::Result<()> {
        let is_known = self.last == Some(before);
        let (mut chunk, mut hasher) = match self.current.take() {
            Some(current) if is_known && current.0.length < CHUNK_BYTES => current,
            ended => {
                if ended.is_some() {
                    self.position += LINE_BYTES as u64;
                }
                let chunk = Chunk {
                    start: before.length,
                    length: 0,
                    checksum: 0,
                    modified_ns: 0,
                    follows_change: self.last.is_some() && !is_known,
                };
                (chunk, Hasher::new())
            }
        };
        hasher.update(bytes);
        chunk.length += bytes.len() as u64;
        chunk.checksum = hasher.clone().finalize();
        chunk.modified_ns = after.modified_ns;
        write_at(&self.file, chunk.encode().as_bytes(), self.position)?;
        self.last = Some(after);
        self.current = Some((chunk, hasher));
        Ok(())
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    match std::os::windows::fs::FileExt::seek_write(file, bytes, offset)? {
        count if count == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// What the checksums of a file reveal.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChecksumReport {
    /// Ranges that are as pi wrote them, in file order.
    pub(crate) intact: Vec<(u64, u64)>,
    pub(crate) altered: Vec<AlteredRange>,
    /// Number of ranges that are no longer at their place: another program rewrote the file.
    pub(crate) moved: usize,
}

/// Bytes that differ from those that pi wrote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AlteredRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// No program has written to the file since.
    pub(crate) is_silent: bool,
}

/// Compares a file with its checksums; without checksums, the report is empty.
pub(crate) fn verify(file: &dyn LogFile) -> io::Result<ChecksumReport> {
    let mut report = ChecksumReport::default();
    let chunks = match file.checksum_path().map(|path| read_chunks(&path)) {
        Some(Ok(chunks)) => chunks,
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, "cannot read the checksums of a session");
            return Ok(report);
        }
        Some(Err(_)) | None => return Ok(report),
    };
    let stamp = file.stamp()?;
    let is_current = chunks.last().is_some_and(|last| last.stamp() == stamp);
    let last_change = chunks.iter().rposition(|chunk| chunk.follows_change);
    for (index, chunk) in chunks.iter().enumerate() {
        let is_silent = is_current && last_change.is_none_or(|change| index >= change);
        let (start, end) = (chunk.start, chunk.stamp().length);
        if end <= stamp.length && checksum(file, start, end)? == chunk.checksum {
            report.intact.push((start, end));
        } else if is_silent || (end <= stamp.length && holds_lines(file, start, end)?) {
            report.altered.push(AlteredRange {
                start,
                end,
                is_silent,
            });
        } else {
            report.moved += 1;
        }
    }
    report.intact.sort_unstable();
    Ok(report)
}

/// Reads the lines of a checksum file that are intact.
fn read_chunks(path: &Path) -> io::Result<Vec<Chunk>> {
    let file = pi_fs::open_nonblocking(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err(io::Error::other("not a checksum file"));
    }
    let mut content = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut content)?;
    let lines = content.chunks_exact(LINE_BYTES);
    Ok(lines.filter_map(Chunk::parse).collect())
}

fn checksum(file: &dyn LogFile, start: u64, end: u64) -> io::Result<u32> {
    let mut hasher = Hasher::new();
    let mut offset = start;
    while offset < end {
        let next = end.min(offset.saturating_add(READ_BYTES));
        hasher.update(&read_range(file, offset, next)?);
        offset = next;
    }
    Ok(hasher.finalize())
}

/// Returns whether a range still begins and ends where lines do. If a program has rewritten the file with other
/// lengths, it rarely does.
fn holds_lines(file: &dyn LogFile, start: u64, end: u64) -> io::Result<bool> {
    let ends_line = |end: u64| match end.checked_sub(1) {
        Some(last) => Ok(read_range(file, last, end)? == b"\n"),
        None => Ok::<_, io::Error>(true),
    };
    Ok(ends_line(start)? && ends_line(end)?)
}

/// Returns the checksum file of a session file; `None` outside of the session directory, where a user expects no other
/// files.
pub(crate) fn checksum_path(session_file: &Path) -> Option<PathBuf> {
    let store = session_file.parent()?.parent()?;
    if store.file_name()? != SESSIONS_DIR {
        return None;
    }
    let mut name = session_file.as_os_str().to_owned();
    name.push(".");
    name.push(EXTENSION);
    Some(name.into())
}

/// Removes the checksums of a session that is deleted, or whose content a repair has replaced.
pub(crate) fn remove_checksums(session_file: &Path) {
    let Some(path) = checksum_path(session_file) else {
        return;
    };
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, "cannot remove the checksums of a session"),
    }
}
