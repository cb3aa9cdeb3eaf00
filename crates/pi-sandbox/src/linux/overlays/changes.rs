//! Finds what differs between an overlay and the directory below it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};

use super::directory::{Directory, FileStatus, attributes};
use super::{MAX_DEPTH, Overlay, too_deep};
use crate::attempt::{TriedChange, TriedChangeKind};

/// What is in an overlay.
#[derive(Default)]
pub(super) struct FoundChanges {
    pub(super) changes: Vec<TriedChange>,
    /// Directories in the overlay, relative to its root, as the command has left them. Parents come first.
    pub(super) directories: Vec<(PathBuf, FileStatus)>,
}

pub(super) fn find(index: usize, overlay: &Overlay) -> io::Result<FoundChanges> {
    let parent = overlay.upper.parent().unwrap_or(&overlay.upper);
    let name = overlay.upper.file_name().unwrap_or_default();
    let parent = Directory::open_path(parent)?;
    let status = parent.status(name)?;
    let upper = parent.open_readable(name)?;
    let lower = Directory::open_path(&overlay.root)?;
    let mut search = Search {
        index,
        overlay,
        found: FoundChanges::default(),
        depth: 0,
    };
    if let Some(status) = status {
        search.compare(&upper, status, Below::Shown(&lower), Path::new(""))?;
    }
    Ok(search.found)
}

/// What is below a directory of an overlay.
#[derive(Clone, Copy)]
enum Below<'lower> {
    Nothing,
    /// A directory whose entries the command saw.
    Shown(&'lower Directory),
    /// A directory that the command removed before it created this one, so that it saw no entry of it.
    Hidden(&'lower Directory),
}

struct Search<'search> {
    index: usize,
    overlay: &'search Overlay,
    found: FoundChanges,
    depth: usize,
}

impl Search<'_> {
    fn add(&mut self, relative: &Path, kind: TriedChangeKind, is_directory: bool) {
        self.found.changes.push(TriedChange {
            path: self.overlay.root.join(relative),
            kind,
            is_directory,
            tried_path: self.overlay.upper.join(relative),
            overlay: self.index,
        });
    }

    fn compare(
        &mut self,
        upper: &Directory,
        status: FileStatus,
        below: Below<'_>,
        relative: &Path,
    ) -> io::Result<()> {
        self.found.directories.push((relative.to_owned(), status));
        let names = upper.names()?;
        let (lower, is_hidden) = match below {
            Below::Nothing => (None, false),
            Below::Shown(lower) => (Some(lower), upper.is_opaque()),
            Below::Hidden(lower) => (Some(lower), true),
        };
        if let Some(lower) = lower.filter(|_| is_hidden) {
            for name in lower.names()? {
                if names.binary_search(&name).is_err()
                    && let Some(status) = lower.status(&name)?
                {
                    let path = relative.join(&name);
                    self.add(&path, TriedChangeKind::Deleted, status.is_directory());
                }
            }
        }
        for name in names {
            let Some(new) = upper.status(&name)? else {
                continue;
            };
            let old = match lower {
                Some(lower) => lower.status(&name)?,
                None => None,
            };
            self.compare_entry(&Entry {
                upper,
                lower,
                is_hidden,
                name: &name,
                relative: relative.join(&name),
                new,
                old,
            })?;
        }
        Ok(())
    }

    fn compare_entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let Entry { new, old, .. } = entry;
        let path = &entry.relative;
        let kind = match old {
            Some(_) => TriedChangeKind::Modified,
            None => TriedChangeKind::Created,
        };
        if new.is_whiteout() {
            if let Some(old) = old {
                self.add(path, TriedChangeKind::Deleted, old.is_directory());
            }
        } else if new.is_directory() {
            let is_merged = old.is_some_and(|old| old.is_directory());
            let upper = entry.upper.open_readable(entry.name)?;
            let lower = match entry.lower {
                Some(lower) if is_merged => Some(lower.open_below(Path::new(entry.name))?),
                _ => None,
            };
            let is_same = match (&lower, old) {
                (Some(lower), Some(old)) => {
                    old.has_same_owner_and_mode(new) && attributes(&upper)? == attributes(lower)?
                }
                _ => false,
            };
            if !is_same {
                self.add(path, kind, true);
            }
            if self.depth == MAX_DEPTH {
                return Err(too_deep());
            }
            let below = match &lower {
                None => Below::Nothing,
                // The file system marks only the first directory.
                Some(lower) if entry.is_hidden => Below::Hidden(lower),
                Some(lower) => Below::Shown(lower),
            };
            self.depth += 1;
            self.compare(&upper, *new, below, path)?;
            self.depth -= 1;
        } else if new.kind() != FileType::Socket && !entry.is_unchanged() {
            self.add(path, kind, false);
        }
        Ok(())
    }
}

/// An entry of an overlay that may have changed.
struct Entry<'entry> {
    upper: &'entry Directory,
    lower: Option<&'entry Directory>,
    /// The command saw nothing of the directory below.
    is_hidden: bool,
    name: &'entry OsStr,
    relative: PathBuf,
    new: FileStatus,
    old: Option<FileStatus>,
}

impl Entry<'_> {
    /// Whether a file is only a copy, for example because it was opened for writing.
    fn is_unchanged(&self) -> bool {
        let (Some(old), Some(lower)) = (&self.old, self.lower) else {
            return false;
        };
        let new = &self.new;
        new.kind() == FileType::RegularFile
            && new.has_same_owner_and_mode(old)
            && new.0.st_size == old.0.st_size
            && new.modified() == old.modified()
            && has_same_contents(self.upper, lower, self.name).unwrap_or(false)
    }
}

/// Whether files have the same contents and attributes.
fn has_same_contents(upper: &Directory, lower: &Directory, name: &OsStr) -> io::Result<bool> {
    const CHUNK: usize = 64 * 1024;
    let open = |directory: &Directory| -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(directory, name, flags, Mode::empty())?.into())
    };
    let (mut upper_file, mut lower_file) = (open(upper)?, open(lower)?);
    let read = |file: &mut File| -> io::Result<Vec<u8>> {
        let mut chunk = Vec::with_capacity(CHUNK);
        file.take(CHUNK as u64).read_to_end(&mut chunk)?;
        Ok(chunk)
    };
    loop {
        let (new, old) = (read(&mut upper_file)?, read(&mut lower_file)?);
        if new != old {
            return Ok(false);
        }
        if new.is_empty() {
            return Ok(attributes(&upper_file)? == attributes(&lower_file)?);
        }
    }
}
