//! What a path is at one moment: nothing, a file, a symbolic link or a directory.

use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::content_store::ContentId;
use crate::path_text;

/// Larger files are not read: their changes are listed, but cannot be restored.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What a path is. Modification times are not part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    Missing,
    File {
        sha256: ContentId,
        size: u64,
        /// Permission bits; `None` on systems without them.
        #[serde(skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    Link {
        #[serde(with = "path_text")]
        target: PathBuf,
    },
    Directory {
        #[serde(skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// A device, a pipe, a socket, or a file that is too large or cannot be read.
    Other,
}

impl FileState {
    pub fn content(&self) -> Option<&ContentId> {
        match self {
            Self::File { sha256, .. } => Some(sha256),
            Self::Missing | Self::Link { .. } | Self::Directory { .. } | Self::Other => None,
        }
    }

    /// Whether both are the same known state. Nothing is known about [`FileState::Other`].
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        *self != Self::Other && self == other
    }
}

/// The state of a path, with the contents of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFile {
    pub state: FileState,
    pub(crate) contents: Option<Vec<u8>>,
}

impl CapturedFile {
    /// Reads a real path without following symbolic links: there is nothing below a directory that became a link.
    pub fn read(path: &Path) -> io::Result<Self> {
        if is_below_link(path) {
            return Ok(FileState::Missing.into());
        }
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if is_missing(&error) => return Ok(FileState::Missing.into()),
            Err(error) => return Err(error),
        };
        let kind = metadata.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(path)?;
            return Ok(FileState::Link { target }.into());
        }
        if kind.is_dir() {
            let mode = mode(&metadata);
            return Ok(FileState::Directory { mode }.into());
        }
        if !kind.is_file() || metadata.len() > MAX_FILE_BYTES {
            return Ok(FileState::Other.into());
        }
        let file = match pi_fs::open_nonblocking(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(FileState::Other.into());
            }
            // It was removed in the meantime.
            Err(error) if is_missing(&error) => return Ok(FileState::Missing.into()),
            Err(error) => return Err(error),
        };
        // The file may have grown or been replaced since.
        let metadata = file.metadata()?;
        let mut contents = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut contents)?;
        if !metadata.is_file() || contents.len() as u64 > MAX_FILE_BYTES {
            return Ok(FileState::Other.into());
        }
        Ok(Self::file(contents, mode(&metadata)))
    }

    pub(crate) fn file(contents: Vec<u8>, mode: Option<u32>) -> Self {
        Self {
            state: FileState::File {
                sha256: ContentId::of(&contents),
                size: contents.len() as u64,
                mode,
            },
            contents: Some(contents),
        }
    }
}

impl From<FileState> for CapturedFile {
    fn from(state: FileState) -> Self {
        Self {
            state,
            contents: None,
        }
    }
}

/// Whether a directory on the way to a path is a symbolic link.
fn is_below_link(path: &Path) -> bool {
    let mut directories = path.ancestors().skip(1);
    directories.any(|directory| {
        let found = fs::symlink_metadata(directory);
        found.is_ok_and(|found| found.is_symlink())
    })
}

/// Whether an error means that there is nothing at a path: neither it nor, possibly, its directory.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "other systems have no permission bits"
)]
pub(crate) fn mode(metadata: &Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;

    Some(metadata.permissions().mode() & 0o7777)
}

#[cfg(not(unix))]
pub(crate) fn mode(_metadata: &Metadata) -> Option<u32> {
    None
}
