//! Process trees on Unix.

use std::collections::HashSet;
use std::io;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdin};
use tokio::signal::unix::SignalKind;

use super::table::{self, PipeId, Process};
use super::{KILL_TIMEOUT, lead_session};

/// Capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// The read end of the pipe that both output streams of a command use.
#[derive(Debug)]
pub(crate) struct OutputPipe(pipe::Receiver);

impl OutputPipe {
    /// Waits for output and appends it; returns 0 if no process can write anymore. Cancel safe.
    pub(crate) async fn read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.0.read_buf(buffer).await
    }

    /// Appends output that is in the pipe now; `None` if there is none. Unlike [`read`](Self::read), does not depend on
    /// what the runtime has noticed: on a loaded machine a timer may fire before a change of the pipe is processed.
    pub(crate) fn read_available(&mut self, buffer: &mut BytesMut) -> Option<io::Result<usize>> {
        let mut chunk = vec![0; CHUNK_BYTES];
        // The runtime has made the pipe non-blocking.
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.0, &mut chunk)) {
            Ok(count) => {
                buffer.extend_from_slice(chunk.get(..count).unwrap_or_default());
                Some(Ok(count))
            }
            Err(Errno::AGAIN) => None,
            Err(error) => Some(Err(error.into())),
        }
    }
}

/// A running command with all its descendants, which are killed on drop.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    shell: Child,
    members: TreeMembers,
    sigchld: tokio::signal::unix::Signal,
    done: bool,
    /// Until the shell is reaped: what the command leaves behind may outlive this process.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    supervision: Option<super::supervisor::Supervision>,
}

impl ProcessTree {
    /// Starts a command whose output goes to the returned pipe.
    pub(crate) fn spawn(mut command: Command) -> io::Result<(Self, OutputPipe)> {
        let (reader, writer) = io::pipe()?;
        let members_pipe = table::pipe_id(&reader)?;
        command.stdout(writer.try_clone()?).stderr(writer);
        lead_session(&mut command);
        let reader = pipe::Receiver::from_owned_fd(reader.into())?;
        // Registered before the child exists, so that its exit cannot be missed.
        let sigchld = tokio::signal::unix::signal(SignalKind::child())?;
        let mut command = tokio::process::Command::from(command);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let supervision = super::supervisor::Supervision::start(members_pipe);
        let shell = command.spawn()?;
        // The command holds our copy of the write end, which would keep the pipe open.
        drop(command);
        let root = shell
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("the started process has no ID"))?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(supervision) = &supervision {
            supervision.set_shell(root);
        }
        let tree = Self {
            shell,
            members: TreeMembers {
                root,
                pipe: members_pipe,
            },
            sigchld,
            done: false,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            supervision,
        };
        Ok((tree, OutputPipe(reader)))
    }

    /// Returns the standard input of the shell, if it is a pipe and was not taken before.
    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.shell.stdin.take()
    }

    /// Waits until the shell has exited, without reaping it. Cancel safe.
    pub(crate) async fn exited(&mut self) -> io::Result<()> {
        loop {
            if has_ended(self.members.root)? {
                return Ok(());
            }
            if self.sigchld.recv().await.is_none() {
                return Err(io::Error::other("signals are no longer delivered"));
            }
        }
    }

    /// Reaps the shell and returns its exit status.
    pub(crate) async fn status(&mut self) -> io::Result<ExitStatus> {
        let status = self.shell.wait().await;
        self.done = true;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        drop(self.supervision.take());
        status
    }

    /// Kills the shell and all its descendants, and waits until they are gone.
    pub(crate) async fn kill(&mut self) {
        let members = self.members;
        let killed = tokio::task::spawn_blocking(move || members.kill()).await;
        if killed.is_err() {
            // The runtime is shutting down.
            members.kill();
        }
    }

    /// Stops tracking a killed tree that does not exit.
    pub(crate) fn abandon(&mut self) {
        self.done = true;
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if !self.done {
            self.members.kill();
        }
    }
}

/// How often to check for the exit of killed processes.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Returns whether a child has exited, without reaping it.
pub(super) fn has_ended(child: Pid) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    Ok(rustix::process::waitid(WaitId::Pid(child), options)?.is_some())
}

/// The processes to kill.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeMembers {
    pub(super) root: Pid,
    pub(super) pipe: PipeId,
}

impl TreeMembers {
    /// Kills the processes that can write to a pipe, for a command whose shell is gone.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn kill_writers(pipe: PipeId) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        loop {
            let mut writers = table::processes();
            writers.retain(|process| process.alive && process.can_write(pipe));
            if writers.is_empty() || Instant::now() >= deadline {
                break;
            }
            for process in &writers {
                process.signal(Signal::KILL);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Kills all members. The shell must not have been reaped.
    pub(super) fn kill(self) {
        // A stopped shell cannot exit, so orphaned processes are reparented to it.
        signal_group(self.root, Signal::STOP);
        let deadline = Instant::now() + KILL_TIMEOUT;
        let mut sessions = HashSet::from([self.root.as_raw_pid()]);
        loop {
            let processes = table::processes();
            let members = self.find(&processes, &sessions);
            if members.is_empty() || Instant::now() >= deadline {
                break;
            }
            sessions.extend(members.iter().map(|process| process.session));
            // Stop all of them before killing the first, so that they cannot fork or react. Killing
            // some may resume others (orphaned process groups are continued), hence the loop.
            for process in &members {
                process.signal(Signal::STOP);
            }
            for process in &members {
                process.signal(Signal::KILL);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        signal_group(self.root, Signal::KILL);
        while Instant::now() < deadline && matches!(has_ended(self.root), Ok(false)) {
            std::thread::sleep(POLL_INTERVAL);
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
        // After the shell has exited, its orphans are no longer its descendants. A process that can
        // still write to our pipe inherited it from the shell.
        let is_member = |process: &Process| {
            sessions.contains(&process.session) || (!shell_lives && process.can_write(self.pipe))
        };
        known.extend(
            processes
                .iter()
                .filter(|process| process.alive && process.id != own && is_member(process))
                .map(|process| process.id),
        );
        let known = with_descendants(known, processes, |_| true);
        processes
            .iter()
            .filter(|process| process.alive && process.id != root && known.contains(&process.id))
            .collect()
    }
}

/// Kills a process that shares its session with others, and its descendants. A descendant that leads a
/// session was detached on purpose: it survives, with its own descendants.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn kill_attached(root: &Process) {
    // A stopped process cannot start others.
    root.signal(Signal::STOP);
    let deadline = Instant::now() + KILL_TIMEOUT;
    loop {
        let processes = table::processes();
        let attached = |process: &&Process| process.alive && process.id != process.session;
        let known = with_descendants(HashSet::from([root.id]), &processes, attached);
        let is_member = |process: &&Process| process.id != root.id && known.contains(&process.id);
        let members: Vec<_> = processes.iter().filter(is_member).collect();
        if members.is_empty() || Instant::now() >= deadline {
            break;
        }
        for signal in [Signal::STOP, Signal::KILL] {
            for process in &members {
                process.signal(signal);
            }
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    root.signal(Signal::KILL);
    kill_group(root.id);
}

/// Kills the process group that a process leads or led, if there is one.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn kill_group(leader: i32) {
    if let Some(group) = Pid::from_raw(leader) {
        // Fails if the process was not a leader, or if the group is gone.
        rustix::process::kill_process_group(group, Signal::KILL).ok();
    }
}

/// Adds the descendants of known processes that are accepted.
fn with_descendants(
    mut known: HashSet<i32>,
    processes: &[Process],
    is_accepted: impl Fn(&&Process) -> bool,
) -> HashSet<i32> {
    // A child may be listed before its parent.
    loop {
        let before = known.len();
        for process in processes.iter().filter(&is_accepted) {
            if known.contains(&process.parent) {
                known.insert(process.id);
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

/// Signals the process group of the shell, or only the shell if that fails.
pub(super) fn signal_group(root: Pid, signal: Signal) {
    if rustix::process::kill_process_group(root, signal).is_err()
        && let Err(error) = rustix::process::kill_process(root, signal)
    {
        tracing::debug!(%error, pid = root.as_raw_pid(), "cannot signal process");
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn output_is_read_before_the_runtime_notices_it() {
        let mut command = Command::new("sh");
        // A child keeps the pipe.
        command.args(["-c", "sleep 600 & printf last"]);
        let (mut tree, mut pipe) = ProcessTree::spawn(command).unwrap();
        // Blocks the only thread of the runtime.
        while !has_ended(tree.members.root).unwrap() {
            std::thread::sleep(POLL_INTERVAL);
        }
        let mut buffer = BytesMut::new();
        assert_eq!(pipe.read_available(&mut buffer).unwrap().unwrap(), 4);
        assert_eq!(buffer.as_ref(), b"last");
        assert!(pipe.read_available(&mut buffer).is_none());
        tree.kill().await;
        assert_eq!(pipe.read_available(&mut buffer).unwrap().unwrap(), 0);
    }
}
