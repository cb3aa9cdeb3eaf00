//! Running commands.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Variables;

/// Runs commands.
pub trait ProcessOperations: Send + Sync {
    /// Runs a command and sends its output as it arrives, stdout and stderr interleaved.
    ///
    /// The command blocks if the receiver is slow. If the command is canceled or times out, all of
    /// its processes must be killed.
    fn execute(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>>;
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellCommand {
    pub command: String,
    pub cwd: PathBuf,
    pub environment: Variables,
    pub timeout: Option<Duration>,
    /// The language of the command.
    pub shell: ShellLanguage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShellLanguage {
    /// Bash, or another POSIX shell on systems without it.
    #[default]
    Bash,
    PowerShell,
}

/// Exit code of a command; 128 + signal number if it was killed by a signal, `None` if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCode(pub Option<i32>);

#[derive(Debug, Error)]
pub enum ProcessError {
    #[error("command aborted")]
    Aborted,
    #[error("command timed out after {} seconds", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("working directory does not exist: {}", .0.display())]
    MissingDirectory(PathBuf),
    #[error("cannot start the command: {0}")]
    Start(#[source] io::Error),
    #[error("{0}")]
    Other(String),
}
