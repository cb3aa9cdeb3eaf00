//! A child process that serves requests on its standard input and output, with its descendants: `npx` and `uvx` start
//! the server as a child and do not forward signals.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdin};
use tokio::signal::unix::SignalKind;

use super::lead_session;
use super::table;
use super::unix::{TreeMembers, has_ended, signal_group};

/// The standard streams of a server.
#[derive(Debug)]
pub struct ServerStreams {
    pub input: ChildStdin,
    pub output: pipe::Receiver,
    pub errors: pipe::Receiver,
}

/// A running server. Its processes are killed on drop, and if this process is killed.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    members: TreeMembers,
    sigchld: tokio::signal::unix::Signal,
    is_reaped: bool,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    supervision: Option<super::supervisor::Supervision>,
}

impl ServerProcess {
    /// Starts a server.
    pub fn spawn(mut command: Command) -> io::Result<(Self, ServerStreams)> {
        let (output, output_writer) = io::pipe()?;
        let (errors, errors_writer) = io::pipe()?;
        let pipe_id = table::pipe_id(&output)?;
        command
            .stdin(Stdio::piped())
            .stdout(output_writer)
            .stderr(errors_writer);
        lead_session(&mut command);
        let output = pipe::Receiver::from_owned_fd(output.into())?;
        let errors = pipe::Receiver::from_owned_fd(errors.into())?;
        // Registered before the child exists, so that its exit cannot be missed.
        let sigchld = tokio::signal::unix::signal(SignalKind::child())?;
        let mut command = tokio::process::Command::from(command);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let supervision = super::supervisor::Supervision::start(pipe_id);
        let mut child = command.spawn()?;
        // The command holds our copies of the write ends, which would keep the pipes open.
        drop(command);
        let root = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(rustix::process::Pid::from_raw)
            .ok_or_else(|| io::Error::other("the started process has no ID"))?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(supervision) = &supervision {
            supervision.set_shell(root);
        }
        let input = child.stdin.take();
        let process = Self {
            child,
            members: TreeMembers {
                root,
                pipe: pipe_id,
            },
            sigchld,
            is_reaped: false,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            supervision,
        };
        let input = input.ok_or_else(|| io::Error::other("the started process has no input"))?;
        let streams = ServerStreams {
            input,
            output,
            errors,
        };
        Ok((process, streams))
    }

    /// Waits until the process has exited, without reaping it. Cancel safe.
    pub async fn exited(&mut self) -> io::Result<()> {
        loop {
            if has_ended(self.members.root)? {
                return Ok(());
            }
            if self.sigchld.recv().await.is_none() {
                return Err(io::Error::other("signals are no longer delivered"));
            }
        }
    }

    /// Ends the server, whose input must be closed: waits for `patience`, then asks it to terminate and waits for `grace`,
    /// then kills it. Descendants that are left are killed in any case.
    pub async fn end(mut self, patience: Duration, grace: Duration) {
        if tokio::time::timeout(patience, self.exited()).await.is_err() {
            signal_group(self.members.root, rustix::process::Signal::TERM);
            tokio::time::timeout(grace, self.exited()).await.ok();
        }
        let members = self.members;
        let killed = tokio::task::spawn_blocking(move || members.kill()).await;
        if killed.is_err() {
            // The runtime is shutting down.
            members.kill();
        }
        if let Err(error) = self.child.wait().await {
            tracing::debug!(%error, "cannot wait for a server process");
        }
        self.is_reaped = true;
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.members.kill();
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        drop(self.supervision.take());
    }
}
