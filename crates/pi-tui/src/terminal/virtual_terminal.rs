//! A terminal that only remembers, for tests of programs built on this library.

use std::io;

use super::{Size, Terminal};

/// Keeps what is written to it; an emulator turns that into a screen.
#[derive(Clone, Debug, Default)]
pub struct VirtualTerminal {
    size: Size,
    written: String,
}

impl VirtualTerminal {
    /// Returns an empty terminal of a size.
    pub fn new(size: Size) -> Self {
        Self {
            size,
            written: String::new(),
        }
    }

    /// Changes the size.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
    }

    /// Returns what was written since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.written)
    }
}

impl Terminal for VirtualTerminal {
    fn size(&self) -> Size {
        self.size
    }

    fn write(&mut self, bytes: &str) -> io::Result<()> {
        self.written.push_str(bytes);
        Ok(())
    }
}
