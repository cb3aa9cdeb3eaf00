//! An environment without files and processes, for tools that use neither.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};
use pi_core::{
    DirectoryEntry, Environment, ExitCode, FileError, FileFuture, FileOperations, FileStatus,
    FoundLines, FoundPaths, LineQuery, OpenFile, PathQuery, ProcessError, ProcessOperations,
    SearchFuture, SearchOperations, ShellCommand, Variables,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

struct NoOperations;

pub(crate) fn environment() -> Arc<Environment> {
    Arc::new(Environment {
        files: Arc::new(NoOperations),
        processes: Arc::new(NoOperations),
        search: Arc::new(NoOperations),
        vars: Variables::new(),
        home: None,
    })
}

fn missing<T: Send + 'static>() -> FileFuture<'static, T> {
    Box::pin(ready(Err(FileError::Missing)))
}

impl FileOperations for NoOperations {
    fn real_path<'a>(&'a self, _path: &'a Path) -> FileFuture<'a, PathBuf> {
        missing()
    }

    fn status<'a>(&'a self, _path: &'a Path) -> FileFuture<'a, FileStatus> {
        missing()
    }

    fn open<'a>(&'a self, _path: &'a Path) -> FileFuture<'a, OpenFile> {
        missing()
    }

    fn open_real<'a>(&'a self, _path: &'a Path) -> FileFuture<'a, OpenFile> {
        missing()
    }

    fn list<'a>(&'a self, _path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        missing()
    }

    fn check_editable<'a>(&'a self, _path: &'a Path) -> FileFuture<'a, ()> {
        missing()
    }

    fn create_directories<'a>(&'a self, _path: &'a Path) -> FileFuture<'a, ()> {
        missing()
    }

    fn replace<'a>(&'a self, _path: &'a Path, _contents: Vec<u8>) -> FileFuture<'a, ()> {
        missing()
    }
}

impl ProcessOperations for NoOperations {
    fn execute(
        &self,
        _command: ShellCommand,
        _output: mpsc::Sender<Bytes>,
        _cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        Box::pin(ready(Err(ProcessError::Other("no processes".to_owned()))))
    }
}

impl SearchOperations for NoOperations {
    fn find_paths(
        &self,
        _query: PathQuery,
        _cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundPaths> {
        Box::pin(ready(Ok(FoundPaths::default())))
    }

    fn find_lines(
        &self,
        _query: LineQuery,
        _cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundLines> {
        Box::pin(ready(Ok(FoundLines::default())))
    }
}
