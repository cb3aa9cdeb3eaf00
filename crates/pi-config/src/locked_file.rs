//! A JSON file of keyed entries that is shared with other programs.
//!
//! Reading needs no lock; entries are changed one at a time under the lock. Other entries are preserved, and a
//! malformed file is never overwritten.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_auth::AuthError;
use pi_fs::{
    LockAttempt, LockAttempts, LockDir, LockError, LockTiming, NewFileMode, atomic_file, private,
};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::json_text;
use crate::regular_file::{MAX_STORED_BYTES, read_bytes};

/// Acquires the lock of a file, waiting until the current holder releases it.
pub async fn acquire_lock(file: &Path, timing: LockTiming) -> Result<LockDir, LockError> {
    let mut attempts = LockAttempts::start(file, timing)?;
    loop {
        match attempts.attempt()? {
            LockAttempt::Acquired(lock) => return Ok(lock),
            LockAttempt::Retry(delay) => tokio::time::sleep(delay).await,
        }
    }
}

/// A handle to the file; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct LockedFile {
    path: Arc<Path>,
    timing: LockTiming,
    /// Serializes the tasks of this process, so only one polls for the lock.
    queue: Arc<Mutex<()>>,
}

/// An entry locked for writing.
#[derive(Debug)]
pub(crate) struct LockedEntry {
    file: LockedFile,
    key: String,
    lock: LockDir,
    seen: Option<Value>,
    _queue: OwnedMutexGuard<()>,
}

impl LockedFile {
    pub(crate) fn new(path: impl Into<PathBuf>, timing: LockTiming) -> Self {
        Self {
            path: path.into().into(),
            timing,
            queue: Arc::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the file (mode 0600) and its directory (mode 0700) if they do not exist.
    pub(crate) async fn create(&self) -> Result<(), AuthError> {
        let path = Arc::clone(&self.path);
        self.blocking("create", move || {
            if let Some(directory) = path.parent() {
                private::create_directory(directory)?;
            }
            match std::fs::metadata(&path) {
                Ok(_) => Ok(()),
                // For a dangling symlink, create the link's target.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if path.is_symlink() {
                        atomic_file::write(&path, b"{}", NewFileMode::Private)
                    } else {
                        atomic_file::create(&path, b"{}", NewFileMode::Private).map(drop)
                    }
                }
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Reads all entries; none if the file does not exist.
    ///
    /// The TypeScript pi writes in place, so we may see a partially written file, or an empty one. Such a file is read
    /// again under the lock before it is reported.
    pub(crate) async fn entries(&self) -> Result<Map<String, Value>, AuthError> {
        let Some(text) = self.read_text().await? else {
            return Ok(Map::new());
        };
        let parsed = json_text::parse_object(&self.path, &text);
        if parsed.is_ok() && !text.is_empty() {
            return parsed;
        }
        let _queue = Arc::clone(&self.queue).lock_owned().await;
        // A read-only directory cannot be locked; report the first result then.
        let Ok(_lock) = acquire_lock(&self.path, self.timing).await else {
            return parsed;
        };
        Ok(self.read().await?.unwrap_or_default())
    }

    /// Locks an entry for writing.
    pub(crate) async fn lock(&self, key: &str) -> Result<LockedEntry, AuthError> {
        let queue = Arc::clone(&self.queue).lock_owned().await;
        self.create().await?;
        let lock = self.acquire().await?;
        let seen = self.read().await?.unwrap_or_default().shift_remove(key);
        Ok(LockedEntry {
            file: self.clone(),
            key: key.to_owned(),
            lock,
            seen,
            _queue: queue,
        })
    }

    async fn acquire(&self) -> Result<LockDir, AuthError> {
        acquire_lock(&self.path, self.timing)
            .await
            .map_err(|error| match error {
                LockError::Held => AuthError::Locked {
                    file: self.path.to_path_buf(),
                },
                LockError::Io(error) => AuthError::file("lock", &*self.path, error),
            })
    }

    async fn read(&self) -> Result<Option<Map<String, Value>>, AuthError> {
        let text = self.read_text().await?;
        text.map(|text| json_text::parse_object(&self.path, &text))
            .transpose()
    }

    async fn read_text(&self) -> Result<Option<String>, AuthError> {
        let path = Arc::clone(&self.path);
        self.blocking("read", move || {
            let bytes = read_bytes(&path, MAX_STORED_BYTES)?;
            let text = bytes.map(String::from_utf8).transpose();
            text.map_err(io::Error::other)
        })
        .await
    }

    async fn write(&self, entries: &Map<String, Value>) -> Result<(), AuthError> {
        let text = json_text::to_text(entries)
            .map_err(|error| AuthError::file("write", &*self.path, io::Error::other(error)))?;
        let path = Arc::clone(&self.path);
        self.blocking("write", move || {
            atomic_file::write(&path, &text, NewFileMode::AlwaysPrivate)
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, AuthError> {
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(|error| AuthError::file(action, &*self.path, error))
    }
}

impl LockedEntry {
    /// Returns the entry as last read.
    pub(crate) fn value(&self) -> Option<&Value> {
        self.seen.as_ref()
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Writes the entry, or removes it if `value` is `None`.
    ///
    /// A lock lost while the machine was suspended is acquired again. Returns [`AuthError::Conflict`] if the entry
    /// has changed since it was last read.
    pub(crate) async fn replace(&mut self, value: Option<Value>) -> Result<(), AuthError> {
        if !self.lock.is_held() {
            tracing::warn!(file = %self.path().display(), "lock lost; acquiring it again");
            self.lock = self.file.acquire().await?;
        }
        let mut entries = self.file.read().await?.unwrap_or_default();
        if entries.get(&self.key) != self.seen.as_ref() {
            return Err(AuthError::Conflict {
                file: self.path().to_owned(),
                provider: self.key.clone(),
            });
        }
        match value.clone() {
            Some(value) => entries.insert(self.key.clone(), value),
            None => entries.shift_remove(&self.key),
        };
        self.file.write(&entries).await?;
        self.seen = value;
        Ok(())
    }
}
