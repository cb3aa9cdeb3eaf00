//! Atomic file replacement: readers see either the old or the new content, even after a crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

mod leftovers;

/// Permissions of a newly created file. An existing file keeps its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFileMode {
    /// Mode 0600 from the start.
    Private,
    /// The user's umask applies.
    Default,
}

/// Replaces the content of a file.
///
/// The content is written to a temporary file in the same directory, synced and renamed. A symbolic link is
/// preserved: its target is replaced. Temporary files left behind by killed writers are removed.
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
    let existing = match fs::metadata(path) {
        Ok(metadata) if is_stream(&metadata) => return fill_stream(path, fill),
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let target = follow_links(path)?;
    let directory = parent(&target);
    let (unwritten, temporary) = create_temporary(&target, &directory, new_file)?;
    let mut buffered = BufWriter::new(unwritten);
    fill(&mut buffered)?;
    let written = buffered
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    if let Some(existing) = &existing {
        keep_attributes(&written, existing)?;
    }
    written.sync_all()?;
    drop(written);
    match fs::rename(&temporary.0, &target) {
        Ok(()) => temporary.keep(),
        // A file that is itself a mount point, as in containers, cannot be replaced.
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
            return Ok(overwrite(&target, &temporary)?);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(sync_directory(&directory)?)
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

/// Renames a file or directory; fails if `to` exists.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags};
    use rustix::io::Errno;

    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system does not support the flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => rename_if_free(from, to),
        moved => Ok(moved?),
    }
}

/// Renames a file or directory; fails if `to` exists.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    rename_if_free(from, to)
}

/// Fallback with a race: another process may create `to` between the check and the rename.
fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(from, to),
        Err(error) => Err(error),
    }
}

/// Creates a directory and its parents with mode 0700; an existing directory is not changed.
pub fn create_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// A temporary file, removed on drop unless it was renamed.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty()
            && let Err(error) = fs::remove_file(&self.0)
        {
            tracing::debug!(%error, file = %self.0.display(), "cannot remove temporary file");
        }
    }
}

fn create_temporary(
    target: &Path,
    directory: &Path,
    new_file: NewFileMode,
) -> io::Result<(File, TemporaryFile)> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    leftovers::remove_abandoned(name, directory);
    loop {
        let path = directory.join(leftovers::temporary_name(name));
        match creation(new_file).open(&path) {
            Ok(file) => {
                leftovers::lock(&file);
                return Ok((file, TemporaryFile(path)));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn creation(new_file: NewFileMode) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if new_file == NewFileMode::Private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = new_file;
    options
}

/// Copies the mode and, if permitted, the owner of the existing file.
#[cfg(unix)]
fn keep_attributes(file: &File, existing: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;

    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (existing.uid(), existing.gid())
        && let Err(error) =
            std::os::unix::fs::fchown(file, Some(existing.uid()), Some(existing.gid()))
    {
        tracing::debug!(%error, "cannot keep the owner of a replaced file");
    }
    file.set_permissions(existing.permissions())
}

#[cfg(not(unix))]
fn keep_attributes(file: &File, existing: &fs::Metadata) -> io::Result<()> {
    file.set_permissions(existing.permissions())
}

/// Last resort, not atomic: truncates the target and copies the content.
fn overwrite(target: &Path, temporary: &TemporaryFile) -> io::Result<()> {
    let mut content = File::open(&temporary.0)?;
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

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Makes a rename durable.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
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
        let put = |name: &str, age: u64| {
            let file = File::create(home.path().join(name)).unwrap();
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
            file.set_modified(then).unwrap();
            file
        };
        drop(put(".auth.json.0123456789abcdef.tmp", 60));
        // Another file's, not a temporary name, too young, and held by a live writer.
        drop(put(".settings.json.0123456789abcdef.tmp", 60));
        drop(put(".auth.json.notes.tmp", 60));
        drop(put(".auth.json.0000000000000001.tmp", 0));
        let held = put(".auth.json.0000000000000002.tmp", 60);
        held.lock().unwrap();
        write(&path, b"{}", NewFileMode::Private).unwrap();
        assert_eq!(
            names(home.path()),
            [
                ".auth.json.0000000000000001.tmp",
                ".auth.json.0000000000000002.tmp",
                ".auth.json.notes.tmp",
                ".settings.json.0123456789abcdef.tmp",
                "auth.json"
            ]
        );
        drop(held);
        write(&path, b"{}", NewFileMode::Private).unwrap();
        assert!(!names(home.path()).contains(&".auth.json.0000000000000002.tmp".to_owned()));
    }

    #[test]
    fn stream_is_written_to_and_not_replaced() {
        write(Path::new("/dev/null"), b"gone", NewFileMode::Default).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn created_directories_are_private() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("a/b");
        create_private_directory(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        create_private_directory(&path).unwrap();
    }
}
