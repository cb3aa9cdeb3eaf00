//! The lock that the TypeScript pi uses for shared files: `proper-lockfile`'s protocol.
//!
//! The lock of `auth.json` is the directory `auth.json.lock`: the process that creates it holds the lock, and
//! removing it releases it. The holder renews the directory's modification time; a directory that
//! has not been renewed for the stale time was left behind by a crash and may be taken over. A
//! holder that was suspended for longer than the stale time notices because the modification time is no longer
//! its own.
//!
//! The path is not resolved through links, because the TypeScript pi does not resolve it either:
//! both must agree on where the lock is.

mod brief;

pub(crate) use brief::BriefLock;

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::atomic_file;

/// Timeouts for acquiring, renewing and taking over a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockTiming {
    /// A lock that was not renewed for this long is abandoned.
    pub stale: Duration,
    /// How long to wait for the lock.
    pub patience: Duration,
    /// How often a held lock is renewed.
    pub renewal: Duration,
}

impl LockTiming {
    /// For credentials: the holder may be waiting for a network response.
    ///
    /// The timeout is slightly longer than the stale time, so a lock whose holder just crashed expires while we
    /// wait. Locks are renewed more often than a stale time of 30 seconds requires, because the
    /// TypeScript pi uses a stale time of 10 seconds when it reads credentials at startup.
    pub const CREDENTIALS: Self = Self {
        stale: Duration::from_secs(30),
        patience: Duration::from_secs(35),
        renewal: Duration::from_secs(4),
    };

    /// For settings and trust decisions: holders release quickly, and the user is waiting.
    pub const SETTINGS: Self = Self {
        stale: Duration::from_secs(10),
        patience: Duration::from_millis(200),
        renewal: Duration::from_secs(4),
    };
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process held the lock until the timeout.
    #[error("locked by another process")]
    Held,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A held lock, released on drop.
#[derive(Debug)]
pub struct LockDir {
    path: PathBuf,
    identity: SharedIdentity,
    _renewal: AbortOnDropHandle<()>,
}

type SharedIdentity = Arc<Mutex<Option<LockIdentity>>>;

/// Identifies our own lock. Inode numbers can be reused immediately, so the modification time is compared too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LockIdentity {
    modified: SystemTime,
    inode: u64,
}

impl LockDir {
    /// Acquires the lock of a file, waiting until the current holder releases it.
    pub async fn acquire(file: &Path, timing: LockTiming) -> Result<Self, LockError> {
        let path = lock_path(file)?;
        let deadline = Instant::now() + timing.patience;
        let mut backoff = Duration::from_millis(10);
        loop {
            if let Some(identity) = try_acquire(&path, timing.stale)? {
                return Ok(Self::start_renewal(path, identity, timing.renewal));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(LockError::Held);
            }
            let jitter = backoff.mul_f64(rand::random::<f64>());
            tokio::time::sleep((backoff + jitter).min(left)).await;
            backoff = (backoff * 2).min(Duration::from_secs(1));
        }
    }

    /// Returns whether we still hold the lock.
    pub fn is_held(&self) -> bool {
        let identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        identity.is_some() && *identity == read_identity(&self.path).ok()
    }

    fn start_renewal(path: PathBuf, identity: LockIdentity, renewal: Duration) -> Self {
        let shared: SharedIdentity = Arc::new(Mutex::new(Some(identity)));
        let task = tokio::spawn(renew_forever(path.clone(), Arc::clone(&shared), renewal));
        Self {
            path,
            identity: shared,
            _renewal: AbortOnDropHandle::new(task),
        }
    }
}

impl Drop for LockDir {
    fn drop(&mut self) {
        // Do not remove a lock that another process has taken over. Holding the mutex blocks the renewal task.
        let mut identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = identity.is_some() && *identity == read_identity(&self.path).ok();
        *identity = None;
        if ours && let Err(error) = fs::remove_dir(&self.path) {
            tracing::warn!(%error, lock = %self.path.display(), "cannot release lock");
        }
    }
}

fn lock_path(file: &Path) -> io::Result<PathBuf> {
    let mut path: OsString = std::path::absolute(file)?.into_os_string();
    path.push(".lock");
    Ok(path.into())
}

/// Acquires the lock if it is free or stale.
fn try_acquire(path: &Path, stale: Duration) -> io::Result<Option<LockIdentity>> {
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
    aside.push(format!(".{:016x}", rand::random::<u64>()));
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
    if let Err(error) = atomic_file::rename_without_replacing(&aside, path) {
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
fn touch(path: &Path) -> io::Result<LockIdentity> {
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
fn open_directory(path: &Path) -> io::Result<fs::File> {
    fs::File::open(path)
}

#[cfg(windows)]
fn open_directory(path: &Path) -> io::Result<fs::File> {
    use std::os::windows::fs::OpenOptionsExt;

    const FILE_WRITE_ATTRIBUTES: u32 = 0x100;
    const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
    fs::OpenOptions::new()
        .access_mode(FILE_WRITE_ATTRIBUTES)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)
}

fn read_identity(path: &Path) -> io::Result<LockIdentity> {
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

/// Renews the lock until it is released or lost.
async fn renew_forever(path: PathBuf, shared: SharedIdentity, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let mut identity = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if identity.is_none() {
            return;
        }
        let renewed = read_identity(&path).and_then(|found| {
            if Some(found) == *identity {
                touch(&path).map(Some)
            } else {
                Ok(None)
            }
        });
        match renewed {
            Ok(Some(renewed)) => *identity = Some(renewed),
            Ok(None) => *identity = None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => *identity = None,
            // Possibly transient: the next renewal is well before the lock becomes stale.
            Err(error) => tracing::warn!(%error, lock = %path.display(), "cannot renew lock"),
        }
    }
}

#[cfg(test)]
mod tests;
