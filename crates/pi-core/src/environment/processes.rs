//! Running commands.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
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

    /// Runs a command like [`execute`](Self::execute), and sends what arrives in `input` to its standard input, which
    /// ends with the channel. Environments without input close the channel.
    fn execute_with_input(
        &self,
        command: ShellCommand,
        input: mpsc::Receiver<Bytes>,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        drop(input);
        self.execute(command, output, cancel)
    }

    /// Returns the operations for one tool call, if they depend on it.
    fn for_call(&self, call: &str) -> Option<Arc<dyn ProcessOperations>> {
        let _ = call;
        None
    }

    /// Returns a sentence for the model about the output of a failed command, if this environment may be the reason.
    fn failure_hint(&self, _output: &str) -> Option<String> {
        None
    }
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
