//! A JSON object in a file that other programs change too, read and written without a runtime.
//!
//! What cannot be understood is never overwritten. Which keys mean what is the callers' matter.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::atomic_file::{self, NewFileMode};
use crate::json_text::{self, NotAnObject};
use crate::lock_dir::{BriefLock, LockError, LockTiming};
use crate::regular_file::{self, ReadFileError};

impl From<NotAnObject> for ReadFileError {
    fn from(error: NotAnObject) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// Reads an object; `None` when there is no file.
///
/// TypeScript pi writes in place, so we may see half a file. What cannot be understood is read again
/// under the lock before it is called malformed.
pub(crate) fn read(path: &Path) -> Result<Option<Map<String, Value>>, ReadFileError> {
    match read_unlocked(path) {
        Err(malformed @ (ReadFileError::Malformed(_) | ReadFileError::NotText)) => {
            // A directory that may not be written to has no lock; then the first look counts.
            match BriefLock::acquire(path, LockTiming::SETTINGS) {
                Ok(_lock) => read_unlocked(path),
                Err(_) => Err(malformed),
            }
        }
        result => result,
    }
}

/// Reads an object as it is at this moment, be it half written; `None` when there is no file.
pub(crate) fn read_unlocked(path: &Path) -> Result<Option<Map<String, Value>>, ReadFileError> {
    let Some(text) = regular_file::read_text(path)? else {
        return Ok(None);
    };
    Ok(Some(json_text::parse(&text)?))
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    #[error(transparent)]
    Unreadable(ReadFileError),
    #[error("locked by another program")]
    Locked,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// An object whose file nobody else changes until this is dropped.
#[derive(Debug)]
pub(crate) struct LockedObject {
    path: PathBuf,
    lock: BriefLock,
    /// What the file says.
    pub(crate) object: Map<String, Value>,
}

impl LockedObject {
    /// Locks a file and reads it; no file is an empty object. The directory is created, for the user
    /// alone if the file is private.
    pub(crate) fn open(path: &Path, dir: NewFileMode) -> Result<Self, ChangeError> {
        if let Some(parent) = path.parent() {
            match dir {
                NewFileMode::Private => atomic_file::create_private_directory(parent)?,
                NewFileMode::Default => fs::create_dir_all(parent)?,
            }
        }
        let lock = BriefLock::acquire(path, LockTiming::SETTINGS).map_err(|error| match error {
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

    /// Replaces the file by the object.
    pub(crate) fn write(self, ending: Ending) -> Result<(), ChangeError> {
        let mut text = json_text::to_text(&self.object).map_err(io::Error::other)?;
        match ending {
            Ending::None => {}
            Ending::Newline => text.push(b'\n'),
        }
        // A machine that slept meanwhile has lost the lock, and somebody may have written.
        if !self.lock.is_held() {
            return Err(ChangeError::Locked);
        }
        // A rename would not ask; whoever made the file read-only meant it.
        if fs::metadata(&self.path).is_ok_and(|file| file.permissions().readonly()) {
            return Err(ChangeError::Io(io::ErrorKind::PermissionDenied.into()));
        }
        Ok(atomic_file::write(&self.path, &text, NewFileMode::Default)?)
    }
}

/// How a file ends, as TypeScript pi writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With the closing brace.
    None,
    Newline,
}
