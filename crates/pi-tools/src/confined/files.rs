//! File access within a policy. A path is resolved, checked, and then used without following links, so that a link that
//! appears in between leads nowhere.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{
    DirectoryEntry, FileError, FileFuture, FileOperations, FileStatus, ObservedChange, OpenFile,
};
use pi_sandbox::{Denial, Sandbox};

pub(super) struct ConfinedFiles {
    pub(super) files: Arc<dyn FileOperations>,
    pub(super) sandbox: Arc<Sandbox>,
}

fn denied(denial: Denial) -> FileError {
    FileError::Other(io::Error::new(io::ErrorKind::PermissionDenied, denial))
}

impl ConfinedFiles {
    /// Returns the real path of a file that may be read.
    async fn readable(&self, path: &Path) -> Result<PathBuf, FileError> {
        let real = self.files.real_path(path).await?;
        self.sandbox.policy().check_read(&real).map_err(denied)?;
        Ok(real)
    }

    fn check_write(&self, path: &Path) -> Result<(), FileError> {
        self.sandbox.policy().check_write(path).map_err(denied)
    }

    fn check_write_file(&self, path: &Path) -> Result<(), FileError> {
        self.sandbox.policy().check_write_file(path).map_err(denied)
    }
}

impl FileOperations for ConfinedFiles {
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        self.files.real_path(path)
    }

    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus> {
        self.files.status(path)
    }

    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        Box::pin(async move {
            let real = self.readable(path).await?;
            self.files.open_real(&real).await
        })
    }

    fn open_real<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        Box::pin(async move {
            self.sandbox.policy().check_read(path).map_err(denied)?;
            self.files.open_real(path).await
        })
    }

    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        Box::pin(async move {
            let real = self.readable(path).await?;
            self.files.list(&real).await
        })
    }

    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(async move {
            let real = self.readable(path).await?;
            self.check_write(&real)?;
            self.files.check_editable(&real).await
        })
    }

    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(async move {
            // Those that exist are not created.
            if self.files.status(path).await.is_err() {
                self.check_write(path)?;
            }
            self.files.create_directories(path).await
        })
    }

    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()> {
        Box::pin(async move {
            self.check_write_file(path)?;
            self.files.replace(path, contents).await
        })
    }

    fn observe_change<'a>(
        &'a self,
        path: &'a Path,
    ) -> BoxFuture<'a, Option<Box<dyn ObservedChange>>> {
        self.files.observe_change(path)
    }

    fn for_call(&self, call: &str) -> Option<Arc<dyn FileOperations>> {
        Some(Arc::new(Self {
            files: self.files.for_call(call)?,
            sandbox: Arc::clone(&self.sandbox),
        }))
    }
}
