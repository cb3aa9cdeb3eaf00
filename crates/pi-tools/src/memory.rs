//! In-memory files and commands, for tests and callers without a disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use parking_lot::{Mutex, MutexGuard};
use pi_core::{
    DirectoryEntry, ExitCode, FileError, FileFuture, FileKind, FileOperations, FileStatus,
    OpenFile, ProcessError, ProcessOperations, ShellCommand,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// In-memory files; clones share them. There are no symlinks and no permissions.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles(Arc<Mutex<MemoryTree>>);

#[derive(Debug, Default)]
struct MemoryTree {
    files: BTreeMap<PathBuf, Arc<[u8]>>,
    directories: BTreeSet<PathBuf>,
}

impl MemoryFiles {
    /// Adds a file and its directories at an absolute path.
    #[must_use]
    pub fn with(self, path: impl AsRef<Path>, contents: impl Into<Vec<u8>>) -> Self {
        let path = path.as_ref();
        {
            let mut tree = self.tree();
            tree.add_directories(path.parent());
            tree.files.insert(path.to_owned(), contents.into().into());
        }
        self
    }

    pub fn contents(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let tree = self.tree();
        tree.files
            .get(path.as_ref())
            .map(|contents| contents.to_vec())
    }

    fn tree(&self) -> MutexGuard<'_, MemoryTree> {
        self.0.lock()
    }
}

impl MemoryTree {
    fn add_directories(&mut self, path: Option<&Path>) {
        for directory in path.into_iter().flat_map(Path::ancestors) {
            self.directories.insert(directory.to_owned());
        }
    }

    fn status(&self, path: &Path) -> Result<FileStatus, FileError> {
        if let Some(contents) = self.files.get(path) {
            return Ok(FileStatus {
                kind: FileKind::File,
                size: contents.len() as u64,
            });
        }
        if self.directories.contains(path) {
            return Ok(FileStatus {
                kind: FileKind::Directory,
                size: 0,
            });
        }
        let below_a_file = path.ancestors().any(|path| self.files.contains_key(path));
        Err(if below_a_file {
            FileError::NotADirectory
        } else {
            FileError::Missing
        })
    }

    fn file(&self, path: &Path) -> Result<Arc<[u8]>, FileError> {
        match self.status(path)?.kind {
            FileKind::File => self.files.get(path).cloned().ok_or(FileError::Missing),
            other => Err(FileError::NotAFile(other)),
        }
    }

    fn list(&self, path: &Path) -> Result<Vec<DirectoryEntry>, FileError> {
        if self.status(path)?.kind != FileKind::Directory {
            return Err(FileError::NotADirectory);
        }
        let entry = |child: &Path, kind| {
            let name = child.file_name().filter(|_| child.parent() == Some(path))?;
            Some(DirectoryEntry {
                name: name.to_owned(),
                kind: Some(kind),
            })
        };
        let files = self
            .files
            .keys()
            .filter_map(|file| entry(file, FileKind::File));
        let directories = self
            .directories
            .iter()
            .filter_map(|directory| entry(directory, FileKind::Directory));
        Ok(files.chain(directories).collect())
    }

    fn create_directories(&mut self, path: &Path) -> Result<(), FileError> {
        if path.ancestors().any(|path| self.files.contains_key(path)) {
            return Err(FileError::NotADirectory);
        }
        self.add_directories(Some(path));
        Ok(())
    }

    fn replace(&mut self, path: &Path, contents: Vec<u8>) -> Result<(), FileError> {
        match self.status(path) {
            Ok(status) if status.kind != FileKind::File => {
                return Err(FileError::NotAFile(status.kind));
            }
            Ok(_) => {}
            Err(_) => {
                let parent = path.parent().ok_or(FileError::Missing)?;
                if self.status(parent)?.kind != FileKind::Directory {
                    return Err(FileError::NotADirectory);
                }
            }
        }
        self.files.insert(path.to_owned(), contents.into());
        Ok(())
    }
}

impl FileOperations for MemoryFiles {
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        ready(Ok(path.to_owned())).boxed()
    }

    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus> {
        ready(self.tree().status(path)).boxed()
    }

    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        let contents = self.tree().file(path);
        ready(contents.map(|contents| OpenFile {
            size: contents.len() as u64,
            reader: Box::new(Cursor::new(contents)),
        }))
        .boxed()
    }

    fn open_real<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        self.open(path)
    }

    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        ready(self.tree().list(path)).boxed()
    }

    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        ready(self.tree().file(path).map(drop)).boxed()
    }

    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        ready(self.tree().create_directories(path)).boxed()
    }

    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()> {
        ready(self.tree().replace(path, contents)).boxed()
    }
}

/// Commands with scripted results; clones share the list of executed commands.
#[derive(Debug, Clone, Default)]
pub struct MemoryProcesses {
    scripts: Arc<BTreeMap<String, ScriptedCommand>>,
    run: Arc<Mutex<Vec<ShellCommand>>>,
}

#[derive(Debug, Clone)]
struct ScriptedCommand {
    output: Vec<Bytes>,
    exit_code: Option<i32>,
}

impl MemoryProcesses {
    /// Scripts a command: its output in chunks and its exit code.
    #[must_use]
    pub fn with(mut self, command: &str, output: &[&[u8]], exit_code: Option<i32>) -> Self {
        let output = output
            .iter()
            .map(|chunk| Bytes::copy_from_slice(chunk))
            .collect();
        let script = ScriptedCommand { output, exit_code };
        Arc::make_mut(&mut self.scripts).insert(command.to_owned(), script);
        self
    }

    /// Returns the executed commands in order.
    pub fn commands(&self) -> Vec<ShellCommand> {
        let run = self.run.lock();
        run.clone()
    }
}

impl ProcessOperations for MemoryProcesses {
    fn execute(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        let script = self.scripts.get(&command.command).cloned();
        self.run.lock().push(command.clone());
        let run_script = async move {
            let Some(script) = script else {
                let message = format!("no script for command `{}`", command.command);
                return Err(ProcessError::Other(message));
            };
            for chunk in script.output {
                if output.send(chunk).await.is_err() {
                    break;
                }
            }
            Ok(ExitCode(script.exit_code))
        };
        async move {
            cancel
                .run_until_cancelled(run_script)
                .await
                .unwrap_or(Err(ProcessError::Aborted))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn scripted_commands_return_their_output() {
        let processes = MemoryProcesses::default().with("ls", &[b"a\n", b"b\n"], Some(3));
        let (sender, mut receiver) = mpsc::channel(4);
        let command = ShellCommand {
            command: "ls".to_owned(),
            ..ShellCommand::default()
        };
        let cancel = CancellationToken::new();
        let exit = processes
            .execute(command.clone(), sender.clone(), cancel.clone())
            .await;
        assert_eq!(exit.unwrap(), ExitCode(Some(3)));
        assert_eq!(receiver.recv().await.unwrap(), "a\n");
        assert_eq!(receiver.recv().await.unwrap(), "b\n");
        assert_eq!(processes.commands(), std::slice::from_ref(&command));
        cancel.cancel();
        let aborted = processes.execute(command, sender, cancel).await;
        assert!(matches!(aborted, Err(ProcessError::Aborted)));
    }
}
