//! A temporary home directory for a test.

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
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file below the directory, creating parent directories, and returns its path.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.prepare(file);
        let mut handle = fs::File::create(&path).unwrap();
        handle.write_all(content.as_ref()).unwrap();
        path
    }

    /// Writes an executable file below the directory, creating parent directories, and returns its path.
    pub fn write_program(&self, file: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.prepare(file);
        crate::write_program(&path, content);
        path
    }

    /// Returns the path of a file whose parent directories exist.
    fn prepare(&self, file: &str) -> PathBuf {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().expect("path has a parent")).unwrap();
        path
    }

    /// Reads a file below the directory.
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap()
    }
}
