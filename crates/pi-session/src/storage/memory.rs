//! A session's bytes in memory: for sessions without a file and for those not yet worth one.

use std::io;

use super::{Claim, LogFile, Standing};

/// A file that ends with the process.
#[derive(Debug, Default)]
pub(crate) struct MemoryFile {
    bytes: Vec<u8>,
}

impl MemoryFile {
    /// Starts with some content.
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

    fn standing(&self) -> io::Result<Standing> {
        Ok(Standing::InPlace)
    }

    fn claim(&self) -> Claim {
        Claim::Granted
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
