//! A child process that serves requests on its standard input and output.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

/// The standard streams of a server.
#[derive(Debug)]
pub struct ServerStreams {
    pub input: ChildStdin,
    pub output: ChildStdout,
    pub errors: ChildStderr,
}

/// A running server. It is killed on drop.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
}

impl ServerProcess {
    /// Starts a server.
    pub fn spawn(mut command: Command) -> io::Result<(Self, ServerStreams)> {
        use std::os::windows::process::CommandExt;
        /// Prevents a console window from flashing up.
        const CREATE_NO_WINDOW: u32 = 0x0800_0000;

        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .creation_flags(CREATE_NO_WINDOW);
        let mut command = tokio::process::Command::from(command);
        command.kill_on_drop(true);
        let mut child = command.spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = streams else {
            return Err(io::Error::other("the started process has no streams"));
        };
        let streams = ServerStreams {
            input,
            output,
            errors,
        };
        Ok((Self { child }, streams))
    }

    /// Waits until the process has exited. Cancel safe.
    pub async fn exited(&mut self) -> io::Result<()> {
        self.child.wait().await.map(drop)
    }

    /// Ends the server, whose input must be closed: waits for `patience`, then kills it with its descendants.
    pub async fn end(mut self, patience: Duration, grace: Duration) {
        if tokio::time::timeout(patience, self.exited()).await.is_ok() {
            return;
        }
        if let Some(id) = self.child.id() {
            let id = id.to_string();
            let mut kill = tokio::process::Command::new("taskkill");
            kill.args(["/pid", &id, "/T", "/F"]);
            if let Err(error) = kill.status().await {
                tracing::debug!(%error, "cannot run taskkill");
            }
        }
        tokio::time::timeout(grace, self.exited()).await.ok();
    }
}
