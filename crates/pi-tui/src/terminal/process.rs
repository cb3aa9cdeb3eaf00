//! The terminal of this process: raw mode, input and output, signals.
//!
//! A thread reads the terminal, because reads cannot be canceled; it is stopped and joined before
//! the terminal is released. Dropping the value, a panic and a signal all run `restore`.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::{TerminalModes, raw_mode, restore};

mod reader;
mod signals;

use reader::InputReader;
use signals::TerminalSignals;
pub use signals::TerminationSignals;

/// Maximum time to wait for pending replies on exit.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);
/// How long input must be idle before the drain ends.
const DRAIN_QUIET: Duration = Duration::from_millis(50);

/// How long to wait for a requested stop to take effect.
#[cfg(unix)]
const STOP_LIMIT: Duration = Duration::from_millis(500);

const BRACKETED_PASTE: &str = "\x1b[?2004h";
const LEAVE_KEYBOARD: &str = "\x1b[<u\x1b[>4;0m";

/// Receives a copy of everything that is written.
static WRITE_LOG: OnceLock<File> = OnceLock::new();

/// Copies everything that is written to the terminal to a file, for the rest of the process.
pub fn log_terminal_writes(file: File) {
    // The first file stays.
    WRITE_LOG.set(file).ok();
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalEvent {
    /// Typed bytes or replies from the terminal.
    Input(Vec<u8>),
    Resized,
    /// SIGTERM, SIGHUP or SIGINT was received.
    Terminated,
    /// The terminal was closed.
    Closed,
}

#[derive(Debug)]
pub struct ProcessTerminal {
    modes: TerminalModes,
    reader: Option<InputReader>,
    signals: TerminalSignals,
}

impl ProcessTerminal {
    /// Takes over the terminal: enables raw mode and bracketed paste, and starts reading.
    ///
    /// Must be called within a Tokio runtime.
    pub fn open() -> io::Result<Self> {
        let mut terminal = Self {
            modes: TerminalModes::default(),
            reader: None,
            signals: TerminalSignals::new()?,
        };
        terminal.enter()?;
        Ok(terminal)
    }

    fn enter(&mut self) -> io::Result<()> {
        raw_mode::enable()?;
        restore::register(self.modes);
        self.write(BRACKETED_PASTE)?;
        self.reader = Some(InputReader::start()?);
        Ok(())
    }

    /// Records which modes are enabled, so that they are always disabled on exit.
    pub fn set_modes(&mut self, modes: TerminalModes) {
        self.modes = modes;
        if self.reader.is_some() {
            restore::register(modes);
        }
    }

    pub fn modes(&self) -> TerminalModes {
        self.modes
    }

    pub async fn next_event(&mut self) -> TerminalEvent {
        let Some(reader) = &mut self.reader else {
            return TerminalEvent::Closed;
        };
        tokio::select! {
            bytes = reader.next() => bytes.map_or(TerminalEvent::Closed, TerminalEvent::Input),
            event = self.signals.next() => event,
        }
    }

    /// Writes bytes and flushes them to the terminal.
    pub fn write(&mut self, bytes: &str) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if let Some(mut log) = WRITE_LOG.get()
            && let Err(error) = log.write_all(bytes.as_bytes())
        {
            tracing::debug!(%error, "cannot log terminal output");
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes.as_bytes())?;
        stdout.flush()
    }

    /// Releases the terminal after draining pending replies.
    ///
    /// `expects_replies` receives the drained bytes and returns whether more are expected.
    pub fn close(&mut self, expects_replies: impl FnMut(&[u8]) -> bool) {
        if let Some(mut reader) = self.reader.take() {
            // Disable key reports first, or a key that is held down would keep sending sequences.
            if let Err(error) = self.write(LEAVE_KEYBOARD) {
                tracing::debug!(%error, "terminal is closed");
            }
            drain(&mut reader, expects_replies);
            reader.stop();
        }
        restore::restore();
    }

    /// Suspends the process as Ctrl+Z does, and takes over the terminal again once it is resumed.
    #[cfg(unix)]
    pub async fn suspend(&mut self, expects_replies: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        self.close(expects_replies);
        let mut continued = signals::Continued::new()?;
        // Stop the process group, so that a shell script that started us also stops.
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        // Another thread may receive the signal. Until it does, this one keeps running and must not
        // touch the terminal. Without a shell that could resume us nothing stops, hence the limit.
        if tokio::time::timeout(STOP_LIMIT, continued.wait())
            .await
            .is_err()
        {
            tracing::debug!("process did not stop");
        }
        self.enter()
    }

    /// Takes over the terminal again after [`close`](Self::close).
    pub fn reopen(&mut self) -> io::Result<()> {
        self.enter()
    }
}

impl Drop for ProcessTerminal {
    fn drop(&mut self) {
        self.close(|_| false);
    }
}

/// Discards input until it is idle and nothing more is expected.
fn drain(reader: &mut InputReader, mut expects_replies: impl FnMut(&[u8]) -> bool) {
    let limit = Instant::now() + DRAIN_LIMIT;
    let mut quiet_at = Instant::now() + DRAIN_QUIET;
    let mut expecting = expects_replies(&[]);
    while Instant::now() < limit && (expecting || Instant::now() < quiet_at) {
        match reader.try_next() {
            Some(bytes) => {
                quiet_at = Instant::now() + DRAIN_QUIET;
                expecting = expects_replies(&bytes);
            }
            None if reader.is_finished() => return,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}
