//! A process that kills the running commands if this one is killed. The kernel has no such
//! relation: a death signal reaches only the shell, and is bound to a thread.
//!
//! The supervisor reads the commands from a pipe. Its end means that this process has exited,
//! however that happened. Child processes of extensions are supervised, too, but may outlive a
//! process that exits normally.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;

use parking_lot::Mutex;
use rustix::process::Pid;

use super::table::{PipeId, Process};
use super::unix::{TreeMembers, kill_attached, kill_group};

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
        begin(Message::Output(pipe)).then_some(Self(pipe))
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

/// What a child process is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildPurpose {
    /// The caller is blocked until it ends.
    Awaited,
    /// It may outlive a process that exits normally.
    Background,
}

/// A child process that is killed if this process is, until this is dropped. So are its descendants,
/// except those that lead another session.
#[derive(Debug)]
pub struct SupervisedChild(i32);

impl SupervisedChild {
    /// Starts the supervisor. Called before a child is started, so that it can be reported at once.
    pub fn prepare() {
        if let Some(argument) = ARGUMENT.get() {
            let mut supervisor = SUPERVISOR.lock();
            if supervisor.is_none() {
                *supervisor = start(argument, None);
            }
        }
    }

    /// Reports a child process; `None` if the program has no supervisor.
    pub fn start(id: u32, purpose: ChildPurpose) -> Option<Self> {
        let id = i32::try_from(id).ok()?;
        let started = Process::read(id)?.started;
        let message = match purpose {
            ChildPurpose::Awaited => Message::AwaitedChild { id, started },
            ChildPurpose::Background => Message::Child { id, started },
        };
        begin(message).then_some(Self(id))
    }
}

impl Drop for SupervisedChild {
    fn drop(&mut self) {
        send(Message::ChildDone(self.0));
    }
}

/// Lets background children outlive this process, which is about to exit normally.
pub fn release_children() {
    send(Message::Release);
}

/// Sends the first message about a process, and starts the supervisor if there is none. Returns
/// whether it was sent.
fn begin(message: Message) -> bool {
    let Some(argument) = ARGUMENT.get() else {
        return false;
    };
    let mut supervisor = SUPERVISOR.lock();
    // It may have been killed, too.
    if let Some(existing) = supervisor.as_mut()
        && message.send(existing).is_ok()
    {
        return true;
    }
    *supervisor = start(argument, Some(message));
    supervisor.is_some()
}

/// Starts the supervisor and sends it a message.
fn start(argument: &str, message: Option<Message>) -> Option<ChildStdin> {
    let started = spawn(argument).and_then(|mut started| {
        if let Some(message) = message {
            message.send(&mut started)?;
        }
        Ok(started)
    });
    started
        .inspect_err(|error| tracing::warn!(%error, "cannot start the supervisor of commands"))
        .ok()
}

fn send(message: Message) {
    let mut supervisor = SUPERVISOR.lock();
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
    Child { id: i32, started: u64 },
    AwaitedChild { id: i32, started: u64 },
    ChildDone(i32),
    Release,
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
            Self::Child { id, started } => format!("child {id} {started}\n"),
            Self::AwaitedChild { id, started } => format!("awaited-child {id} {started}\n"),
            Self::ChildDone(id) => format!("child-done {id}\n"),
            Self::Release => "release\n".to_owned(),
        };
        pipe.write_all(line.as_bytes())
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let mut number = || words.next()?.parse::<u64>().ok();
        let id = |number: u64| i32::try_from(number).ok();
        Some(match name {
            "output" => Self::Output(PipeId(number()?)),
            "shell" => Self::Shell {
                pipe: PipeId(number()?),
                id: id(number()?)?,
                started: number()?,
            },
            "done" => Self::Done(PipeId(number()?)),
            "child" => Self::Child {
                id: id(number()?)?,
                started: number()?,
            },
            "awaited-child" => Self::AwaitedChild {
                id: id(number()?)?,
                started: number()?,
            },
            "child-done" => Self::ChildDone(id(number()?)?),
            "release" => Self::Release,
            _ => return None,
        })
    }
}

/// What is killed when this process has exited.
#[derive(Debug, Default)]
struct SupervisedCommands {
    /// The commands that run, by output pipe, with ID and start time of their shell once it has started.
    shells: HashMap<u64, Option<(i32, u64)>>,
    /// Child processes by ID, with their start times.
    children: HashMap<i32, (ChildPurpose, u64)>,
}

impl SupervisedCommands {
    fn apply(&mut self, line: &str) {
        match Message::parse(line) {
            Some(Message::Output(PipeId(pipe))) => {
                self.shells.insert(pipe, None);
            }
            Some(Message::Shell {
                pipe: PipeId(pipe),
                id,
                started,
            }) => {
                self.shells.insert(pipe, Some((id, started)));
            }
            Some(Message::Done(PipeId(pipe))) => {
                self.shells.remove(&pipe);
            }
            Some(Message::Child { id, started }) => {
                let child = (ChildPurpose::Background, started);
                self.children.insert(id, child);
            }
            Some(Message::AwaitedChild { id, started }) => {
                self.children.insert(id, (ChildPurpose::Awaited, started));
            }
            Some(Message::ChildDone(id)) => {
                self.children.remove(&id);
            }
            Some(Message::Release) => {
                let is_awaited = |purpose| purpose == ChildPurpose::Awaited;
                self.children.retain(|_, (purpose, _)| is_awaited(*purpose));
            }
            None => {}
        }
    }

    fn kill(self) {
        for (pipe, shell) in self.shells {
            let pipe = PipeId(pipe);
            let shell = shell.and_then(|(id, started)| running(id, started));
            match shell.and_then(|shell| Pid::from_raw(shell.id)) {
                Some(root) => TreeMembers { root, pipe }.kill(),
                None => TreeMembers::kill_writers(pipe),
            }
        }
        for (id, (_, started)) in self.children {
            match running(id, started) {
                Some(child) => kill_attached(&child),
                // It may have exited because this process did, and left children behind.
                None if Process::read(id).is_none() => kill_group(id),
                None => {}
            }
        }
    }
}

/// Returns a process; `None` if it has exited. Another one may have its ID then.
fn running(id: i32, started: u64) -> Option<Process> {
    Process::read(id).filter(|process| process.started == started)
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
            Message::Child {
                id: 42,
                started: 4711,
            },
            Message::AwaitedChild {
                id: 42,
                started: 4711,
            },
            Message::ChildDone(42),
            Message::Release,
        ] {
            let mut line = Vec::new();
            message.send(&mut line).unwrap();
            let line = String::from_utf8(line).unwrap();
            assert_eq!(Message::parse(line.trim_end()), Some(message));
        }
        for line in [
            "",
            "output",
            "output x",
            "shell 7",
            "child 7",
            "child-done -1",
            "other 7",
        ] {
            assert_eq!(Message::parse(line), None);
        }
    }
}
