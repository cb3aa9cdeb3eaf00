//! A temporary folder that only the user can look into, deleted when it is not needed any more.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

/// A temporary folder; dropping it deletes it.
#[derive(Debug)]
pub(crate) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Makes a folder whose name begins with `name`.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("{name}-{}", uuid::Uuid::new_v4().simple()));
        let mut builder = DirBuilder::new();
        // The temporary folder is there; another one of this name is not ours.
        builder.recursive(false);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    /// Returns where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, "a temporary folder stays behind");
        }
    }
}
