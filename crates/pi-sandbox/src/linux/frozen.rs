//! The user's directory of pi, as a confined program sees it: what is there when the program starts, without credentials and
//! sockets. A mask on each of them would not be enough: a program that runs for long would see those that are created, or
//! replaced, after it was started.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::mounts::{attach as attach_mount, clone_mount, new_file_system};
use super::system_calls::make_read_only;
use crate::Policy;

/// A visible entry of the directory.
pub(super) struct Entry {
    path: PathBuf,
    kind: EntryKind,
}

enum EntryKind {
    Directory(OwnedFd),
    File(OwnedFd),
    Link(PathBuf),
}

/// Returns what a directory contains and a program may read.
pub(super) fn entries(directory: &Path, policy: &Policy) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let is_hidden = policy.deny_read.matches(&path) || policy.hidden_sockets.contains(&path);
        if is_hidden || kind.is_socket() {
            continue;
        }
        let opened = if kind.is_symlink() {
            fs::read_link(&path).map(EntryKind::Link)
        } else if kind.is_dir() {
            clone_mount(&path).map(EntryKind::Directory)
        } else {
            clone_mount(&path).map(EntryKind::File)
        };
        match opened {
            Ok(kind) => entries.push(Entry { path, kind }),
            // It was removed in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(entries)
}

/// Mounts a directory with these entries.
pub(super) fn attach(directory: &Path, entries: &[Entry]) -> io::Result<()> {
    let mount = new_file_system("tmpfs", &[("mode", "0755")])?;
    attach_mount(&mount, directory)?;
    for entry in entries {
        let name = entry.path.file_name().unwrap_or_default();
        match &entry.kind {
            EntryKind::Link(target) => rustix::fs::symlinkat(target, &mount, name)?,
            EntryKind::Directory(copy) => {
                rustix::fs::mkdirat(&mount, name, Mode::empty())?;
                attach_mount(copy, &entry.path)?;
            }
            EntryKind::File(copy) => {
                let create = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::openat(&mount, name, create, Mode::empty())?;
                attach_mount(copy, &entry.path)?;
            }
        }
    }
    make_read_only(mount.as_fd())
}
