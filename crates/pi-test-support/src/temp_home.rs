//! A home directory that lives as long as a test.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// An empty home directory, removed when dropped.
#[derive(Debug)]
pub struct TempHome(TempDir);

impl Default for TempHome {
    fn default() -> Self {
        Self::new()
    }
}

impl TempHome {
    /// Creates the directory.
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file below it, with the folders it needs, and returns where it is.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().expect("a file has a folder")).unwrap();
        let mut handle = fs::File::create(&path).unwrap();
        handle.write_all(content.as_ref()).unwrap();
        path
    }

    /// Reads a file below it.
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap()
    }
}
