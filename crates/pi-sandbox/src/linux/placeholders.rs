//! Empty directories instead of protected paths that do not exist: a mount needs a path to be mounted on. git ignores empty
//! directories, except where it expects a file, which has the contents then that mean nothing.
//!
//! They are created before a command and removed after it, by the last process that uses them: removing one would also remove
//! the mounts of others on it. Each process that uses one has a shared lock on it. One that is left over, because a command was killed, is
//! recognized by its mode and time and removed after the next command.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, Mode, OFlags, RenameFlags, flock};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::confine::SetupError;
use super::guards::Guard;
use crate::Policy;
use crate::git_dirs::{COMMON_DIR, DOT_GIT, WORKTREE_SETTINGS};

/// It is empty and stays so.
const DIRECTORY_MODE: u32 = 0o555;

const FILE_MODE: u32 = 0o444;

/// Files that git reads, with contents that change nothing.
const FILES: [(&str, &str); 2] = [(COMMON_DIR, ".\n"), (WORKTREE_SETTINGS, "")];

#[derive(Debug, Default)]
pub(super) struct Placeholders(Vec<Placeholder>);

#[derive(Debug)]
struct Placeholder {
    path: PathBuf,
    /// Has a shared lock.
    lock: File,
    is_file: bool,
}

impl Placeholders {
    /// Creates what is missing of the protected paths.
    pub(super) fn create(policy: &Policy) -> Result<Self, SetupError> {
        let mut created = Self::default();
        let is_writable =
            |path: &&PathBuf| policy.write.iter().any(|write| path.starts_with(write));
        for path in policy.protect.iter().filter(is_writable) {
            let Some(target) = Guard::of(path).target.filter(|path| is_writable(&path)) else {
                continue;
            };
            // It cannot be created without its parent: the first missing directory is protected.
            let Some(missing) = first_missing(&target) else {
                continue;
            };
            if created.0.iter().any(|known| known.path == missing) {
                continue;
            }
            let contents = contents_of_file(&missing);
            let step = format!("cannot protect {}", missing.display());
            match lock(&missing, contents) {
                Ok(Some(lock)) => created.0.push(Placeholder {
                    path: missing,
                    lock,
                    is_file: contents.is_some(),
                }),
                // Another process has created it; it is protected as what it is.
                Ok(None) => {}
                // The user cannot create it either.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                    ) => {}
                Err(error) => return Err(SetupError::at(step)(error)),
            }
        }
        Ok(created)
    }

    /// Those that are directories. Files are protected as what they are.
    pub(super) fn directories(&self) -> impl Iterator<Item = &PathBuf> {
        let directories = self.0.iter().filter(|placeholder| !placeholder.is_file);
        directories.map(|placeholder| &placeholder.path)
    }

    /// Keeps them; another process removes them.
    pub(super) fn release(self) {
        drop(self.0);
    }

    /// Removes those that no other command uses.
    pub(super) fn remove(self) {
        for Placeholder {
            path,
            lock,
            is_file,
        } in self.0
        {
            // In this namespace there is a mount on it.
            rustix::mount::unmount(&path, UnmountFlags::DETACH).ok();
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            if is_file {
                fs::remove_file(&path).ok();
            } else {
                fs::remove_dir(&path).ok();
            }
        }
    }
}

/// Returns the first component of a path that does not exist or is a placeholder.
fn first_missing(path: &Path) -> Option<PathBuf> {
    let mut parents: Vec<&Path> = path.ancestors().collect();
    parents.reverse();
    let missing = parents
        .into_iter()
        .find(|path| match path.symlink_metadata() {
            Ok(metadata) => is_placeholder(&metadata),
            Err(_) => true,
        });
    missing.map(Path::to_owned)
}

/// Returns the contents of a placeholder that must be a file; git expects it only in its own directories.
fn contents_of_file(path: &Path) -> Option<&'static str> {
    let (directory, name) = (path.parent()?, path.file_name()?);
    let is_git_dir = directory.ends_with(DOT_GIT) || directory.join("HEAD").exists();
    if !is_git_dir {
        return None;
    }
    let (_, contents) = FILES.iter().find(|(file, _)| name == *file)?;
    Some(contents)
}

fn is_placeholder(metadata: &fs::Metadata) -> bool {
    let mode = metadata.mode() & 0o7777;
    let is_ours = if metadata.is_dir() {
        mode == DIRECTORY_MODE
    } else {
        metadata.is_file() && mode == FILE_MODE
    };
    is_ours && metadata.mtime() == 0
}

/// How often a placeholder is created that another command removes before it is locked.
const MAX_ATTEMPTS: usize = 1000;

/// Creates a placeholder if there is none, and locks it: a file if there are contents. Returns `None` if the path is something
/// else.
fn lock(path: &Path, contents: Option<&str>) -> io::Result<Option<File>> {
    for _ in 0..MAX_ATTEMPTS {
        let created = match contents {
            Some(contents) => create_file(path, contents),
            None => create_directory(path),
        };
        match created {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let file = match open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => return Ok(None),
        };
        flock(&file, FlockOperation::LockShared)?;
        let locked = file.metadata()?;
        // Another command may have removed it before it was locked.
        match path.symlink_metadata() {
            Ok(current) if current.ino() == locked.ino() => {
                return Ok(is_placeholder(&locked).then_some(file));
            }
            _ => {}
        }
    }
    Err(io::Error::other("other commands remove it again and again"))
}

fn create_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(DIRECTORY_MODE).create(path)?;
    finish(&open(path)?, DIRECTORY_MODE)
}

/// Creates a file that is complete once it exists, where the file system can do that.
fn create_file(path: &Path, contents: &str) -> io::Result<()> {
    // Unique: a file that a killed process has left must not be in the way.
    let random = RandomState::new().hash_one(std::process::id());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{random:016x}"));
    let unfinished = path.with_file_name(name);
    let mut file = File::create_new(&unfinished)?;
    let placed = file
        .write_all(contents.as_bytes())
        .and_then(|()| finish(&file, FILE_MODE))
        .and_then(|()| {
            let cwd = rustix::fs::CWD;
            match rustix::fs::renameat_with(cwd, &unfinished, cwd, path, RenameFlags::NOREPLACE) {
                Err(Errno::INVAL) => fs::hard_link(&unfinished, path),
                renamed => Ok(renamed?),
            }
        });
    if placed.is_err() {
        fs::remove_file(&unfinished).ok();
    }
    placed
}

fn finish(file: &File, mode: u32) -> io::Result<()> {
    // The mask of this process may have removed bits.
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
    file.set_modified(SystemTime::UNIX_EPOCH)
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_killed_processes_are_not_in_the_way() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(COMMON_DIR);
        let left = format!("{COMMON_DIR}.{}", std::process::id());
        drop(File::create(directory.path().join(left)).unwrap());
        let locked = lock(&path, Some(".\n")).unwrap();
        assert!(locked.is_some());
        assert_eq!(fs::read_to_string(&path).unwrap(), ".\n");
    }
}
