//! Unpacks the archive of a package into a directory, trusting nothing it says.
//!
//! Entries that would leave the directory, links that would lead out of it and devices refuse the whole
//! archive; a link that stays inside is left out, as npm does. Sizes and numbers are bounded by what is
//! read, not by what the archive claims.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};

use crate::error::PackageError;

/// What an archive may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of all files together.
    pub(crate) bytes: u64,
    /// Entries of any kind.
    pub(crate) entries: usize,
}

impl Limits {
    /// Far above what packages hold, far below what fills a disk.
    pub(crate) const USUAL: Self = Self {
        bytes: 1024 * 1024 * 1024,
        entries: 100_000,
    };
}

/// How deep directories may lie in each other.
const MAX_DEPTH: usize = 100;

/// What was unpacked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unpacked {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

/// Unpacks an archive into a directory that does not exist yet. When it fails, the directory may hold a part;
/// it is the caller's, who works in a place nobody looks at.
pub(crate) fn unpack(
    name: &str,
    archive: &mut File,
    dir: &Path,
    limits: Limits,
) -> Result<Unpacked, PackageError> {
    let mut magic = [0; 2];
    let is_compressed = archive.read_exact(&mut magic).is_ok() && magic == [0x1f, 0x8b];
    archive
        .seek(SeekFrom::Start(0))
        .map_err(PackageError::disk(dir))?;
    let buffered = BufReader::new(archive);
    let content: Box<dyn Read + '_> = if is_compressed {
        Box::new(MultiGzDecoder::new(buffered))
    } else {
        Box::new(buffered)
    };
    // Headers count too, so that an archive of nothing but headers ends as well.
    let overhead = u64::try_from(limits.entries)
        .unwrap_or(u64::MAX)
        .saturating_mul(4096);
    let bounded = content.take(limits.bytes.saturating_add(overhead));
    let mut unpacking = Unpacking {
        name,
        dir,
        limits,
        done: Unpacked::default(),
        entries: 0,
    };
    let mut archive = Archive::new(bounded);
    let entries = archive
        .entries()
        .map_err(|error| unpacking.broken(&error))?;
    for entry in entries {
        let entry = entry.map_err(|error| unpacking.broken(&error))?;
        unpacking.take(entry)?;
    }
    if unpacking.done.files == 0 {
        return Err(unpacking.refuse("it holds no files"));
    }
    Ok(unpacking.done)
}

struct Unpacking<'a> {
    name: &'a str,
    dir: &'a Path,
    limits: Limits,
    done: Unpacked,
    entries: usize,
}

impl Unpacking<'_> {
    fn take(&mut self, mut entry: Entry<'_, impl Read>) -> Result<(), PackageError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(self.too_large(&format!("{} entries", self.limits.entries)));
        }
        let kind = entry.header().entry_type();
        if matches!(
            kind,
            EntryType::XGlobalHeader
                | EntryType::XHeader
                | EntryType::GNULongName
                | EntryType::GNULongLink
        ) {
            return Ok(());
        }
        let Some(path) = self.inside(&entry.path_bytes())? else {
            return Ok(());
        };
        match kind {
            EntryType::Regular | EntryType::Continuous => {
                let mode = entry.header().mode().unwrap_or(0o644);
                self.write(&path, mode, &mut entry)
            }
            EntryType::Directory => self.create_dir(&path),
            EntryType::Symlink | EntryType::Link => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                self.check_link(&path, kind, &target)
            }
            _ => Err(self.refuse(&format!("{} is no file", path.display()))),
        }
    }

    /// Returns the path of an entry below the directory, without the archive's own first directory.
    fn inside(&self, bytes: &[u8]) -> Result<Option<PathBuf>, PackageError> {
        let text = std::str::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains(['\0', '\\']) && !has_drive(text))
            .ok_or_else(|| {
                self.refuse(&format!("the name {:?}", String::from_utf8_lossy(bytes)))
            })?;
        let leaves = || self.refuse(&format!("{text:?} leaves the package"));
        let mut inside = PathBuf::new();
        for (depth, part) in Path::new(text).components().enumerate() {
            match part {
                Component::Normal(_) if depth > MAX_DEPTH => return Err(leaves()),
                Component::Normal(name) => inside.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(leaves());
                }
            }
        }
        let inside: PathBuf = inside.components().skip(1).collect();
        Ok((!inside.as_os_str().is_empty()).then_some(inside))
    }

    fn create_dir(&self, path: &Path) -> Result<(), PackageError> {
        let dir = self.dir.join(path);
        fs::create_dir_all(&dir).map_err(PackageError::disk(&dir))
    }

    fn write(
        &mut self,
        path: &Path,
        mode: u32,
        content: &mut impl Read,
    ) -> Result<(), PackageError> {
        if let Some(parent) = path.parent() {
            self.create_dir(parent)?;
        }
        let target = self.dir.join(path);
        let mut file = creation(mode)
            .open(&target)
            .map_err(PackageError::disk(&target))?;
        let left = self.limits.bytes.saturating_sub(self.done.bytes);
        let copied = io::copy(&mut content.take(left.saturating_add(1)), &mut file);
        let copied = copied.map_err(|error| self.broken(&error))?;
        if copied > left {
            return Err(self.too_large(&format!("{} MB", self.limits.bytes / (1024 * 1024))));
        }
        self.done.bytes += copied;
        self.done.files += 1;
        Ok(())
    }

    /// Refuses a link that leads out of the package; the others are no part of it either.
    fn check_link(&self, path: &Path, kind: EntryType, target: &[u8]) -> Result<(), PackageError> {
        let leads_out = || self.refuse(&format!("{} links out of the package", path.display()));
        let target = std::str::from_utf8(target).map_err(|_invalid| leads_out())?;
        if target.contains('\\') || has_drive(target) || Path::new(target).is_absolute() {
            return Err(leads_out());
        }
        // A symbolic link starts at its own directory, a hard link at the archive's top.
        let start = match kind {
            EntryType::Symlink => {
                path.parent()
                    .map_or(0, |parent| parent.components().count())
                    + 1
            }
            _ => 0,
        };
        let mut depth = start;
        for part in Path::new(target).components() {
            match part {
                Component::ParentDir if depth <= 1 => return Err(leads_out()),
                Component::ParentDir => depth -= 1,
                Component::Normal(_) => depth += 1,
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(leads_out()),
            }
        }
        tracing::debug!(package = self.name, link = %path.display(), "a link is left out");
        Ok(())
    }

    fn refuse(&self, problem: &str) -> PackageError {
        PackageError::UnsafeArchive {
            name: self.name.to_owned(),
            problem: problem.to_owned(),
        }
    }

    fn broken(&self, error: &io::Error) -> PackageError {
        self.refuse(&format!("it cannot be read: {error}"))
    }

    fn too_large(&self, limit: &str) -> PackageError {
        PackageError::TooLarge {
            what: format!("the package {}", self.name),
            limit: limit.to_owned(),
        }
    }
}

/// Returns whether a name starts with a drive, or names a stream of a file on Windows.
fn has_drive(text: &str) -> bool {
    cfg!(windows) && text.contains(':')
}

#[cfg(unix)]
fn creation(mode: u32) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;

    let is_program = mode & 0o111 != 0;
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(if is_program { 0o755 } else { 0o644 });
    options
}

#[cfg(not(unix))]
fn creation(_mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options
}

#[cfg(test)]
mod tests;
