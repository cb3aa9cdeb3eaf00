//! Atomic file replacement on systems without directory handles: write to a temporary file, then
//! rename.

use std::fs;
use std::io::Write;
use std::path::Path;

use pi_core::{FileError, FileKind};

use super::temporary_name;

/// Opens a regular file for reading, unless it is a symlink.
pub(super) fn open_regular(path: &Path) -> Result<(fs::File, fs::Metadata), FileError> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Err(FileError::LinkAppeared);
    }
    super::open_regular(path)
}

pub(super) fn create_directories(path: &Path) -> Result<(), FileError> {
    Ok(fs::create_dir_all(path)?)
}

pub(super) fn replace(path: &Path, contents: &[u8]) -> Result<(), FileError> {
    let permissions = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(FileError::NotAFile(FileKind::Directory));
        }
        Ok(metadata) if metadata.is_symlink() => return Err(FileError::LinkAppeared),
        Ok(metadata) if metadata.permissions().readonly() => return Err(FileError::Denied),
        Ok(metadata) => Some(metadata.permissions()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let temporary = path.with_file_name(temporary_name());
    let written = fs::File::create_new(&temporary)
        .and_then(|mut file| file.write_all(contents))
        .and_then(|()| match permissions {
            Some(permissions) => fs::set_permissions(&temporary, permissions),
            None => Ok(()),
        })
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err()
        && let Err(error) = fs::remove_file(&temporary)
    {
        tracing::warn!(%error, ?temporary, "cannot remove temporary file");
    }
    Ok(written?)
}
