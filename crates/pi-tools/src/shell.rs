//! Runs shell commands on the local machine. A command is complete when the shell has exited and
//! its output has been idle for a moment: a daemon that keeps the pipe open does not block the
//! tool, and output still in flight is not lost. Finding the shell is
//! in `program`.

mod program;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use pi_core::{ExitCode, ProcessError, ProcessOperations, ShellCommand, ShellLanguage};
use pi_sandbox::{ConfinedProgram, Sandbox};
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::fallback_commands::FallbackCommands;
use crate::process_tree::{KILL_TIMEOUT, OutputPipe, ProcessTree};
use program::ShellProgram;

/// How long the output must be idle after the shell has exited.
const OUTPUT_IDLE_TIME: Duration = Duration::from_millis(100);

/// Read buffer size; matches the capacity of a pipe.
const READ_BYTES: usize = 64 * 1024;

/// Runs commands in the local shells. Clones share the pipes that are being drained.
#[derive(Debug, Clone, Default)]
pub struct LocalShell {
    /// The bash to use; a default one if absent.
    bash: Option<PathBuf>,
    /// Commands for machines that do not have them.
    fallbacks: Option<Arc<FallbackCommands>>,
    sandbox: Option<Arc<Sandbox>>,
    /// Pipes that daemons still write to after their command has completed.
    drained_pipes: TaskTracker,
}

impl LocalShell {
    /// Uses the shell at a path for bash commands; it must support `-c`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            bash: Some(path.into()),
            ..Self::default()
        }
    }

    /// Provides commands that the machine does not have.
    #[must_use]
    pub fn with_fallbacks(mut self, commands: Option<Arc<FallbackCommands>>) -> Self {
        self.fallbacks = commands;
        self
    }

    /// Confines commands.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: Option<Arc<Sandbox>>) -> Self {
        self.sandbox = sandbox;
        self
    }

    async fn run(
        &self,
        mut command: ShellCommand,
        input: Option<mpsc::Receiver<Bytes>>,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> Result<ExitCode, ProcessError> {
        if cancel.is_cancelled() {
            return Err(ProcessError::Aborted);
        }
        let program = match command.shell {
            ShellLanguage::Bash => ShellProgram::bash(self.bash.as_deref())?,
            ShellLanguage::PowerShell => ShellProgram::power_shell()?,
        };
        check_directory(&command.cwd).await?;
        if let Some(fallbacks) = &self.fallbacks {
            fallbacks.provide(&mut command.environment);
        }
        let mut running =
            match RunningCommand::start(&program, &command, self.sandbox.as_deref(), input, output)
            {
                Ok(running) => running,
                Err(error) => {
                    // The directory may have been deleted; the start error does not say which path is
                    // missing.
                    check_directory(&command.cwd).await?;
                    return Err(ProcessError::Start(error));
                }
            };
        let stopped = tokio::select! {
            biased;
            reason = stop_reason(command.timeout, &cancel) => Some(reason),
            forwarded = running.forward_output() => {
                forwarded.map_err(|error| wait_error(&error))?;
                None
            }
        };
        if let Some(reason) = stopped {
            running.kill().await;
            return Err(reason);
        }
        let status = running.tree.status().await;
        let status = status.map_err(|error| wait_error(&error))?;
        if let Some(pipe) = running.open_pipe() {
            self.drain(pipe);
        }
        Ok(ExitCode(exit_code(status)))
    }

    /// Reads and discards further output, so that a daemon is not killed by SIGPIPE.
    fn drain(&self, mut pipe: OutputPipe) {
        self.drained_pipes.spawn(async move {
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
        Box::pin(self.run(command, None, output, cancel))
    }

    fn execute_with_input(
        &self,
        command: ShellCommand,
        input: mpsc::Receiver<Bytes>,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        Box::pin(self.run(command, Some(input), output, cancel))
    }

    fn failure_hint(&self, output: &str) -> Option<String> {
        self.sandbox.as_ref()?.hint(output)
    }
}

/// Waits for a timeout or a cancellation.
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
        // Other errors are reported when the command is started.
        _ => Ok(()),
    }
}

fn wait_error(error: &io::Error) -> ProcessError {
    ProcessError::Other(format!("cannot wait for the command: {error}"))
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

/// Writes input to a command until either of them ends.
async fn feed(mut input: mpsc::Receiver<Bytes>, mut stdin: ChildStdin) {
    while let Some(chunk) = input.recv().await {
        if stdin.write_all(&chunk).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// A running command and its output pipe.
struct RunningCommand {
    tree: ProcessTree,
    pipe: OutputPipe,
    pipe_is_open: bool,
    buffer: BytesMut,
    output: mpsc::Sender<Bytes>,
    /// Sends input to the command; ends with it.
    _feeding: JoinSet<()>,
}

impl RunningCommand {
    fn start(
        program: &ShellProgram,
        command: &ShellCommand,
        sandbox: Option<&Sandbox>,
        input: Option<mpsc::Receiver<Bytes>>,
        output: mpsc::Sender<Bytes>,
    ) -> io::Result<Self> {
        let mut process = match sandbox {
            Some(sandbox) => sandbox.command(ConfinedProgram {
                program: program.path.as_os_str(),
                path: command
                    .environment
                    .get(OsStr::new("PATH"))
                    .map(OsString::as_os_str),
                cwd: Some(&command.cwd),
            })?,
            None => Command::new(&program.path),
        };
        process
            .args(&program.arguments)
            .current_dir(&command.cwd)
            .env_clear()
            .envs(&command.environment)
            .stdin(match input {
                Some(_) => Stdio::piped(),
                None => Stdio::null(),
            });
        let (mut tree, pipe) = program.start(process, &command.command)?;
        let mut feeding = JoinSet::new();
        if let (Some(input), Some(stdin)) = (input, tree.take_input()) {
            feeding.spawn(feed(input, stdin));
        }
        Ok(Self {
            tree,
            pipe,
            pipe_is_open: true,
            buffer: BytesMut::with_capacity(READ_BYTES),
            output,
            _feeding: feeding,
        })
    }

    /// Forwards output until the shell has exited and the pipe is closed or idle. Cancel safe: a
    /// permit is reserved before a chunk is read.
    async fn forward_output(&mut self) -> io::Result<()> {
        let mut exited = false;
        let idle = tokio::time::sleep(OUTPUT_IDLE_TIME);
        tokio::pin!(idle);
        while self.pipe_is_open {
            // Without a receiver the output is still read, otherwise the command would block.
            let permit = self.output.reserve().await.ok();
            // Waiting for a slow receiver does not count as idle time.
            idle.as_mut().reset(Instant::now() + OUTPUT_IDLE_TIME);
            self.buffer.reserve(READ_BYTES);
            let read = loop {
                tokio::select! {
                    biased;
                    read = self.pipe.read(&mut self.buffer) => break read,
                    ended = self.tree.exited(), if !exited => {
                        ended?;
                        exited = true;
                        idle.as_mut().reset(Instant::now() + OUTPUT_IDLE_TIME);
                    }
                    () = &mut idle, if exited => match self.pipe.read_available(&mut self.buffer) {
                        Some(read) => break read,
                        None => return Ok(()),
                    },
                }
            };
            if let Err(error) = &read {
                tracing::warn!(%error, "cannot read command output");
            }
            self.pipe_is_open = read.is_ok_and(|count| count > 0);
            let chunk = self.buffer.split().freeze();
            if let Some(permit) = permit
                && !chunk.is_empty()
            {
                permit.send(chunk);
            }
        }
        if !exited {
            self.tree.exited().await?;
        }
        Ok(())
    }

    /// Kills the process tree and forwards its remaining output.
    async fn kill(&mut self) {
        self.tree.kill().await;
        match tokio::time::timeout(KILL_TIMEOUT, self.forward_output()).await {
            Ok(Ok(())) => {
                if let Err(error) = self.tree.status().await {
                    tracing::warn!(%error, "cannot reap killed command");
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "cannot wait for killed command"),
            Err(_) => {
                tracing::warn!("killed command does not exit or keeps writing");
                self.tree.abandon();
            }
        }
    }

    fn open_pipe(self) -> Option<OutputPipe> {
        self.pipe_is_open.then_some(self.pipe)
    }
}
