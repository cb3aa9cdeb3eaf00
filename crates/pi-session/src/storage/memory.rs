//! Session content in memory, for sessions without a file and for sessions that are not saved yet.

use std::io;

use pi_fs::file_lock::LockState;

use super::{LogFile, PathState};

#[derive(Debug, Default)]
pub(crate) struct MemoryFile {
    bytes: Vec<u8>,
}

impl MemoryFile {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }
}

impl LogFile for MemoryFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.bytes.get(offset..))
            .unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(target), Some(source)) = (buffer.get_mut(..count), rest.get(..count)) {
            target.copy_from_slice(source);
        }
        Ok(count)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.bytes
            .truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn path_state(&self) -> io::Result<PathState> {
        Ok(PathState::Unchanged)
    }

    fn try_lock(&self) -> LockState {
        LockState::Acquired
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
