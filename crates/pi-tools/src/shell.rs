//! Runs shell commands on this machine.
//!
//! A command is over when the shell has ended and its output has been silent for a moment: a daemon
//! that keeps the pipe does not hold us, and what is still being written is not lost. Which shell it
//! is and what its environment holds is found in the modules below; what the output is for is the
//! caller's business.

mod environment;
mod program;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use environment::{SessionVariables, SharedSessionVariables, ShellEnvironment};

use crate::operations::{ExitCode, ProcessError, ProcessOperations, ShellCommand};
use crate::process_tree::{KILL_PATIENCE, OutputPipe, ProcessTree};
use program::ShellProgram;

/// How long the output must be silent once the shell has ended.
const SILENCE: Duration = Duration::from_millis(100);

/// What is read at once; a pipe holds as much.
const READ_BYTES: usize = 64 * 1024;

/// Runs commands in a shell of this machine. Clones share what they look after.
#[derive(Debug, Clone, Default)]
pub struct LocalShell {
    kind: ShellKind,
    /// Pipes that daemons keep writing to after their command has ended.
    kept_pipes: TaskTracker,
}

#[derive(Debug, Clone)]
enum ShellKind {
    Bash {
        path: Option<PathBuf>,
    },
    #[cfg(windows)]
    PowerShell,
}

impl Default for ShellKind {
    fn default() -> Self {
        Self::Bash { path: None }
    }
}

impl LocalShell {
    /// Uses the shell at a path, which must understand `-c`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            kind: ShellKind::Bash {
                path: Some(path.into()),
            },
            ..Self::default()
        }
    }

    /// Uses PowerShell, the newer one where there are two.
    #[cfg(windows)]
    pub fn power_shell() -> Self {
        Self {
            kind: ShellKind::PowerShell,
            ..Self::default()
        }
    }

    fn program(&self) -> Result<ShellProgram, ProcessError> {
        match &self.kind {
            ShellKind::Bash { path } => ShellProgram::bash(path.as_deref()),
            #[cfg(windows)]
            ShellKind::PowerShell => ShellProgram::power_shell(),
        }
    }

    async fn run(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> Result<ExitCode, ProcessError> {
        if cancel.is_cancelled() {
            return Err(ProcessError::Aborted);
        }
        let program = self.program()?;
        check_directory(&command.cwd).await?;
        let mut running = match Running::start(&program, &command, output) {
            Ok(running) => running,
            Err(error) => {
                // The directory may have gone since; the system's error does not say which is missing.
                check_directory(&command.cwd).await?;
                return Err(ProcessError::Start(error));
            }
        };
        let stopped = tokio::select! {
            biased;
            reason = stop_reason(command.timeout, &cancel) => Some(reason),
            followed = running.follow() => {
                followed.map_err(|error| broken(&error))?;
                None
            }
        };
        if let Some(reason) = stopped {
            running.kill().await;
            return Err(reason);
        }
        let status = running.tree.status().await;
        let status = status.map_err(|error| broken(&error))?;
        if let Some(pipe) = running.open_pipe() {
            self.keep(pipe);
        }
        Ok(ExitCode(exit_code(status)))
    }

    /// Reads on and throws away, so that a daemon is not ended by its first word after the command.
    fn keep(&self, mut pipe: OutputPipe) {
        self.kept_pipes.spawn(async move {
            let mut buffer = BytesMut::with_capacity(READ_BYTES);
            while let Ok(1..) = pipe.read(&mut buffer).await {
                buffer.clear();
            }
        });
    }
}

impl ProcessOperations for LocalShell {
    fn execute(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        Box::pin(self.run(command, output, cancel))
    }
}

/// Waits for a reason to stop.
async fn stop_reason(timeout: Option<Duration>, cancel: &CancellationToken) -> ProcessError {
    let Some(timeout) = timeout else {
        cancel.cancelled().await;
        return ProcessError::Aborted;
    };
    match tokio::time::timeout(timeout, cancel.cancelled()).await {
        Ok(()) => ProcessError::Aborted,
        Err(_) => ProcessError::TimedOut(timeout),
    }
}

async fn check_directory(path: &Path) -> Result<(), ProcessError> {
    match tokio::fs::metadata(path).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(ProcessError::MissingDirectory(path.to_owned()))
        }
        // Anything else the start itself reports.
        _ => Ok(()),
    }
}

fn broken(error: &io::Error) -> ProcessError {
    ProcessError::Other(format!("the command was lost sight of: {error}"))
}

#[cfg(unix)]
fn exit_code(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
}

#[cfg(not(unix))]
fn exit_code(status: ExitStatus) -> Option<i32> {
    status.code()
}

/// A command under way and the pipe it writes to.
struct Running {
    tree: ProcessTree,
    pipe: OutputPipe,
    pipe_is_open: bool,
    buffer: BytesMut,
    output: mpsc::Sender<Bytes>,
}

impl Running {
    fn start(
        program: &ShellProgram,
        command: &ShellCommand,
        output: mpsc::Sender<Bytes>,
    ) -> io::Result<Self> {
        let mut process = Command::new(&program.path);
        process
            .args(&program.arguments)
            .current_dir(&command.cwd)
            .env_clear()
            .envs(&command.environment)
            .stdin(Stdio::null());
        let (tree, pipe) = program.start(process, &command.command)?;
        Ok(Self {
            tree,
            pipe,
            pipe_is_open: true,
            buffer: BytesMut::with_capacity(READ_BYTES),
            output,
        })
    }

    /// Passes output on until the shell has ended and the pipe is closed or silent. Cancel safe:
    /// there is room for a piece before it is read.
    async fn follow(&mut self) -> io::Result<()> {
        let mut exited = false;
        let silence = tokio::time::sleep(SILENCE);
        tokio::pin!(silence);
        while self.pipe_is_open {
            // Without a receiver the output is read all the same, or the command would never end.
            let room = self.output.reserve().await.ok();
            // A slow receiver is not a silent command.
            silence.as_mut().reset(Instant::now() + SILENCE);
            self.buffer.reserve(READ_BYTES);
            let read = loop {
                tokio::select! {
                    biased;
                    read = self.pipe.read(&mut self.buffer) => break read,
                    ended = self.tree.exited(), if !exited => {
                        ended?;
                        exited = true;
                        silence.as_mut().reset(Instant::now() + SILENCE);
                    }
                    () = &mut silence, if exited => return Ok(()),
                }
            };
            if let Err(error) = &read {
                tracing::warn!(%error, "the output of a command could not be read");
            }
            self.pipe_is_open = read.is_ok_and(|count| count > 0);
            let piece = self.buffer.split().freeze();
            if let Some(room) = room
                && !piece.is_empty()
            {
                room.send(piece);
            }
        }
        if !exited {
            self.tree.exited().await?;
        }
        Ok(())
    }

    /// Kills the tree and passes on what it had still written.
    async fn kill(&mut self) {
        self.tree.kill().await;
        match tokio::time::timeout(KILL_PATIENCE, self.follow()).await {
            Ok(Ok(())) => {
                if let Err(error) = self.tree.status().await {
                    tracing::warn!(%error, "a killed command could not be reaped");
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "a killed command was lost sight of"),
            Err(_) => {
                tracing::warn!("a killed command does not end, or keeps writing");
                self.tree.give_up();
            }
        }
    }

    fn open_pipe(self) -> Option<OutputPipe> {
        self.pipe_is_open.then_some(self.pipe)
    }
}
