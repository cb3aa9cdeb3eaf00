//! A JSON object in a file that is shared with other programs; blocking, needs no async runtime.
//!
//! A malformed file is never overwritten. Callers interpret the keys.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_fs::{LockDir, LockError, LockTiming, NewFileMode, atomic_file, private};
use serde_json::{Map, Value};

use crate::json_text::{self, NotAnObject};
use crate::regular_file::{self, ReadFileError};

impl From<NotAnObject> for ReadFileError {
    fn from(error: NotAnObject) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// Reads an object; `None` if the file does not exist.
///
/// The TypeScript pi writes in place, so we may see a partially written file. A malformed file is read again
/// under the lock before it is reported.
pub(crate) fn read(path: &Path) -> Result<Option<Map<String, Value>>, ReadFileError> {
    match read_unlocked(path) {
        Err(malformed @ (ReadFileError::Malformed(_) | ReadFileError::NotUtf8)) => {
            // A read-only directory cannot be locked; report the first result then.
            match LockDir::acquire(path, LockTiming::SETTINGS) {
                Ok(_lock) => read_unlocked(path),
                Err(_) => Err(malformed),
            }
        }
        result => result,
    }
}

/// Reads an object without the lock; the file may be partially written. `None` if it does not exist.
pub(crate) fn read_unlocked(path: &Path) -> Result<Option<Map<String, Value>>, ReadFileError> {
    let Some(text) = regular_file::read_text(path)? else {
        return Ok(None);
    };
    Ok(Some(json_text::parse(&text)?))
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    #[error(transparent)]
    Unreadable(ReadFileError),
    #[error("locked by another process")]
    Locked,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// An object whose file is locked until this is dropped.
#[derive(Debug)]
pub(crate) struct LockedObject {
    path: PathBuf,
    lock: LockDir,
    /// The contents of the file.
    pub(crate) object: Map<String, Value>,
}

impl LockedObject {
    /// Locks a file and reads it; a missing file is an empty object. The directory is created, with mode 0700
    /// if the file is private.
    pub(crate) fn open(path: &Path, mode: NewFileMode) -> Result<Self, ChangeError> {
        if let Some(parent) = path.parent() {
            match mode {
                NewFileMode::Private | NewFileMode::AlwaysPrivate => {
                    private::create_directory(parent)?;
                }
                NewFileMode::Default => fs::create_dir_all(parent)?,
            }
        }
        let lock = LockDir::acquire(path, LockTiming::SETTINGS).map_err(|error| match error {
            LockError::Held => ChangeError::Locked,
            LockError::Io(error) => ChangeError::Io(error),
        })?;
        let object = read_unlocked(path)
            .map_err(ChangeError::Unreadable)?
            .unwrap_or_default();
        Ok(Self {
            path: path.to_owned(),
            lock,
            object,
        })
    }

    /// Replaces the contents of the file with the object.
    pub(crate) fn write(self, ending: FileEnding) -> Result<(), ChangeError> {
        let mut text = json_text::to_text(&self.object).map_err(io::Error::other)?;
        match ending {
            FileEnding::None => {}
            FileEnding::Newline => text.push(b'\n'),
        }
        // If the machine was suspended, the lock may be lost and the file changed.
        if !self.lock.is_held() {
            return Err(ChangeError::Locked);
        }
        // A rename ignores the file's permissions; respect a file that was made read-only.
        if fs::metadata(&self.path).is_ok_and(|file| file.permissions().readonly()) {
            return Err(ChangeError::Io(io::ErrorKind::PermissionDenied.into()));
        }
        Ok(atomic_file::write(&self.path, &text, NewFileMode::Default)?)
    }
}

/// How the file ends, to match the TypeScript pi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileEnding {
    /// No trailing newline.
    None,
    Newline,
}
