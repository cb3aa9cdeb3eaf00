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
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::extensions::jobs::JobCallback;
use crate::extensions::tool::error_message;

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

    async fn call(&self, operation: &str, path: &Path) -> Result<Value, FileError> {
        let arguments = json!({ "path": path });
        let response = self.callback.call(operation, arguments, None).await;
        response.map_err(failure)
    }

    /// Fails if the extension reports that the path cannot be read.
    async fn check(&self, path: &Path) -> Result<(), FileError> {
        if self.has("exists") && self.call("exists", path).await? == Value::Bool(false) {
            return Err(FileError::Missing);
        }
        if self.has("access") {
            self.call("access", path).await?;
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
            let can_tell = self.has("stat") || self.has("isDirectory");
            let is_folder = can_tell && self.call("isDirectory", path).await? == Value::Bool(true);
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
            let data = self.call("readFile", path).await?;
            let data = BASE64_STANDARD.decode(data.as_str().unwrap_or_default());
            let data = data.map_err(|error| FileError::Other(io::Error::other(error)))?;
            Ok(OpenFile {
                size: data.len() as u64,
                reader: Box::new(Cursor::new(data)),
            })
        })
    }

    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        Box::pin(async move {
            let names = self.call("readdir", path).await?;
            let names: Vec<String> = serde_json::from_value(names)
                .map_err(|error| FileError::Other(io::Error::other(error)))?;
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
            if self.has("mkdir") {
                self.call("mkdir", path).await?;
            }
            Ok(())
        })
    }

    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()> {
        Box::pin(async move {
            let content = String::from_utf8_lossy(&contents);
            let arguments = json!({ "path": path, "content": content });
            let written = self.callback.call("writeFile", arguments, None).await;
            written.map(drop).map_err(failure)
        })
    }
}

/// A shell implemented by an extension.
pub(in crate::extensions) struct JavaScriptShell {
    callback: JobCallback,
}

impl JavaScriptShell {
    pub(in crate::extensions) fn new(callback: JobCallback) -> Self {
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
        let mut pieces = shared.bridge.open_stream(signal);
        let environment = command.environment.iter().map(|(name, value)| {
            let value = value.to_string_lossy().into_owned();
            (name.to_string_lossy().into_owned(), Value::String(value))
        });
        let arguments = json!({
            "command": command.command,
            "cwd": command.cwd,
            "timeout": command.timeout.map(|timeout| timeout.as_secs_f64()),
            "env": environment.collect::<serde_json::Map<_, _>>(),
        });
        let call = self.callback.call("exec", arguments, Some(signal));
        let mut running = std::pin::pin!(shared.until_cancelled(call, signal, &cancel));
        let outcome = loop {
            tokio::select! {
                biased;
                Some(piece) = pieces.recv() => forward(&output, &piece).await,
                outcome = &mut running => break outcome,
            }
        };
        shared.bridge.close_stream(signal);
        while let Ok(piece) = pieces.try_recv() {
            forward(&output, &piece).await;
        }
        match outcome {
            Ok(response) => {
                let code = response.get("exitCode").and_then(Value::as_i64);
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

async fn forward(output: &mpsc::Sender<Bytes>, piece: &Value) {
    let piece = BASE64_STANDARD.decode(piece.as_str().unwrap_or_default());
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
