//! The terminal of this process: raw mode, bytes in and out, signals.
//!
//! A thread reads the terminal, because reads cannot be cancelled; it is stopped and joined before the
//! terminal is given back. Dropping the value, a panic and a signal all end in `restore`.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use super::{TerminalModes, raw_mode, restore};

mod reader;
mod signals;

use reader::Reader;
use signals::Signals;

/// How long leaving waits for answers at most.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);
/// How long the line must be quiet before nothing more is expected.
const DRAIN_QUIET: Duration = Duration::from_millis(50);

/// How long to wait for the stop that was asked for.
#[cfg(unix)]
const STOP_LIMIT: Duration = Duration::from_millis(500);

const BRACKETED_PASTE: &str = "\x1b[?2004h";
const LEAVE_KEYBOARD: &str = "\x1b[<u\x1b[>4;0m";

/// Something that happened to the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalEvent {
    /// Bytes were typed or answered.
    Input(Vec<u8>),
    /// The screen has another size.
    Resized,
    /// The process was asked to end (SIGTERM, SIGHUP, SIGINT).
    Terminated,
    /// The terminal is gone.
    Closed,
}

/// The terminal this process runs in.
#[derive(Debug)]
pub struct ProcessTerminal {
    modes: TerminalModes,
    reader: Option<Reader>,
    signals: Signals,
}

impl ProcessTerminal {
    /// Takes the terminal: raw mode, bracketed paste, and a reader for its bytes.
    ///
    /// Must be called within a tokio runtime.
    pub fn open() -> io::Result<Self> {
        let mut terminal = Self {
            modes: TerminalModes::default(),
            reader: None,
            signals: Signals::new()?,
        };
        terminal.enter()?;
        Ok(terminal)
    }

    fn enter(&mut self) -> io::Result<()> {
        raw_mode::enable()?;
        restore::arm(self.modes);
        self.write(BRACKETED_PASTE)?;
        self.reader = Some(Reader::start()?);
        Ok(())
    }

    /// Notes what has been switched on, so that it is switched off whatever happens.
    pub fn set_modes(&mut self, modes: TerminalModes) {
        self.modes = modes;
        if self.reader.is_some() {
            restore::arm(modes);
        }
    }

    /// Returns what has been switched on.
    pub fn modes(&self) -> TerminalModes {
        self.modes
    }

    /// Waits for the next event.
    pub async fn next_event(&mut self) -> TerminalEvent {
        let Some(reader) = &mut self.reader else {
            return TerminalEvent::Closed;
        };
        tokio::select! {
            bytes = reader.next() => bytes.map_or(TerminalEvent::Closed, TerminalEvent::Input),
            event = self.signals.next() => event,
        }
    }

    /// Writes bytes; they reach the terminal before this returns.
    pub fn write(&mut self, bytes: &str) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes.as_bytes())?;
        stdout.flush()
    }

    /// Gives the terminal back, after the answers still on their way have been taken off the line.
    ///
    /// `expects_replies` is told what arrives and says whether more is expected.
    pub fn close(&mut self, expects_replies: impl FnMut(&[u8]) -> bool) {
        if let Some(mut reader) = self.reader.take() {
            // First stop key reports, or a key held down would go on sending sequences.
            if let Err(error) = self.write(LEAVE_KEYBOARD) {
                tracing::debug!(%error, "the terminal is gone");
            }
            drain(&mut reader, expects_replies);
            reader.stop();
        }
        restore::restore();
    }

    /// Stops the process as Ctrl+Z does, and takes the terminal again once it continues.
    #[cfg(unix)]
    pub async fn suspend(&mut self, expects_replies: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        self.close(expects_replies);
        let mut continued = signals::Continued::new()?;
        // The whole group stops, so that a shell script which started us stops too.
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        // Another thread may be the one that takes the signal; until it does, this one runs on and must
        // not touch the terminal. Without a shell that could continue us nothing stops, hence the limit.
        if tokio::time::timeout(STOP_LIMIT, continued.wait())
            .await
            .is_err()
        {
            tracing::debug!("the process did not stop");
        }
        self.enter()
    }

    /// Takes the terminal again after [`close`](Self::close).
    pub fn reopen(&mut self) -> io::Result<()> {
        self.enter()
    }
}

impl Drop for ProcessTerminal {
    fn drop(&mut self) {
        self.close(|_| false);
    }
}

/// Takes bytes off the line until it is quiet and nothing more is expected.
fn drain(reader: &mut Reader, mut expects_replies: impl FnMut(&[u8]) -> bool) {
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
