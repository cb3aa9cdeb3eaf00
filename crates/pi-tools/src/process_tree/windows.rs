//! Process trees on Windows.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};

use bytes::{Bytes, BytesMut};
use tokio::process::Child;
use tokio::sync::mpsc;

/// Pieces of output between the reading thread and us: enough to keep both busy.
const PIECES_IN_FLIGHT: usize = 4;

const PIECE_BYTES: usize = 64 * 1024;

/// The end of the pipe that both output streams of a command flow into.
///
/// An anonymous pipe can only be waited for by a thread. The thread is not one of the runtime's: a
/// daemon that keeps the pipe would keep the program from ending.
#[derive(Debug)]
pub(crate) struct OutputPipe(mpsc::Receiver<Bytes>);

impl OutputPipe {
    fn new(mut reader: io::PipeReader) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(PIECES_IN_FLIGHT);
        std::thread::Builder::new()
            .name("command output".to_owned())
            .spawn(move || {
                let mut buffer = vec![0; PIECE_BYTES];
                while let Ok(count @ 1..) = reader.read(&mut buffer) {
                    let piece = Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default());
                    if sender.blocking_send(piece).is_err() {
                        break;
                    }
                }
            })?;
        Ok(Self(receiver))
    }

    /// Waits for output and appends it; 0 when nobody can write any more. Cancel safe.
    pub(crate) async fn read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        let Some(piece) = self.0.recv().await else {
            return Ok(0);
        };
        buffer.extend_from_slice(&piece);
        Ok(piece.len())
    }
}

/// A running command with all its descendants; dropping it kills them.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    shell: Child,
    settled: bool,
}

impl ProcessTree {
    /// Starts a command, its output flowing into the returned pipe.
    pub(crate) fn spawn(mut command: Command) -> io::Result<(Self, OutputPipe)> {
        use std::os::windows::process::CommandExt;
        /// No console window flashes up.
        const CREATE_NO_WINDOW: u32 = 0x0800_0000;

        let (reader, writer) = io::pipe()?;
        command
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .creation_flags(CREATE_NO_WINDOW);
        let mut command = tokio::process::Command::from(command);
        let shell = command.spawn()?;
        // The command holds our copy of the writing end: the pipe would never end.
        drop(command);
        let tree = Self {
            shell,
            settled: false,
        };
        Ok((tree, OutputPipe::new(reader)?))
    }

    /// Takes the shell's input, where it was asked to be a pipe.
    pub(crate) fn take_input(&mut self) -> Option<tokio::process::ChildStdin> {
        self.shell.stdin.take()
    }

    /// Waits until the shell has ended. Cancel safe.
    pub(crate) async fn exited(&mut self) -> io::Result<()> {
        self.shell.wait().await.map(drop)
    }

    /// Returns how the shell ended.
    pub(crate) async fn status(&mut self) -> io::Result<ExitStatus> {
        let status = self.shell.wait().await;
        self.settled = true;
        status
    }

    /// Kills the shell and everything it started.
    pub(crate) async fn kill(&mut self) {
        let Some(mut taskkill) = self.taskkill() else {
            return;
        };
        match tokio::task::spawn_blocking(move || taskkill.status()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "taskkill could not be run"),
            Err(error) => tracing::warn!(%error, "taskkill broke down"),
        }
        if let Err(error) = self.shell.start_kill() {
            tracing::debug!(%error, "the shell has ended already");
        }
    }

    /// Lets go of a tree that was killed and does not end.
    pub(crate) fn give_up(&mut self) {
        self.settled = true;
    }

    /// The system's own program, by its full path: cleaning up must not depend on `PATH`.
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
        if self.settled {
            return;
        }
        if let Some(mut taskkill) = self.taskkill()
            && let Err(error) = taskkill.status()
        {
            tracing::warn!(%error, "taskkill could not be run");
        }
    }
}
