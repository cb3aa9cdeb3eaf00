//! Lock directories on disk: creating, recognizing and taking them over.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::random::random_u64;
use crate::rename_without_replacing;

/// Identifies our own lock. Inode numbers can be reused immediately, so the modification time is compared too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LockIdentity {
    modified: SystemTime,
    inode: u64,
}

/// Returns the path of a file's lock.
pub(super) fn lock_path(file: &Path) -> io::Result<PathBuf> {
    let mut path: OsString = std::path::absolute(file)?.into_os_string();
    path.push(".lock");
    Ok(path.into())
}

/// Acquires the lock if it is free or stale.
pub(super) fn try_acquire(path: &Path, stale: Duration) -> io::Result<Option<LockIdentity>> {
    match create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        taken => return taken.map(Some),
    }
    let held = match read_identity(path) {
        Ok(held) => held,
        // Released in the meantime: the next attempt gets it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !is_stale(held, stale) {
        return Ok(None);
    }
    take_over(path, stale)
}

/// Takes over a stale lock, unless another process just did.
///
/// Our processes do this one at a time and check again once it is their turn. Otherwise one could move the
/// fresh lock of a faster process, which might be released while it is moved aside.
fn take_over(path: &Path, stale: Duration) -> io::Result<Option<LockIdentity>> {
    let Some(_takeover_lock) = lock_takeover(path)? else {
        return Ok(None);
    };
    let held = match read_identity(path) {
        Ok(held) if is_stale(held, stale) => held,
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !remove_stale(path, held)? {
        return Ok(None);
    }
    match create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        taken => taken.map(Some),
    }
}

/// Locks the parent directory during a takeover. A kernel lock leaves nothing behind after a crash. On a file
/// system without locks, the takeover proceeds unlocked.
fn lock_takeover(path: &Path) -> io::Result<Option<fs::File>> {
    let dir = open_directory(path.parent().unwrap_or(path))?;
    match dir.try_lock() {
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(Some(dir)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
    }
}

/// Returns whether a lock is abandoned. A modification time in the future counts as abandoned too: a live
/// holder would have renewed it since the clock was set back, and waiting for that time could take years.
fn is_stale(held: LockIdentity, stale: Duration) -> bool {
    let distance = SystemTime::now()
        .duration_since(held.modified)
        .unwrap_or_else(|ahead| ahead.duration());
    distance > stale
}

/// Removes a stale lock; returns whether it was the one we checked.
///
/// The TypeScript pi may find the same lock stale. Removing by name could hit the fresh lock of the
/// faster process, so the directory is moved aside first and then verified.
fn remove_stale(path: &Path, checked: LockIdentity) -> io::Result<bool> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{:016x}", random_u64()?));
    let aside = PathBuf::from(aside);
    match fs::rename(path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    if read_identity(&aside)? == checked {
        fs::remove_dir(&aside)?;
        return Ok(true);
    }
    // It is the faster process's lock. If it cannot be moved back, a newer lock exists, and the faster process
    // notices the loss before it writes.
    if let Err(error) = rename_without_replacing(&aside, path) {
        tracing::warn!(%error, lock = %path.display(), "lock lost to another process");
        fs::remove_dir(&aside)?;
    }
    Ok(false)
}

fn create(path: &Path) -> io::Result<LockIdentity> {
    fs::create_dir(path)?;
    touch(path).inspect_err(|_| {
        // Without a modification time of ours we could not recognize the lock.
        if let Err(error) = fs::remove_dir(path) {
            tracing::warn!(%error, lock = %path.display(), "cannot release lock");
        }
    })
}

/// Sets the modification time to now, in whole milliseconds because JavaScript reads no finer times, and
/// returns the identity as stored by the file system.
pub(super) fn touch(path: &Path) -> io::Result<LockIdentity> {
    let now = SystemTime::now();
    let since_epoch = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let milliseconds = u64::try_from(since_epoch.as_millis()).unwrap_or_default();
    open_directory(path)?
        .set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds))?;
    read_identity(path)
}

#[cfg(not(windows))]
pub(super) fn open_directory(path: &Path) -> io::Result<fs::File> {
    fs::File::open(path)
}

#[cfg(windows)]
pub(super) fn open_directory(path: &Path) -> io::Result<fs::File> {
    use std::os::windows::fs::OpenOptionsExt;

    const FILE_WRITE_ATTRIBUTES: u32 = 0x100;
    const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
    fs::OpenOptions::new()
        .access_mode(FILE_WRITE_ATTRIBUTES)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)
}

pub(super) fn read_identity(path: &Path) -> io::Result<LockIdentity> {
    let metadata = fs::symlink_metadata(path)?;
    Ok(LockIdentity {
        modified: metadata.modified()?,
        inode: inode(&metadata),
    })
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> u64 {
    0
}
