//! Process trees on Unix.

use std::collections::HashSet;
use std::io;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::signal::unix::SignalKind;

use super::table::{self, PipeId, Process};
use super::{KILL_PATIENCE, lead_session};

/// The end of the pipe that both output streams of a command flow into.
#[derive(Debug)]
pub(crate) struct OutputPipe(pipe::Receiver);

impl OutputPipe {
    /// Waits for output and appends it; 0 when nobody can write any more. Cancel safe.
    pub(crate) async fn read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.0.read_buf(buffer).await
    }
}

/// A running command with all its descendants; dropping it kills them.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    shell: Child,
    members: Members,
    child_ends: tokio::signal::unix::Signal,
    settled: bool,
}

impl ProcessTree {
    /// Starts a command, its output flowing into the returned pipe.
    pub(crate) fn spawn(mut command: Command) -> io::Result<(Self, OutputPipe)> {
        let (reader, writer) = io::pipe()?;
        let members_pipe = table::pipe_id(&reader)?;
        command.stdout(writer.try_clone()?).stderr(writer);
        lead_session(&mut command);
        let reader = pipe::Receiver::from_owned_fd(reader.into())?;
        // Before the child exists, so that its end cannot be missed.
        let child_ends = tokio::signal::unix::signal(SignalKind::child())?;
        let mut command = tokio::process::Command::from(command);
        let shell = command.spawn()?;
        // The command holds our copy of the writing end: the pipe would never end.
        drop(command);
        let root = shell
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("the started process has no id"))?;
        let tree = Self {
            shell,
            members: Members {
                root,
                pipe: members_pipe,
            },
            child_ends,
            settled: false,
        };
        Ok((tree, OutputPipe(reader)))
    }

    /// Waits until the shell has ended, without reaping it. Cancel safe.
    pub(crate) async fn exited(&mut self) -> io::Result<()> {
        loop {
            if has_ended(self.members.root)? {
                return Ok(());
            }
            if self.child_ends.recv().await.is_none() {
                return Err(io::Error::other("signals are not delivered any more"));
            }
        }
    }

    /// Reaps the shell and returns how it ended.
    pub(crate) async fn status(&mut self) -> io::Result<ExitStatus> {
        let status = self.shell.wait().await;
        self.settled = true;
        status
    }

    /// Kills the shell and everything it started, and waits until they are gone.
    pub(crate) async fn kill(&mut self) {
        let members = self.members;
        let killed = tokio::task::spawn_blocking(move || members.kill()).await;
        if killed.is_err() {
            // The runtime is going down.
            members.kill();
        }
    }

    /// Lets go of a tree that was killed and does not end.
    pub(crate) fn give_up(&mut self) {
        self.settled = true;
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if !self.settled {
            self.members.kill();
        }
    }
}

/// Between two looks at processes that are about to end.
const BREATH: Duration = Duration::from_millis(1);

/// Returns whether a child of ours has ended; it is not reaped.
fn has_ended(child: Pid) -> io::Result<bool> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    Ok(rustix::process::waitid(WaitId::Pid(child), look)?.is_some())
}

/// Whom a kill concerns.
#[derive(Debug, Clone, Copy)]
struct Members {
    root: Pid,
    pipe: PipeId,
}

impl Members {
    /// Ends all members. The shell must not have been reaped.
    fn kill(self) {
        // A shell that is stopped cannot end, so what loses its parent meanwhile comes to it.
        signal_group(self.root, Signal::STOP);
        let deadline = Instant::now() + KILL_PATIENCE;
        let mut sessions = HashSet::from([self.root.as_raw_pid()]);
        loop {
            let processes = table::processes();
            let members = self.find(&processes, &sessions);
            if members.is_empty() || Instant::now() >= deadline {
                break;
            }
            sessions.extend(members.iter().map(|process| process.session));
            // Stopped before the first is killed: they can neither fork nor tell each other. Killing
            // some may set others going again (orphaned groups are continued), hence the rounds.
            for process in &members {
                process.signal(Signal::STOP);
            }
            for process in &members {
                process.signal(Signal::KILL);
            }
            std::thread::sleep(BREATH);
        }
        signal_group(self.root, Signal::KILL);
        while Instant::now() < deadline && matches!(has_ended(self.root), Ok(false)) {
            std::thread::sleep(BREATH);
        }
    }

    /// Returns the living members except the shell.
    fn find<'a>(self, processes: &'a [Process], sessions: &HashSet<i32>) -> Vec<&'a Process> {
        let root = self.root.as_raw_pid();
        let shell_lives = processes
            .iter()
            .any(|process| process.id == root && process.alive);
        let mut known = HashSet::from([root]);
        let own = std::process::id().cast_signed();
        // Once the shell has ended its orphans are no longer below it. Who can still write to our
        // pipe got it from the shell.
        let joins = |process: &Process| {
            sessions.contains(&process.session) || (!shell_lives && process.can_write(self.pipe))
        };
        known.extend(
            processes
                .iter()
                .filter(|process| process.alive && process.id != own && joins(process))
                .map(|process| process.id),
        );
        // A child may be listed before its parent.
        loop {
            let before = known.len();
            for process in processes {
                if known.contains(&process.parent) {
                    known.insert(process.id);
                }
            }
            if known.len() == before {
                break;
            }
        }
        processes
            .iter()
            .filter(|process| process.alive && process.id != root && known.contains(&process.id))
            .collect()
    }
}

/// Signals the shell's group, or the shell alone where the group cannot be reached.
fn signal_group(root: Pid, signal: Signal) {
    if rustix::process::kill_process_group(root, signal).is_err()
        && let Err(error) = rustix::process::kill_process(root, signal)
    {
        tracing::debug!(%error, pid = root.as_raw_pid(), "the process could not be signaled");
    }
}
