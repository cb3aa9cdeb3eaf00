//! A temporary directory that only the user can access, deleted when dropped.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

/// A temporary directory; deleted when dropped.
#[derive(Debug)]
pub(crate) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Creates a directory whose name starts with `name`.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("{name}-{}", uuid::Uuid::new_v4().simple()));
        let mut builder = DirBuilder::new();
        // The parent exists already; a directory of this name was not created by us.
        builder.recursive(false);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, "cannot delete temporary directory");
        }
    }
}
