//! Other systems: links are checked before.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_fs::NewFileMode;

use super::IfMissing;

pub(crate) struct Place(PathBuf);

impl Place {
    /// Opens the directory of an absolute path.
    pub(crate) fn open(path: &Path, if_missing: IfMissing) -> io::Result<Self> {
        let parent = path.parent().unwrap_or(path);
        let existing = parent.ancestors().find(|parent| parent.exists());
        if existing
            .is_some_and(|existing| fs::canonicalize(existing).is_ok_and(|real| real != existing))
        {
            return Err(io::Error::other(
                "a directory of the path became a symbolic link",
            ));
        }
        if if_missing == IfMissing::Create {
            fs::create_dir_all(parent)?;
        }
        Ok(Self(path.to_owned()))
    }

    /// Returns an entry of the same directory that does not exist, named after this one.
    pub(crate) fn free_entry(self, suffix: &str) -> io::Result<Self> {
        for number in 1.. {
            let mut name = self.name().to_owned();
            name.push(suffix);
            if number > 1 {
                name.push(format!("-{number}"));
            }
            let path = self.0.with_file_name(name);
            if fs::symlink_metadata(&path).is_err() {
                return Ok(Self(path));
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn name(&self) -> &OsStr {
        self.0.file_name().unwrap_or_default()
    }

    /// Removes a file, a link or an empty directory; returns false if a directory is not empty.
    pub(crate) fn remove(&self) -> io::Result<bool> {
        let removed = match fs::symlink_metadata(&self.0) {
            Ok(found) if found.is_dir() => fs::remove_dir(&self.0),
            Ok(_) => fs::remove_file(&self.0),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            removed => removed.map(|()| true),
        }
    }

    pub(crate) fn create_directory(&self, _mode: Option<u32>) -> io::Result<()> {
        if !fs::symlink_metadata(&self.0).is_ok_and(|found| found.is_dir()) {
            self.remove()?;
            fs::create_dir(&self.0)?;
        }
        Ok(())
    }

    pub(crate) fn create_link(&self, _target: &Path) -> io::Result<()> {
        Err(io::Error::other(
            "symbolic links are not restored on this system",
        ))
    }

    pub(crate) fn write(&self, contents: &[u8], _mode: Option<u32>) -> io::Result<()> {
        if fs::symlink_metadata(&self.0).is_ok_and(|found| !found.is_file()) {
            self.remove()?;
        }
        pi_fs::atomic_file::write(&self.0, contents, NewFileMode::Private)
    }
}
