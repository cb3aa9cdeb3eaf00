//! Atomic file replacement: readers see either the old or the new content, even after a crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::temporary_file::{TemporaryFile, TemporaryNames, creation, remove_abandoned};

/// Permissions of a newly created file. An existing file keeps its mode, unless noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFileMode {
    /// Mode 0600 from the start.
    Private,
    /// Mode 0600 from the start; an existing file loses the access of other users.
    AlwaysPrivate,
    /// The user's umask applies.
    Default,
}

/// Replaces the content of a file durably; see [`FileReplacement`].
pub fn write(path: &Path, content: &[u8], new_file: NewFileMode) -> io::Result<()> {
    write_with(path, new_file, |file| file.write_all(content))
}

/// Like [`write()`], but streams the content instead of taking it from memory.
///
/// If `fill` fails, the old content is kept. A path that is not a regular file, such as a terminal or a pipe,
/// is written to directly.
pub fn write_with<E: From<io::Error>>(
    path: &Path,
    new_file: NewFileMode,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    FileReplacement::durable(new_file).run(path, fill, |_| Ok(()))
}

/// Creates a file with this content unless it exists; returns whether it was created.
pub fn create(path: &Path, content: &[u8], new_file: NewFileMode) -> io::Result<bool> {
    match creation(new_file).open(path) {
        Ok(mut file) => {
            file.write_all(content)?;
            file.sync_all()?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// What a crash may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Content and rename are synced, and temporary files of killed writers are removed first.
    Durable,
    /// Neither is done: for entries of a cache, which are verified when read and evicted with their leftovers.
    Cache,
}

/// How a file is replaced.
///
/// The content is written to a temporary file in the same directory, synced and renamed. A symbolic link is
/// preserved: its target is replaced. Mode and, if permitted, owner of an existing file are kept.
#[derive(Debug, Clone, Copy)]
pub struct FileReplacement {
    pub new_file: NewFileMode,
    pub names: TemporaryNames,
    pub durability: Durability,
}

impl FileReplacement {
    pub const fn durable(new_file: NewFileMode) -> Self {
        Self {
            new_file,
            names: TemporaryNames::OfTarget,
            durability: Durability::Durable,
        }
    }

    /// Replaces a file with what `fill` writes. `confirm` is called with the complete and synced file before the
    /// rename. If either fails, the old file stays.
    pub fn run<E: From<io::Error>>(
        self,
        path: &Path,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
        confirm: impl FnOnce(&File) -> Result<(), E>,
    ) -> Result<(), E> {
        let existing = match fs::metadata(path) {
            Ok(metadata) if is_stream(&metadata) => return fill_stream(path, fill),
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let target = follow_links(path)?;
        let is_durable = self.durability == Durability::Durable;
        if is_durable {
            remove_abandoned(&target, self.names);
        }
        let (unwritten, temporary) = TemporaryFile::create(&target, self.names, self.new_file)?;
        let mut buffered = BufWriter::new(unwritten);
        fill(&mut buffered)?;
        let written = buffered
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        if let Some(existing) = &existing {
            keep_attributes(&written, existing, self.new_file)?;
        }
        if is_durable {
            written.sync_all()?;
        }
        confirm(&written)?;
        drop(written);
        match fs::rename(temporary.path(), &target) {
            Ok(()) => temporary.forget(),
            // A file that is itself a mount point, as in containers, cannot be replaced.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                return Ok(overwrite(&target, &temporary)?);
            }
            Err(error) => return Err(error.into()),
        }
        if is_durable {
            sync_directory(&parent(&target));
        }
        Ok(())
    }
}

/// Returns whether the file has no content to replace: a terminal, a pipe or a socket.
fn is_stream(metadata: &fs::Metadata) -> bool {
    !metadata.is_file() && !metadata.is_dir()
}

fn fill_stream<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut stream = BufWriter::new(OpenOptions::new().write(true).open(path)?);
    fill(&mut stream)?;
    Ok(stream.flush()?)
}

/// Copies the mode and, if permitted, the owner of the existing file.
#[cfg(unix)]
fn keep_attributes(file: &File, existing: &fs::Metadata, mode: NewFileMode) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (existing.uid(), existing.gid())
        && let Err(error) =
            std::os::unix::fs::fchown(file, Some(existing.uid()), Some(existing.gid()))
    {
        tracing::debug!(%error, "cannot keep the owner of a replaced file");
    }
    let mut permissions = existing.permissions();
    if mode == NewFileMode::AlwaysPrivate {
        permissions.set_mode(permissions.mode() & 0o700);
    }
    file.set_permissions(permissions)
}

#[cfg(not(unix))]
fn keep_attributes(file: &File, existing: &fs::Metadata, _mode: NewFileMode) -> io::Result<()> {
    file.set_permissions(existing.permissions())
}

/// Last resort, not atomic: truncates the target and copies the content.
fn overwrite(target: &Path, temporary: &TemporaryFile) -> io::Result<()> {
    let mut content = File::open(temporary.path())?;
    let mut file = OpenOptions::new().write(true).truncate(true).open(target)?;
    io::copy(&mut content, &mut file)?;
    file.sync_all()
}

/// Resolves symbolic links; the target need not exist.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    // The kernel's limit.
    for _ in 0..40 {
        match fs::read_link(&target) {
            Ok(link) => target = parent(&target).join(link),
            Err(_not_a_link) => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Returns the directory of a file.
pub(crate) fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Makes a rename durable across power loss where directories can be synced. A failure is only logged: the
/// rename itself has already succeeded.
fn sync_directory(directory: &Path) {
    if cfg!(unix)
        && let Err(error) = File::open(directory).and_then(|directory| directory.sync_all())
    {
        tracing::debug!(path = %directory.display(), %error, "cannot sync directory");
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use pretty_assertions::assert_eq;
    use tempfile::TempDir;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn new_file_is_private_and_leaves_no_temporary_files() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("auth.json");
        write(&path, b"{}", NewFileMode::Private).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::read(&path).unwrap(), b"{}");
        assert_eq!(names(home.path()), ["auth.json"]);
    }

    #[test]
    fn existing_file_keeps_its_mode_and_is_replaced() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("auth.json");
        assert!(create(&path, b"long old content", NewFileMode::Private).unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        write(&path, b"new", NewFileMode::Private).unwrap();
        assert_eq!(mode(&path), 0o640);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_ne!(fs::metadata(&path).unwrap().ino(), before);
        assert!(!create(&path, b"other", NewFileMode::Private).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_secret_file_loses_the_access_of_other_users() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("auth.json");
        write(&path, b"old", NewFileMode::Default).unwrap();
        for (before, after) in [(0o644, 0o600), (0o666, 0o600), (0o400, 0o400)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
            write(&path, b"new", NewFileMode::AlwaysPrivate).unwrap();
            assert_eq!(mode(&path), after);
        }
    }

    #[test]
    fn links_are_followed_even_when_they_dangle() {
        let home = TempDir::new().unwrap();
        let real = home.path().join("dotfiles");
        fs::create_dir(&real).unwrap();
        let link = home.path().join("auth.json");
        symlink("dotfiles/real.json", &link).unwrap();
        write(&link, b"1", NewFileMode::Private).unwrap();
        write(&link, b"2", NewFileMode::Private).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(real.join("real.json")).unwrap(), b"2");
        assert_eq!(mode(&real.join("real.json")), 0o600);
    }

    #[test]
    fn a_failed_write_leaves_the_old_content_and_no_debris() {
        let home = TempDir::new().unwrap();
        let target = home.path().join("is-a-directory");
        fs::create_dir(&target).unwrap();
        create(&target.join("child"), b"x", NewFileMode::Default).unwrap();
        assert!(write(&target, b"new", NewFileMode::Private).is_err());
        assert_eq!(names(home.path()), ["is-a-directory"]);
    }

    #[test]
    fn content_that_cannot_be_finished_leaves_the_old() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("page.html");
        write(&path, b"old", NewFileMode::Default).unwrap();
        let filled = write_with(&path, NewFileMode::Default, |file| {
            file.write_all(b"half of it")?;
            Err(io::Error::other("the source is gone"))
        });
        assert_eq!(filled.unwrap_err().to_string(), "the source is gone");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(home.path()), ["page.html"]);
    }

    #[test]
    fn temporary_files_of_killed_writers_are_removed() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("auth.json");
        let abandon = || {
            let name = ".auth.json.0123456789abcdef.tmp";
            let file = File::create(home.path().join(name)).unwrap();
            let then = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
            file.set_modified(then).unwrap();
        };
        abandon();
        write(&path, b"{}", NewFileMode::Private).unwrap();
        assert_eq!(names(home.path()), ["auth.json"]);
        abandon();
        let cache = FileReplacement {
            durability: Durability::Cache,
            ..FileReplacement::durable(NewFileMode::Default)
        };
        cache
            .run(&path, |file| file.write_all(b"1"), |_| Ok(()))
            .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1");
        assert_eq!(names(home.path()).len(), 2, "a cache is not searched");
    }

    #[test]
    fn content_that_is_not_confirmed_leaves_the_old() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("s.jsonl");
        write(&path, b"old", NewFileMode::Private).unwrap();
        let replacement = FileReplacement {
            names: TemporaryNames::Prefix(".pi-session-"),
            ..FileReplacement::durable(NewFileMode::Private)
        };
        let refused = replacement.run(
            &path,
            |file| file.write_all(b"new"),
            |file| {
                assert_eq!(file.metadata().unwrap().len(), 3, "the content is complete");
                Err(io::Error::other("changed meanwhile"))
            },
        );
        assert_eq!(refused.unwrap_err().to_string(), "changed meanwhile");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(home.path()), ["s.jsonl"]);
    }

    #[test]
    fn stream_is_written_to_and_not_replaced() {
        write(Path::new("/dev/null"), b"gone", NewFileMode::Default).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
