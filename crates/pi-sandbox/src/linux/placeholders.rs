//! Empty directories instead of protected paths that do not exist: a mount needs a path to be mounted on.
//!
//! They are created before a command and removed after it, by the last process that uses them: removing one would also remove
//! the mounts of others on it. Who uses one has a shared lock on it. git ignores empty directories. One that is left over,
//! because a command was killed, is recognized by its mode and time and removed after the next command.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::mount::UnmountFlags;

use super::confine::SetupError;
use crate::Policy;

/// It is empty and stays so.
const MODE: u32 = 0o555;

#[derive(Debug, Default)]
pub(super) struct Placeholders(Vec<(PathBuf, File)>);

impl Placeholders {
    /// Creates what is missing of the protected paths.
    pub(super) fn create(policy: &Policy) -> Result<Self, SetupError> {
        let mut created = Self::default();
        let is_writable =
            |path: &&PathBuf| policy.write.iter().any(|write| path.starts_with(write));
        for path in policy.protect.iter().filter(is_writable) {
            // It cannot be created without its parent: the first missing directory is protected.
            let Some(missing) = first_missing(path) else {
                continue;
            };
            if created.contains(&missing) {
                continue;
            }
            let step = format!("cannot protect {}", missing.display());
            match lock(&missing) {
                Ok(Some(file)) => created.0.push((missing, file)),
                // Someone else has created it; it is protected as what it is.
                Ok(None) => {}
                // Who starts the command cannot create it either.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(SetupError::at(step)(error)),
            }
        }
        Ok(created)
    }

    pub(super) fn contains(&self, path: &Path) -> bool {
        self.paths().any(|known| known == path)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter().map(|(path, _)| path)
    }

    /// Keeps them; another process removes them.
    pub(super) fn release(self) {
        drop(self.0);
    }

    /// Removes those that no other command uses.
    pub(super) fn remove(self) {
        for (path, file) in self.0 {
            // In this namespace there is a mount on it.
            rustix::mount::unmount(&path, UnmountFlags::DETACH).ok();
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
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

fn is_placeholder(metadata: &fs::Metadata) -> bool {
    metadata.is_dir() && metadata.mode() & 0o7777 == MODE && metadata.mtime() == 0
}

/// Creates a placeholder if there is none, and locks it. Returns `None` if the path is something else.
fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        match fs::DirBuilder::new().mode(MODE).create(path) {
            Ok(()) => {
                let file = open(path)?;
                // The mask of this process may have removed bits.
                rustix::fs::fchmod(&file, Mode::from_raw_mode(MODE))?;
                file.set_modified(SystemTime::UNIX_EPOCH)?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
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
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}
