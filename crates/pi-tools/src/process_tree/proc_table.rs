//! The process table of Linux, read from `/proc`.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal};

/// Identifies a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PipeId(pub(super) u64);

pub(super) fn pipe_id(end: &impl AsFd) -> io::Result<PipeId> {
    Ok(PipeId(rustix::fs::fstat(end)?.st_ino))
}

/// A process at the time the table was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: i32,
    pub(super) parent: i32,
    pub(super) session: i32,
    pub(super) alive: bool,
    /// Start time in ticks since boot; with the ID it identifies a process uniquely.
    pub(super) started: u64,
}

/// Returns all processes.
pub(super) fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Process::read)
        .collect()
}

/// Parses `/proc/<id>/stat`. The program name is in parentheses and may contain anything.
fn parse(id: i32, stat: &[u8]) -> Option<Process> {
    let name_end = memchr::memrchr(b')', stat)?;
    let rest = str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(15)?.parse().ok()?;
    Some(Process {
        id,
        parent,
        session,
        alive: !matches!(state, "Z" | "X" | "x"),
        started,
    })
}

impl Process {
    /// Reads one process; `None` if it has exited.
    pub(super) fn read(id: i32) -> Option<Self> {
        parse(id, &fs::read(format!("/proc/{id}/stat")).ok()?)
    }

    /// Signals the process, but never another one that reused its ID.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.id) else {
            return;
        };
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty());
        if Self::read(self.id).is_none_or(|now| now.started != self.started) {
            return;
        }
        let signaled = match handle {
            Ok(handle) => rustix::process::pidfd_send_signal(handle, signal),
            // The kernel is too old, or no file descriptors are left.
            Err(_) => rustix::process::kill_process(pid, signal),
        };
        if let Err(error) = signaled {
            tracing::debug!(%error, pid = self.id, "cannot signal process");
        }
    }

    /// Returns whether the process holds the write end of a pipe.
    pub(super) fn can_write(&self, pipe: PipeId) -> bool {
        let pipe_name = format!("pipe:[{}]", pipe.0);
        let Ok(descriptors) = fs::read_dir(format!("/proc/{}/fd", self.id)) else {
            return false;
        };
        descriptors
            .flatten()
            .any(|entry| is_write_end(&entry.path(), &pipe_name))
    }
}

/// The read end has the same name; the mode of the symlink distinguishes them.
fn is_write_end(descriptor: &Path, pipe_name: &str) -> bool {
    fs::read_link(descriptor).is_ok_and(|target| target.as_os_str() == pipe_name)
        && fs::symlink_metadata(descriptor).is_ok_and(|link| link.mode() & 0o200 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_name_may_contain_anything() {
        let stat = b"42 (a) S) b) Z 7 8 9 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 4711 1 1\n";
        let expected = Process {
            id: 42,
            parent: 7,
            session: 9,
            alive: false,
            started: 4711,
        };
        assert_eq!(parse(42, stat), Some(expected));
        assert_eq!(parse(42, b"42 (cut off"), None);
    }

    #[test]
    fn only_the_write_end_is_detected() {
        let (reader, writer) = io::pipe().unwrap();
        let pipe = pipe_id(&reader).unwrap();
        let own = Process::read(std::process::id().cast_signed()).unwrap();
        assert!(own.can_write(pipe));
        drop(writer);
        assert!(!own.can_write(pipe));
    }
}
