//! File and shell operations implemented by an extension: another machine, a container, a sandbox.

use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use pi_core::{
    DirectoryEntry, ExitCode, FileError, FileFuture, FileKind, FileOperations, FileStatus,
    OpenFile, ProcessError, ProcessOperations, ShellCommand,
};
use pi_ext::EngineError;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::bridge::ExtensionBridge;
use crate::callbacks::{
    Callback, CheckAccess, CreateDirectory, FileExists, IsDirectory, ListDirectory, ReadFile,
    RunCommand, WriteFile,
};
use crate::jobs::JobCallback;
use crate::tool::error_message;

/// Files accessed through an extension's operations.
pub(super) struct JavaScriptFiles {
    callback: JobCallback,
    operations: Vec<String>,
}

impl JavaScriptFiles {
    pub(super) fn new(callback: JobCallback, operations: Vec<String>) -> Self {
        Self {
            callback,
            operations,
        }
    }

    fn has(&self, operation: &str) -> bool {
        self.operations.iter().any(|known| known == operation)
    }

    async fn call<Operation: Callback>(
        &self,
        operation: Operation,
    ) -> Result<Operation::Reply, FileError> {
        self.callback.run(&operation).await.map_err(failure)
    }

    /// Fails if the extension reports that the path cannot be read.
    async fn check(&self, path: &Path) -> Result<(), FileError> {
        if self.has(FileExists::NAME) && self.call(FileExists { path }).await? == Some(false) {
            return Err(FileError::Missing);
        }
        if self.has(CheckAccess::NAME) {
            self.call(CheckAccess { path }).await?;
        }
        Ok(())
    }
}

/// Maps an extension's error to a file error, by its error code.
fn failure(error: EngineError) -> FileError {
    let code = match &error {
        EngineError::Exception(thrown) => thrown.code.clone(),
        _ => None,
    };
    match code.as_deref() {
        Some("ENOENT") => FileError::Missing,
        Some("EACCES" | "EPERM") => FileError::Denied,
        Some("EISDIR") => FileError::NotAFile(FileKind::Directory),
        Some("ENOTDIR") => FileError::NotADirectory,
        _ => FileError::Other(io::Error::other(error_message(error))),
    }
}

impl FileOperations for JavaScriptFiles {
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        // The extension is responsible for resolving links.
        Box::pin(std::future::ready(Ok(path.to_owned())))
    }

    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus> {
        Box::pin(async move {
            self.check(path).await?;
            let can_tell = self.has("stat") || self.has(IsDirectory::NAME);
            let is_folder = can_tell && self.call(IsDirectory { path }).await? == Some(true);
            Ok(FileStatus {
                kind: if is_folder {
                    FileKind::Directory
                } else {
                    FileKind::File
                },
                size: 0,
            })
        })
    }

    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        Box::pin(async move {
            self.check(path).await?;
            let data = self.call(ReadFile { path }).await?;
            let data = BASE64_STANDARD.decode(data.unwrap_or_default());
            let data = data.map_err(|error| FileError::Other(io::Error::other(error)))?;
            Ok(OpenFile {
                size: data.len() as u64,
                reader: Box::new(Cursor::new(data)),
            })
        })
    }

    fn open_real<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        self.open(path)
    }

    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        Box::pin(async move {
            let names = self.call(ListDirectory { path }).await?;
            let mut entries = Vec::with_capacity(names.len());
            for name in names {
                // Skip entries whose status cannot be read, such as dangling links.
                let kind = self.status(&path.join(&name)).await.ok();
                entries.push(DirectoryEntry {
                    name: name.into(),
                    kind: kind.map(|status| status.kind),
                });
            }
            Ok(entries)
        })
    }

    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(self.check(path))
    }

    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        Box::pin(async move {
            if self.has(CreateDirectory::NAME) {
                self.call(CreateDirectory { path }).await?;
            }
            Ok(())
        })
    }

    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()> {
        Box::pin(async move {
            let content = String::from_utf8_lossy(&contents);
            self.call(WriteFile {
                path,
                content: &content,
            })
            .await?;
            Ok(())
        })
    }
}

/// A shell implemented by an extension.
pub(crate) struct JavaScriptShell {
    callback: JobCallback,
}

impl JavaScriptShell {
    pub(crate) fn new(callback: JobCallback) -> Self {
        Self { callback }
    }

    async fn run(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> Result<ExitCode, ProcessError> {
        let gone = || ProcessError::Other("the extension was unloaded".to_owned());
        let shared = self.callback.shared.upgrade().ok_or_else(gone)?;
        let signal = shared.bridge.new_signal();
        let mut pieces = ExtensionBridge::open_channel(&shared.bridge.streams.outputs, signal);
        let environment = command.environment.iter().map(|(name, value)| {
            let value = value.to_string_lossy().into_owned();
            (name.to_string_lossy().into_owned(), value)
        });
        let run = RunCommand {
            command: &command.command,
            cwd: &command.cwd,
            timeout: command.timeout.map(|timeout| timeout.as_secs_f64()),
            env: environment.collect(),
        };
        let call = self.callback.run_cancellable(&run, Some(signal));
        let mut running = std::pin::pin!(shared.until_cancelled(call, signal, &cancel));
        let outcome = loop {
            tokio::select! {
                biased;
                Some(piece) = pieces.recv() => forward(&output, &piece).await,
                outcome = &mut running => break outcome,
            }
        };
        shared.bridge.streams.outputs.lock().remove(&signal);
        while let Ok(piece) = pieces.try_recv() {
            forward(&output, &piece).await;
        }
        match outcome {
            Ok(exit) => {
                let code = exit.unwrap_or_default().exit_code;
                let code = code.as_ref().and_then(Value::as_i64);
                Ok(ExitCode(code.and_then(|code| i32::try_from(code).ok())))
            }
            Err(_) if cancel.is_cancelled() => Err(ProcessError::Aborted),
            Err(error) => Err(ended(error_message(error), command.timeout)),
        }
    }
}

/// Maps the error texts that extensions use to a process error.
fn ended(error_message: String, timeout: Option<Duration>) -> ProcessError {
    match (error_message.as_str(), timeout) {
        ("aborted", _) => ProcessError::Aborted,
        (text, Some(timeout)) if text.starts_with("timeout:") => ProcessError::TimedOut(timeout),
        _ => ProcessError::Other(error_message),
    }
}

async fn forward(output: &mpsc::Sender<Bytes>, piece: &str) {
    let piece = BASE64_STANDARD.decode(piece);
    // The reader may have been dropped.
    output.send(piece.unwrap_or_default().into()).await.ok();
}

impl ProcessOperations for JavaScriptShell {
    fn execute(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        Box::pin(self.run(command, output, cancel))
    }
}
