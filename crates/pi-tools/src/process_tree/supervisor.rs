//! A process that kills the running commands if this one is killed. The kernel has no such
//! relation: a death signal reaches only the shell, and is bound to a thread.
//!
//! The supervisor reads the commands from a pipe. Its end means that this process has exited,
//! however that happened.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::Pid;

use super::table::{PipeId, Process};
use super::unix::TreeMembers;

/// The argument of the program that runs [`supervise_commands`].
static ARGUMENT: OnceLock<&'static str> = OnceLock::new();

static SUPERVISOR: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Makes commands end with this process, even if it is killed. The executable of this process,
/// started with `argument`, must call [`supervise_commands`].
pub fn end_commands_with_process(argument: &'static str) {
    // Only the first call counts; a program has one such argument.
    ARGUMENT.get_or_init(|| argument);
}

/// Waits until standard input ends, and kills the commands that still run.
pub fn supervise_commands() {
    let mut commands = SupervisedCommands::default();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        commands.apply(&line);
    }
    commands.kill();
}

/// A command that the supervisor knows, until this is dropped.
#[derive(Debug)]
pub(super) struct Supervision(PipeId);

impl Supervision {
    /// Reports a command before it starts: from then on, processes that write to its pipe belong to
    /// it. Returns `None` if the program has no supervisor.
    pub(super) fn start(pipe: PipeId) -> Option<Self> {
        let argument = ARGUMENT.get()?;
        let mut supervisor = SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner);
        let message = Message::Output(pipe);
        // It may have been killed, too.
        if let Some(existing) = supervisor.as_mut()
            && message.send(existing).is_ok()
        {
            return Some(Self(pipe));
        }
        let started = spawn(argument).and_then(|mut started| {
            message.send(&mut started)?;
            Ok(started)
        });
        match started {
            Ok(started) => {
                *supervisor = Some(started);
                Some(Self(pipe))
            }
            Err(error) => {
                tracing::warn!(%error, "cannot start the supervisor of commands");
                None
            }
        }
    }

    /// Reports the shell of the command.
    pub(super) fn set_shell(&self, shell: Pid) {
        let started = Process::read(shell.as_raw_pid()).map_or(0, |process| process.started);
        send(Message::Shell {
            pipe: self.0,
            id: shell.as_raw_pid(),
            started,
        });
    }
}

impl Drop for Supervision {
    fn drop(&mut self) {
        send(Message::Done(self.0));
    }
}

fn send(message: Message) {
    let mut supervisor = SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pipe) = supervisor.as_mut()
        && let Err(error) = message.send(pipe)
    {
        tracing::debug!(%error, "cannot reach the supervisor of commands");
    }
}

/// Starts this executable as the supervisor, in a process group that terminals do not signal. It
/// has no use for the environment, which may contain keys.
fn spawn(argument: &str) -> io::Result<ChildStdin> {
    let mut child = Command::new("/proc/self/exe")
        .arg(argument)
        .current_dir("/")
        .env_clear()
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let pipe = child.stdin.take();
    pipe.ok_or_else(|| io::Error::other("the supervisor has no input"))
}

/// A line for the supervisor. Commands are identified by their output pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Message {
    Output(PipeId),
    Shell { pipe: PipeId, id: i32, started: u64 },
    Done(PipeId),
}

impl Message {
    fn send(self, pipe: &mut impl Write) -> io::Result<()> {
        let line = match self {
            Self::Output(PipeId(pipe)) => format!("output {pipe}\n"),
            Self::Shell {
                pipe: PipeId(pipe),
                id,
                started,
            } => format!("shell {pipe} {id} {started}\n"),
            Self::Done(PipeId(pipe)) => format!("done {pipe}\n"),
        };
        pipe.write_all(line.as_bytes())
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let pipe = PipeId(words.next()?.parse().ok()?);
        Some(match name {
            "output" => Self::Output(pipe),
            "shell" => Self::Shell {
                pipe,
                id: words.next()?.parse().ok()?,
                started: words.next()?.parse().ok()?,
            },
            "done" => Self::Done(pipe),
            _ => return None,
        })
    }
}

/// The commands that run, with ID and start time of their shell once it has started.
#[derive(Debug, Default)]
struct SupervisedCommands(HashMap<u64, Option<(i32, u64)>>);

impl SupervisedCommands {
    fn apply(&mut self, line: &str) {
        match Message::parse(line) {
            Some(Message::Output(PipeId(pipe))) => {
                self.0.insert(pipe, None);
            }
            Some(Message::Shell {
                pipe: PipeId(pipe),
                id,
                started,
            }) => {
                self.0.insert(pipe, Some((id, started)));
            }
            Some(Message::Done(PipeId(pipe))) => {
                self.0.remove(&pipe);
            }
            None => {}
        }
    }

    fn kill(self) {
        for (pipe, shell) in self.0 {
            let pipe = PipeId(pipe);
            let shell = shell.and_then(|(id, started)| {
                // Another process may have the ID if the shell has exited.
                let is_shell = Process::read(id).is_some_and(|it| it.started == started);
                Pid::from_raw(id).filter(|_| is_shell)
            });
            match shell {
                Some(root) => TreeMembers { root, pipe }.kill(),
                None => TreeMembers::kill_writers(pipe),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip() {
        let pipe = PipeId(7);
        for message in [
            Message::Output(pipe),
            Message::Shell {
                pipe,
                id: 42,
                started: 4711,
            },
            Message::Done(pipe),
        ] {
            let mut line = Vec::new();
            message.send(&mut line).unwrap();
            let line = String::from_utf8(line).unwrap();
            assert_eq!(Message::parse(line.trim_end()), Some(message));
        }
        for line in ["", "output", "output x", "shell 7", "other 7"] {
            assert_eq!(Message::parse(line), None);
        }
    }
}
