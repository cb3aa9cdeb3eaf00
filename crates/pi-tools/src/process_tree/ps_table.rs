//! The process table of Unix systems without `/proc`, read with `ps`. Holders of a pipe cannot be
//! determined and there is no subreaper: a descendant that forked twice and left the session cannot
//! be found.

use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal};

/// Identifies a pipe; not supported here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PipeId;

#[expect(clippy::unnecessary_wraps, reason = "other systems may fail")]
pub(super) fn pipe_id(_end: &impl AsFd) -> io::Result<PipeId> {
    Ok(PipeId)
}

/// A process at the time the table was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: i32,
    pub(super) parent: i32,
    pub(super) session: i32,
    pub(super) alive: bool,
}

/// Returns all processes.
pub(super) fn processes() -> Vec<Process> {
    let listed = Command::new("/bin/ps")
        .args(["-A", "-o", "pid=,ppid=,state="])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match listed {
        Ok(output) => String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(parse)
            .collect(),
        Err(error) => {
            tracing::debug!(%error, "cannot run ps");
            Vec::new()
        }
    }
}

fn parse(line: &str) -> Option<Process> {
    let mut fields = line.split_ascii_whitespace();
    let id = fields.next()?.parse().ok()?;
    let parent = fields.next()?.parse().ok()?;
    let alive = !fields.next()?.starts_with('Z');
    let session = rustix::process::getsid(Some(Pid::from_raw(id)?)).ok()?;
    Some(Process {
        id,
        parent,
        session: session.as_raw_pid(),
        alive,
    })
}

impl Process {
    pub(super) fn signal(&self, signal: Signal) {
        let signaled = Pid::from_raw(self.id).map(|pid| rustix::process::kill_process(pid, signal));
        if let Some(Err(error)) = signaled {
            tracing::debug!(%error, pid = self.id, "cannot signal process");
        }
    }

    /// Returns whether the process holds the write end of a pipe.
    #[expect(clippy::unused_self, reason = "supported on other systems")]
    pub(super) fn can_write(&self, _pipe: PipeId) -> bool {
        false
    }
}
