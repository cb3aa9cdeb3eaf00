//! Unpacks untrusted package archives.
//!
//! An archive with entries or links that escape the directory, or with devices, is rejected; a link
//! that stays inside is skipped, as in npm. Limits apply to the data actually
//! read, not to the sizes that the archive claims.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};

use crate::error::PackageError;

/// Limits for the contents of an archive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnpackLimits {
    /// Total size of all files.
    pub(crate) bytes: u64,
    pub(crate) entries: usize,
}

impl UnpackLimits {
    /// Larger than any real package, but small enough not to fill a disk.
    pub(crate) const DEFAULT: Self = Self {
        bytes: 1024 * 1024 * 1024,
        entries: 100_000,
    };
}

const MAX_DEPTH: usize = 100;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UnpackStats {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

/// Unpacks an archive into a directory that does not exist yet. On failure, the directory may be incomplete;
/// callers use a staging directory.
pub(crate) fn unpack(
    name: &str,
    archive: &mut File,
    dir: &Path,
    limits: UnpackLimits,
) -> Result<UnpackStats, PackageError> {
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
    // Headers count too, so an archive of only headers is limited as well.
    let overhead = u64::try_from(limits.entries)
        .unwrap_or(u64::MAX)
        .saturating_mul(4096);
    let bounded = content.take(limits.bytes.saturating_add(overhead));
    let mut unpacker = Unpacker {
        name,
        dir,
        limits,
        done: UnpackStats::default(),
        entries: 0,
    };
    let mut archive = Archive::new(bounded);
    let entries = archive.entries().map_err(|error| unpacker.broken(&error))?;
    for entry in entries {
        let entry = entry.map_err(|error| unpacker.broken(&error))?;
        unpacker.take(entry)?;
    }
    if unpacker.done.files == 0 {
        return Err(unpacker.reject("it contains no files"));
    }
    Ok(unpacker.done)
}

struct Unpacker<'a> {
    name: &'a str,
    dir: &'a Path,
    limits: UnpackLimits,
    done: UnpackStats,
    entries: usize,
}

impl Unpacker<'_> {
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
            _ => Err(self.reject(&format!("{} is not a regular file", path.display()))),
        }
    }

    /// Returns the path of an entry relative to the package, without the archive's top-level directory.
    fn inside(&self, bytes: &[u8]) -> Result<Option<PathBuf>, PackageError> {
        let text = std::str::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains(['\0', '\\']) && !has_drive(text))
            .ok_or_else(|| {
                self.reject(&format!(
                    "invalid name {:?}",
                    String::from_utf8_lossy(bytes)
                ))
            })?;
        let escapes = || self.reject(&format!("{text:?} is outside the package"));
        let mut inside = PathBuf::new();
        for (depth, part) in Path::new(text).components().enumerate() {
            match part {
                Component::Normal(_) if depth > MAX_DEPTH => return Err(escapes()),
                Component::Normal(name) => inside.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(escapes());
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

    /// Rejects a link that points out of the package; other links are skipped.
    fn check_link(&self, path: &Path, kind: EntryType, target: &[u8]) -> Result<(), PackageError> {
        let leads_out = || self.reject(&format!("{} links out of the package", path.display()));
        let target = std::str::from_utf8(target).map_err(|_invalid| leads_out())?;
        if target.contains('\\') || has_drive(target) || Path::new(target).is_absolute() {
            return Err(leads_out());
        }
        // A symlink is relative to its own directory, a hard link to the top of the archive.
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
        tracing::debug!(package = self.name, link = %path.display(), "skipped link");
        Ok(())
    }

    fn reject(&self, problem: &str) -> PackageError {
        PackageError::UnsafeArchive {
            name: self.name.to_owned(),
            problem: problem.to_owned(),
        }
    }

    fn broken(&self, error: &io::Error) -> PackageError {
        self.reject(&format!("cannot read archive: {error}"))
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
