//! The lock that the TypeScript pi takes on shared files, `proper-lockfile`'s.
//!
//! The lock of `auth.json` is the directory `auth.json.lock`: whoever creates it holds the lock,
//! removing it releases it. The holder renews the directory's modification time; a directory that
//! has not been renewed for the stale time was left behind by a crash and may be taken over. A
//! holder that slept through its stale time finds out by the time it no longer recognizes.
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

/// How long to wait for a lock and when to believe that its holder is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockTiming {
    /// A lock that was not renewed for this long was left behind.
    pub stale: Duration,
    /// How long to wait for the lock.
    pub patience: Duration,
    /// How often our own lock is renewed.
    pub renewal: Duration,
}

impl LockTiming {
    /// For credentials: a holder may be waiting for a service.
    ///
    /// We wait a little longer than the stale time, so that a lock somebody just died with is
    /// outlived. We renew more often than a stale time of 30 seconds asks for, because the
    /// TypeScript pi applies one of 10 seconds when it reads credentials at its start.
    pub const CREDENTIALS: Self = Self {
        stale: Duration::from_secs(30),
        patience: Duration::from_secs(35),
        renewal: Duration::from_secs(4),
    };

    /// For settings and trust: a holder is done in a moment, and the user is waiting.
    pub const SETTINGS: Self = Self {
        stale: Duration::from_secs(10),
        patience: Duration::from_millis(200),
        renewal: Duration::from_secs(4),
    };
}

/// Why a lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else holds it and does not let go.
    #[error("locked by another program")]
    Held,
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A lock we hold. Dropping it releases it.
#[derive(Debug)]
pub struct LockDir {
    path: PathBuf,
    identity: SharedIdentity,
    _renewal: AbortOnDropHandle<()>,
}

type SharedIdentity = Arc<Mutex<Option<Identity>>>;

/// How we recognize our own lock: inode numbers are reused at once, so the time counts too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    modified: SystemTime,
    inode: u64,
}

impl LockDir {
    /// Takes the lock of a file, waiting for whoever holds it.
    pub async fn acquire(file: &Path, timing: LockTiming) -> Result<Self, LockError> {
        let path = lock_path(file)?;
        let deadline = Instant::now() + timing.patience;
        let mut backoff = Duration::from_millis(10);
        loop {
            if let Some(identity) = try_take(&path, timing.stale)? {
                return Ok(Self::hold(path, identity, timing.renewal));
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

    /// Returns whether the lock is still ours.
    pub fn is_held(&self) -> bool {
        let identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        identity.is_some() && *identity == read_identity(&self.path).ok()
    }

    fn hold(path: PathBuf, identity: Identity, renewal: Duration) -> Self {
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
        // Whoever took the lock over keeps it. Holding the mutex keeps the renewal out.
        let mut identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = identity.is_some() && *identity == read_identity(&self.path).ok();
        *identity = None;
        if ours && let Err(error) = fs::remove_dir(&self.path) {
            tracing::warn!(%error, lock = %self.path.display(), "a lock could not be released");
        }
    }
}

fn lock_path(file: &Path) -> io::Result<PathBuf> {
    let mut path: OsString = std::path::absolute(file)?.into_os_string();
    path.push(".lock");
    Ok(path.into())
}

/// Takes the lock if it is free or left behind.
fn try_take(path: &Path, stale: Duration) -> io::Result<Option<Identity>> {
    match create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        taken => return taken.map(Some),
    }
    let held = match read_identity(path) {
        Ok(held) => held,
        // Released meanwhile: the next attempt takes it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !is_stale(held, stale) {
        return Ok(None);
    }
    take_over(path, stale)
}

/// Takes over a lock that was left behind, unless somebody else just did.
///
/// Our processes do this one at a time and judge again once it is their turn, so that none of them
/// moves the fresh lock of a faster one, which could be released while it is out of place.
fn take_over(path: &Path, stale: Duration) -> io::Result<Option<Identity>> {
    let Some(_turn) = turn_to_take_over(path)? else {
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

/// Locks the directory of the lock for the moment of a take-over. The kernel's lock leaves nothing
/// behind in a crash. Where a file system has none, the take-over goes on without it.
fn turn_to_take_over(path: &Path) -> io::Result<Option<fs::File>> {
    let dir = open_directory(path.parent().unwrap_or(path))?;
    match dir.try_lock() {
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(Some(dir)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
    }
}

/// Returns whether a lock was left behind. One from the future was, too: its holder would have renewed it
/// since the clock was put back, and waiting for that time to come could take years.
fn is_stale(held: Identity, stale: Duration) -> bool {
    let distance = SystemTime::now()
        .duration_since(held.modified)
        .unwrap_or_else(|ahead| ahead.duration());
    distance > stale
}

/// Removes a lock that was left behind; returns whether that was the one we judged.
///
/// The TypeScript pi may judge the same lock. Removing by name could hit the fresh lock of the
/// faster one, so the directory is moved aside first: a move hits one directory, which we can look
/// at.
fn remove_stale(path: &Path, judged: Identity) -> io::Result<bool> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{:016x}", rand::random::<u64>()));
    let aside = PathBuf::from(aside);
    match fs::rename(path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    if read_identity(&aside)? == judged {
        fs::remove_dir(&aside)?;
        return Ok(true);
    }
    // The faster one's lock. If it cannot be put back, somebody holds a newer one, and the faster
    // one notices before it writes.
    if let Err(error) = atomic_file::rename_without_replacing(&aside, path) {
        tracing::warn!(%error, lock = %path.display(), "a lock was lost to another program");
        fs::remove_dir(&aside)?;
    }
    Ok(false)
}

fn create(path: &Path) -> io::Result<Identity> {
    fs::create_dir(path)?;
    touch(path).inspect_err(|_| {
        // Without a time of our own we could not recognize it.
        if let Err(error) = fs::remove_dir(path) {
            tracing::warn!(%error, lock = %path.display(), "a lock could not be released");
        }
    })
}

/// Sets the time to now, in the milliseconds JavaScript can read back, and returns what the file
/// system made of it.
fn touch(path: &Path) -> io::Result<Identity> {
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

fn read_identity(path: &Path) -> io::Result<Identity> {
    let metadata = fs::symlink_metadata(path)?;
    Ok(Identity {
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

/// Keeps the lock fresh until it is released or lost.
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
            // A passing fault; the next round tries again, well before the lock is stale.
            Err(error) => tracing::warn!(%error, lock = %path.display(), "a lock was not renewed"),
        }
    }
}

#[cfg(test)]
mod tests;
