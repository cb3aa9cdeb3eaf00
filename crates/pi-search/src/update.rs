//! Brings an index up to date: reads what was appended to session files, forgets files that are gone, merges segments.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use pi_session::listing::{self, EntryText, TextFlow, TextRole, each_text};

use crate::directory::IndexDirectory;
use crate::error::SearchError;
use crate::manifest::{FileRecord, Manifest, SegmentRecord};
use crate::segment::{SegmentBuilder, SegmentReader, merge_segments};

/// Memory after which collected documents are written.
const MAX_BUILDER_BYTES: usize = 10 * 1024 * 1024;

/// Segments of similar size that are merged into one.
const MERGE_WIDTH: usize = 4;

/// How many times larger the segments of the next level are.
const LEVEL_RATIO: u64 = 4;

/// The largest segments of the lowest level.
const LOWEST_LEVEL_BYTES: u64 = 256 * 1024;

/// Work between two pauses.
const SLICE: Duration = Duration::from_millis(20);

/// A background update rests this many times longer than it works.
const REST_FACTOR: u32 = 3;

/// How much of the start of a file, and of what was read last, identifies it.
const SAMPLE_BYTES: u64 = 1024;

const MAX_TITLE: usize = 80;

/// The files to index.
#[derive(Debug, Clone, Default)]
pub struct SessionFiles {
    pub paths: Vec<PathBuf>,
    /// Sessions with a working directory in one of these are left out.
    pub excluded: Vec<PathBuf>,
}

/// How an update runs, and what it reports.
pub struct UpdateControl<'a> {
    pub pace: UpdatePace,
    pub on_progress: &'a mut dyn FnMut(UpdateProgress),
    pub is_canceled: &'a dyn Fn() -> bool,
}

/// How much of a core an update uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdatePace {
    Full,
    /// All of it for this long, so that small updates are done at once, then a quarter.
    Background {
        after: Duration,
    },
}

/// How far an update is, in bytes of session files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UpdateProgress {
    pub done: u64,
    pub total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateOutcome {
    Complete,
    /// Another process updates the index.
    InOtherProcess,
}

pub(crate) fn update(
    directory: &IndexDirectory,
    files: &SessionFiles,
    control: &mut UpdateControl<'_>,
) -> Result<UpdateOutcome, SearchError> {
    let Some(_lock) = directory.lock()? else {
        return Ok(UpdateOutcome::InOtherProcess);
    };
    let manifest = match read_usable(directory) {
        Err(error @ SearchError::Damaged { .. }) => {
            tracing::warn!(%error, "the search index is built again");
            directory.remove_manifest()?;
            Manifest::read(directory)?
        }
        other => other?,
    };
    let mut update = IndexUpdate {
        directory,
        saved: manifest.clone(),
        manifest,
        builder: SegmentBuilder::default(),
        retired: Vec::new(),
        pacer: Pacer::new(control.pace),
        progress: UpdateProgress::default(),
        control,
    };
    update.run(files)?;
    Ok(UpdateOutcome::Complete)
}

/// Reads a manifest whose segments can be opened.
fn read_usable(directory: &IndexDirectory) -> Result<Manifest, SearchError> {
    let manifest = Manifest::read(directory)?;
    for segment in &manifest.segments {
        SegmentReader::open(directory, segment)?;
    }
    Ok(manifest)
}

struct IndexUpdate<'a, 'control> {
    directory: &'a IndexDirectory,
    manifest: Manifest,
    /// As on disk.
    saved: Manifest,
    builder: SegmentBuilder,
    /// Segments that this update replaced.
    retired: Vec<String>,
    pacer: Pacer,
    progress: UpdateProgress,
    control: &'a mut UpdateControl<'control>,
}

/// A file that has to be read.
struct ChangedFile<'a> {
    path: &'a Path,
    state: FileState,
}

impl IndexUpdate<'_, '_> {
    fn run(&mut self, files: &SessionFiles) -> Result<(), SearchError> {
        let listed: HashSet<&Path> = files.paths.iter().map(PathBuf::as_path).collect();
        self.manifest
            .files
            .retain(|path, _| listed.contains(path.as_path()) || path.exists());
        let mut changed = Vec::new();
        for path in &files.paths {
            let Some(state) = fs::metadata(path).ok().as_ref().and_then(FileState::of) else {
                self.manifest.files.remove(path);
                continue;
            };
            let known = self.manifest.files.get(path);
            let is_current = known.is_some_and(|known| {
                state.is_of(known) && known.is_excluded == is_excluded(&known.cwd, &files.excluded)
            });
            if !is_current {
                let read = known.map_or(0, |known| known.indexed);
                self.progress.total += state.length.saturating_sub(read);
                changed.push(ChangedFile { path, state });
            }
        }
        for file in &changed {
            self.read_file(file, &files.excluded)?;
        }
        self.flush()?;
        self.merge()?;
        let listed: Vec<&str> = names(&self.manifest).collect();
        self.directory.remove_unlisted(&listed, &self.retired);
        Ok(())
    }

    fn read_file(
        &mut self,
        file: &ChangedFile<'_>,
        excluded: &[PathBuf],
    ) -> Result<(), SearchError> {
        let known = self.manifest.files.remove(file.path);
        let continued = known.filter(|known| {
            known.indexed <= file.state.length
                && sample(file.path, known.indexed) == Some(known.sample)
                && known.is_excluded == is_excluded(&known.cwd, excluded)
        });
        let mut record = match continued {
            Some(known) => known,
            None => {
                let header = listing::read_header(file.path);
                let (id, cwd) = header.map(|it| (it.id, it.cwd)).unwrap_or_default();
                FileRecord {
                    number: self.manifest.take_file_number(),
                    is_excluded: is_excluded(&cwd, excluded),
                    id,
                    cwd,
                    ..FileRecord::default()
                }
            }
        };
        record.length = file.state.length;
        record.modified_ns = file.state.modified_ns;
        let before = self.progress.done;
        let start = record.indexed;
        // Files without a header are no sessions.
        while !record.is_excluded && !record.id.is_empty() {
            let read_from = record.indexed;
            let end = self.read_entries(file.path, &mut record)?;
            record.indexed = end;
            record.sample = sample(file.path, end).unwrap_or_default();
            if self.builder.bytes() < MAX_BUILDER_BYTES || end == read_from {
                break;
            }
            // Not up to date until all of it was read.
            let partial = FileRecord {
                length: 0,
                ..record.clone()
            };
            self.manifest.files.insert(file.path.to_owned(), partial);
            self.flush()?;
            self.progress.done = before + end.saturating_sub(start);
        }
        self.progress.done = before + file.state.length.saturating_sub(start);
        (self.control.on_progress)(self.progress);
        self.manifest.files.insert(file.path.to_owned(), record);
        if self.builder.bytes() >= MAX_BUILDER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Reads entries until the builder is full; returns where the next line starts.
    fn read_entries(&mut self, path: &Path, record: &mut FileRecord) -> Result<u64, SearchError> {
        let mut failure = None;
        let read = each_text(path, record.indexed, |entry| {
            record.note_title(&entry);
            if self.builder.add(record.number, &entry) {
                record.documents = record.documents.saturating_add(1);
            }
            if let Err(error) = self.pacer.pause(self.control.is_canceled) {
                failure = Some(error);
            }
            if failure.is_some() || self.builder.bytes() >= MAX_BUILDER_BYTES {
                TextFlow::Stop
            } else {
                TextFlow::Continue
            }
        });
        match (failure, read) {
            (Some(error), _) => Err(error),
            (None, Ok(end)) => Ok(end),
            (None, Err(error)) => {
                tracing::debug!(path = %path.display(), %error, "cannot read a session");
                Ok(record.indexed)
            }
        }
    }

    /// Writes what was collected, and the manifest.
    fn flush(&mut self) -> Result<(), SearchError> {
        if !self.builder.is_empty() {
            let builder = std::mem::take(&mut self.builder);
            let directory = self.directory;
            self.write_segment(|out| builder.write(out).map_err(|error| directory.error(error)))?;
        }
        self.save()
    }

    fn write_segment(
        &mut self,
        write: impl FnOnce(&mut dyn std::io::Write) -> Result<(u64, u32), SearchError>,
    ) -> Result<(), SearchError> {
        let name = self.manifest.take_segment_name();
        let mut written = (0, 0);
        self.directory.write_segment(&name, |out| {
            written = write(out)?;
            Ok(())
        })?;
        let (bytes, documents) = written;
        self.manifest.segments.push(SegmentRecord {
            name,
            bytes,
            documents,
        });
        Ok(())
    }

    fn save(&mut self) -> Result<(), SearchError> {
        if self.manifest != self.saved {
            self.manifest.write(self.directory)?;
            self.saved = self.manifest.clone();
        }
        Ok(())
    }

    /// Merges until no level has too many segments, and no segment consists mostly of files that are gone.
    fn merge(&mut self) -> Result<(), SearchError> {
        while let Some(chosen) = self.choose_merge()? {
            let alive: HashSet<u32> = self.manifest.files.values().map(|it| it.number).collect();
            let opened = chosen
                .iter()
                .map(|segment| SegmentReader::open(self.directory, segment));
            let readers = opened.collect::<Result<Vec<_>, _>>()?;
            let directory = self.directory;
            let is_canceled = self.control.is_canceled;
            let mut pacer = self.pacer;
            self.write_segment(|out| {
                let mut pause = || pacer.pause(is_canceled);
                let is_alive = |file| alive.contains(&file);
                merge_segments(&readers, &is_alive, &mut pause, directory, out)
            })?;
            self.pacer = pacer;
            self.manifest.segments.retain(|it| !chosen.contains(it));
            self.manifest.segments.retain(|it| it.documents > 0);
            self.save()?;
            self.retired.extend(chosen.into_iter().map(|it| it.name));
        }
        Ok(())
    }

    fn choose_merge(&self) -> Result<Option<Vec<SegmentRecord>>, SearchError> {
        let alive: HashSet<u32> = self.manifest.files.values().map(|it| it.number).collect();
        for segment in &self.manifest.segments {
            let reader = SegmentReader::open(self.directory, segment)?;
            if reader.count_documents(&|file| !alive.contains(&file)) > segment.documents / 2 {
                return Ok(Some(vec![segment.clone()]));
            }
        }
        let mut levels: Vec<(u32, Vec<SegmentRecord>)> = Vec::new();
        for segment in &self.manifest.segments {
            let level = level(segment.bytes);
            match levels.iter_mut().find(|(known, _)| *known == level) {
                Some((_, members)) => members.push(segment.clone()),
                None => levels.push((level, vec![segment.clone()])),
            }
        }
        let full = levels.into_iter().find(|(_, it)| it.len() >= MERGE_WIDTH);
        Ok(full.map(|(_, members)| members))
    }
}

fn names(manifest: &Manifest) -> impl Iterator<Item = &str> {
    manifest.segments.iter().map(|it| it.name.as_str())
}

/// Returns the level of a segment; segments of a level have similar sizes.
fn level(bytes: u64) -> u32 {
    (bytes / LOWEST_LEVEL_BYTES)
        .checked_ilog(LEVEL_RATIO)
        .map_or(0, |level| level + 1)
}

/// Whether a working directory is in one that is left out.
fn is_excluded(cwd: &str, excluded: &[PathBuf]) -> bool {
    excluded
        .iter()
        .any(|folder| Path::new(cwd).starts_with(folder))
}

impl FileRecord {
    fn note_title(&mut self, entry: &EntryText) {
        let is_name = entry.role == TextRole::Name;
        let is_first = entry.role == TextRole::User && self.title.is_none();
        if is_name || (is_first && !self.is_named) {
            let words = entry.text.split_whitespace().collect::<Vec<_>>().join(" ");
            self.title = Some(words.chars().take(MAX_TITLE).collect());
            self.is_named = is_name;
        }
    }
}

/// The state of a file according to the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) length: u64,
    modified_ns: u64,
}

impl FileState {
    /// Returns `None` for anything that is not a regular file.
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        let modified = metadata.modified().ok();
        let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
        metadata.is_file().then(|| Self {
            length: metadata.len(),
            modified_ns: since
                .and_then(|since| u64::try_from(since.as_nanos()).ok())
                .unwrap_or_default(),
        })
    }

    pub(crate) const fn is_of(self, record: &FileRecord) -> bool {
        self.length == record.length && self.modified_ns == record.modified_ns
    }
}

/// Returns a checksum of the start of a file and of what precedes `end`.
fn sample(path: &Path, end: u64) -> Option<u32> {
    let mut file = File::open(path).ok()?;
    let mut hasher = crc32fast::Hasher::new();
    let mut bytes = Vec::new();
    let tail = end.saturating_sub(SAMPLE_BYTES);
    for (start, length) in [(0, end.min(SAMPLE_BYTES)), (tail, end - tail)] {
        file.seek(SeekFrom::Start(start)).ok()?;
        bytes.clear();
        (&mut file).take(length).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 != length {
            return None;
        }
        hasher.update(&bytes);
    }
    Some(hasher.finalize())
}

/// Rests between slices of work.
#[derive(Debug, Clone, Copy)]
struct Pacer {
    /// When the rests begin.
    rests_from: Option<Instant>,
    slice: Instant,
}

impl Pacer {
    fn new(pace: UpdatePace) -> Self {
        let now = Instant::now();
        Self {
            rests_from: match pace {
                UpdatePace::Full => None,
                UpdatePace::Background { after } => Some(now + after),
            },
            slice: now,
        }
    }

    /// Called often; fails if the update was canceled.
    fn pause(&mut self, is_canceled: &dyn Fn() -> bool) -> Result<(), SearchError> {
        let worked = self.slice.elapsed();
        if worked < SLICE {
            return Ok(());
        }
        if is_canceled() {
            return Err(SearchError::Canceled);
        }
        if self.rests_from.is_some_and(|from| Instant::now() >= from) {
            thread::sleep(worked * REST_FACTOR);
        }
        self.slice = Instant::now();
        Ok(())
    }
}
