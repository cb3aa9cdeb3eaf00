//! Process trees on Windows.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};

use bytes::{Bytes, BytesMut};
use tokio::process::Child;
use tokio::sync::mpsc;

/// Capacity of the channel from the reader thread; enough to keep both sides busy.
const CHANNEL_CAPACITY: usize = 4;

const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Debug)]
/// The read end of the pipe that both output streams of a command use.
///
/// An anonymous pipe requires a blocking thread. It is not a thread of the runtime, because a
/// daemon that keeps the pipe open would prevent the program from exiting.
pub(crate) struct OutputPipe(mpsc::Receiver<Bytes>);

impl OutputPipe {
    fn new(mut reader: io::PipeReader) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
        std::thread::Builder::new()
            .name("command output".to_owned())
            .spawn(move || {
                let mut buffer = vec![0; CHUNK_BYTES];
                while let Ok(count @ 1..) = reader.read(&mut buffer) {
                    let chunk = Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default());
                    if sender.blocking_send(chunk).is_err() {
                        break;
                    }
                }
            })?;
        Ok(Self(receiver))
    }

    /// Waits for output and appends it; returns 0 if no process can write anymore. Cancel safe.
    pub(crate) async fn read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        let Some(chunk) = self.0.recv().await else {
            return Ok(0);
        };
        buffer.extend_from_slice(&chunk);
        Ok(chunk.len())
    }

    /// Appends output that the thread has read; `None` if there is none.
    pub(crate) fn read_available(&mut self, buffer: &mut BytesMut) -> Option<io::Result<usize>> {
        match self.0.try_recv() {
            Ok(chunk) => {
                buffer.extend_from_slice(&chunk);
                Some(Ok(chunk.len()))
            }
            Err(mpsc::error::TryRecvError::Empty) => None,
            Err(mpsc::error::TryRecvError::Disconnected) => Some(Ok(0)),
        }
    }
}

/// A running command with all its descendants, which are killed on drop.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    shell: Child,
    done: bool,
}

impl ProcessTree {
    /// Starts a command whose output goes to the returned pipe.
    pub(crate) fn spawn(mut command: Command) -> io::Result<(Self, OutputPipe)> {
        use std::os::windows::process::CommandExt;
        /// Prevents a console window from flashing up.
        const CREATE_NO_WINDOW: u32 = 0x0800_0000;

        let (reader, writer) = io::pipe()?;
        command
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .creation_flags(CREATE_NO_WINDOW);
        let mut command = tokio::process::Command::from(command);
        let shell = command.spawn()?;
        // The command holds our copy of the write end, which would keep the pipe open.
        drop(command);
        let tree = Self { shell, done: false };
        Ok((tree, OutputPipe::new(reader)?))
    }

    /// Takes the standard input of the shell, if it is piped.
    pub(crate) fn take_input(&mut self) -> Option<tokio::process::ChildStdin> {
        self.shell.stdin.take()
    }

    /// Waits until the shell has exited. Cancel safe.
    pub(crate) async fn exited(&mut self) -> io::Result<()> {
        self.shell.wait().await.map(drop)
    }

    /// Returns the exit status of the shell.
    pub(crate) async fn status(&mut self) -> io::Result<ExitStatus> {
        let status = self.shell.wait().await;
        self.done = true;
        status
    }

    /// Kills the shell and all its descendants.
    pub(crate) async fn kill(&mut self) {
        let Some(mut taskkill) = self.taskkill() else {
            return;
        };
        match tokio::task::spawn_blocking(move || taskkill.status()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "cannot run taskkill"),
            Err(error) => tracing::warn!(%error, "taskkill panicked"),
        }
        if let Err(error) = self.shell.start_kill() {
            tracing::debug!(%error, "the shell has already exited");
        }
    }

    /// Stops tracking a killed tree that does not exit.
    pub(crate) fn abandon(&mut self) {
        self.done = true;
    }

    /// Uses the full path of taskkill, so that cleanup does not depend on `PATH`.
    fn taskkill(&self) -> Option<Command> {
        let system = std::env::var_os("SystemRoot").unwrap_or_else(|| r"C:\Windows".into());
        let program = std::path::Path::new(&system).join(r"System32\taskkill.exe");
        let mut command = Command::new(program);
        command
            .args(["/F", "/T", "/PID", &self.shell.id()?.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Some(command)
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if let Some(mut taskkill) = self.taskkill()
            && let Err(error) = taskkill.status()
        {
            tracing::warn!(%error, "cannot run taskkill");
        }
    }
}
