//! An in-memory disk that fails on demand, for tests. Files outlive their handles. A fault triggers
//! after a number of written bytes; after a simulated kill every operation fails until
//! [`FaultyDisk::restarted`].

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pi_fs::file_lock::LockState;

use super::{AccessMode, LogFile, LogStorage, PathState};

/// What fails after the given number of bytes has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The process dies in the middle of the write.
    Kill {
        after: usize,
    },
    /// The write fails after writing the bytes up to this point.
    Fail {
        after: usize,
        kind: io::ErrorKind,
    },
    /// The write reports that it wrote only the bytes up to this point.
    Short {
        after: usize,
    },
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FaultyDisk {
    state: Arc<Mutex<FaultyDiskState>>,
}

#[derive(Debug)]
struct FaultyDiskState {
    files: BTreeMap<PathBuf, Vec<u8>>,
    fault: Fault,
    written: usize,
    truncation_fails: bool,
    dead: bool,
}

impl Default for FaultyDiskState {
    fn default() -> Self {
        Self {
            files: BTreeMap::new(),
            fault: Fault::None,
            written: 0,
            truncation_fails: false,
            dead: false,
        }
    }
}

impl FaultyDisk {
    /// Arms a fault; bytes are counted from now on.
    pub(crate) fn arm(&self, fault: Fault) {
        let mut state = self.state();
        (state.fault, state.written) = (fault, 0);
    }

    pub(crate) fn fail_truncation(&self, fails: bool) {
        self.state().truncation_fails = fails;
    }

    /// Returns a disk with the same files, as after a restart of the machine.
    pub(crate) fn restarted(&self) -> Self {
        let disk = Self::default();
        disk.state().files = self.state().files.clone();
        disk
    }

    pub(crate) fn content(&self, path: &Path) -> Option<Vec<u8>> {
        self.state().files.get(path).cloned()
    }

    /// Overwrites a file without going through a handle, like another process would.
    pub(crate) fn put(&self, path: &Path, content: &[u8]) {
        self.state().files.insert(path.to_owned(), content.to_vec());
    }

    fn state(&self) -> MutexGuard<'_, FaultyDiskState> {
        self.state.lock()
    }

    fn alive(&self) -> io::Result<MutexGuard<'_, FaultyDiskState>> {
        let state = self.state();
        if state.dead {
            return Err(io::Error::other("the process is dead"));
        }
        Ok(state)
    }

    fn handle(&self, path: &Path) -> Box<dyn LogFile> {
        Box::new(FaultyFile {
            disk: self.clone(),
            path: path.to_owned(),
        })
    }
}

impl LogStorage for FaultyDisk {
    fn open(&self, path: &Path, _access: AccessMode) -> io::Result<Box<dyn LogFile>> {
        if !self.alive()?.files.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(self.handle(path))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn LogFile>> {
        let mut state = self.alive()?;
        if state.files.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.files.insert(path.to_owned(), Vec::new());
        drop(state);
        Ok(self.handle(path))
    }

    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.alive()?
            .files
            .insert(path.to_owned(), content.to_vec());
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.alive()?.files.remove(path);
        Ok(())
    }
}

#[derive(Debug)]
struct FaultyFile {
    disk: FaultyDisk,
    path: PathBuf,
}

impl LogFile for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.alive()?;
        let content = state.files.get(&self.path).map_or(&[][..], Vec::as_slice);
        let offset = usize::try_from(offset).unwrap().min(content.len());
        let count = buffer.len().min(content.len() - offset);
        buffer[..count].copy_from_slice(&content[offset..offset + count]);
        Ok(count)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.alive()?;
        let remaining = match state.fault {
            Fault::None => usize::MAX,
            Fault::Kill { after } | Fault::Fail { after, .. } | Fault::Short { after } => {
                after - state.written.min(after)
            }
        };
        let taken = remaining.min(bytes.len());
        state.written += taken;
        let file = state.files.get_mut(&self.path).unwrap();
        file.extend(&bytes[..taken]);
        if taken == bytes.len() {
            return Ok(taken);
        }
        match state.fault {
            Fault::Kill { .. } => {
                state.dead = true;
                Err(io::Error::other("killed"))
            }
            Fault::Fail { kind, .. } => Err(kind.into()),
            Fault::Short { .. } | Fault::None => Ok(taken),
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut state = self.disk.alive()?;
        if state.truncation_fails {
            return Err(io::Error::other("input/output error"));
        }
        let file = state.files.get_mut(&self.path).unwrap();
        file.truncate(usize::try_from(length).unwrap());
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        let state = self.disk.alive()?;
        Ok(state.files.get(&self.path).map_or(0, Vec::len) as u64)
    }

    fn path_state(&self) -> io::Result<PathState> {
        let state = self.disk.alive()?;
        let file = state.files.get(&self.path);
        Ok(file.map_or(PathState::Removed, |_| PathState::Unchanged))
    }

    fn try_lock(&self) -> LockState {
        LockState::Acquired
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
