//! File operations that record what tool calls change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_checkpoint::{CapturedFile, FileState};
use pi_core::{DirectoryEntry, FileFuture, FileOperations, FileStatus, ObservedChange, OpenFile};

use super::session_history::SessionHistory;

/// Files whose changes are recorded. Reads are passed through.
pub(super) struct RecordingFiles {
    files: Arc<dyn FileOperations>,
    history: Arc<SessionHistory>,
    /// `None` outside of a tool call: nothing is recorded.
    call: Option<String>,
}

impl RecordingFiles {
    pub(super) fn new(files: Arc<dyn FileOperations>, history: Arc<SessionHistory>) -> Self {
        Self {
            files,
            history,
            call: None,
        }
    }
}

/// A change that something else makes.
struct RecordedChange {
    history: Arc<SessionHistory>,
    /// `None` for a command of the user.
    call: Option<String>,
    path: PathBuf,
    before: std::io::Result<CapturedFile>,
}

impl ObservedChange for RecordedChange {
    fn finish(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let call = self.call.as_deref();
            self.history.record(call, &self.path, self.before).await;
        })
    }
}

async fn capture(path: &Path) -> std::io::Result<CapturedFile> {
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || CapturedFile::read(&path));
    read.await.map_err(std::io::Error::other)?
}

impl FileOperations for RecordingFiles {
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        self.files.real_path(path)
    }

    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus> {
        self.files.status(path)
    }

    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        self.files.open(path)
    }

    fn open_real<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        self.files.open_real(path)
    }

    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        self.files.list(path)
    }

    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        self.files.check_editable(path)
    }

    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(async move {
            let Some(call) = &self.call else {
                return self.files.create_directories(path).await;
            };
            let existing = path.ancestors().position(Path::exists);
            let missing: Vec<&Path> = path.ancestors().take(existing.unwrap_or(0)).collect();
            self.files.create_directories(path).await?;
            for directory in missing.into_iter().rev() {
                let before = Ok(FileState::Missing.into());
                self.history.record(Some(call), directory, before).await;
            }
            Ok(())
        })
    }

    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()> {
        Box::pin(async move {
            let Some(call) = &self.call else {
                return self.files.replace(path, contents).await;
            };
            let before = capture(path).await;
            let replaced = self.files.replace(path, contents).await;
            // Also after an error: the file may have changed.
            self.history.record(Some(call), path, before).await;
            replaced
        })
    }

    fn observe_change<'a>(
        &'a self,
        path: &'a Path,
    ) -> BoxFuture<'a, Option<Box<dyn ObservedChange>>> {
        Box::pin(async move {
            let change: Box<dyn ObservedChange> = Box::new(RecordedChange {
                history: Arc::clone(&self.history),
                call: self.call.clone(),
                path: path.to_owned(),
                before: capture(path).await,
            });
            Some(change)
        })
    }

    fn for_call(&self, call: &str) -> Option<Arc<dyn FileOperations>> {
        Some(Arc::new(Self {
            files: Arc::clone(&self.files),
            history: Arc::clone(&self.history),
            call: Some(call.to_owned()),
        }))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use pi_core::FileError;
    use pi_tools::LocalFiles;

    use super::*;

    #[tokio::test]
    async fn a_link_in_a_real_path_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("secret")).unwrap();
        drop(std::fs::File::create(root.join("secret/key")).unwrap());
        symlink("secret", root.join("link")).unwrap();
        let history = Arc::new(SessionHistory::new(1024, None));
        let files = RecordingFiles::new(Arc::new(LocalFiles), history);
        let files = files.for_call("call").unwrap();
        let opened = files.open_real(&root.join("link/key")).await;
        assert!(matches!(opened, Err(FileError::LinkAppeared)));
        assert!(files.open_real(&root.join("secret/key")).await.is_ok());
    }
}
