//! Signals that affect the terminal.

use std::io;

use super::TerminalEvent;

/// Signals that end the process, for a program that has released the terminal.
#[derive(Debug)]
pub struct TerminationSignals(TerminalSignals);

impl TerminationSignals {
    /// Receives signals from here on. Must be called within a Tokio runtime.
    pub fn listen() -> io::Result<Self> {
        Ok(Self(TerminalSignals::new()?))
    }

    /// Waits for a signal.
    pub async fn next(&mut self) {
        while !matches!(self.0.next().await, TerminalEvent::Terminated) {}
    }
}

#[cfg(unix)]
pub(super) use unix::{Continued, TerminalSignals};

#[cfg(not(unix))]
pub(super) use other::TerminalSignals;

#[cfg(unix)]
mod unix {
    use super::{TerminalEvent, io};
    use tokio::signal::unix::{Signal, SignalKind, signal};

    #[derive(Debug)]
    pub(in crate::terminal::process) struct TerminalSignals {
        resize: Signal,
        terminate: Signal,
        hang_up: Signal,
        interrupt: Signal,
    }

    /// Waits for the process to be resumed after a stop.
    #[derive(Debug)]
    pub(in crate::terminal::process) struct Continued(Signal);

    impl Continued {
        pub(in crate::terminal::process) fn new() -> io::Result<Self> {
            let number = rustix::process::Signal::CONT.as_raw();
            Ok(Self(signal(SignalKind::from_raw(number))?))
        }

        pub(in crate::terminal::process) async fn wait(&mut self) {
            self.0.recv().await;
        }
    }

    impl TerminalSignals {
        pub(in crate::terminal::process) fn new() -> io::Result<Self> {
            Ok(Self {
                resize: signal(SignalKind::window_change())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
                interrupt: signal(SignalKind::interrupt())?,
            })
        }

        pub(in crate::terminal::process) async fn next(&mut self) -> TerminalEvent {
            tokio::select! {
                _ = self.resize.recv() => TerminalEvent::Resized,
                _ = self.terminate.recv() => TerminalEvent::Terminated,
                _ = self.hang_up.recv() => TerminalEvent::Terminated,
                _ = self.interrupt.recv() => TerminalEvent::Terminated,
            }
        }
    }
}

#[cfg(not(unix))]
mod other {
    use super::{TerminalEvent, io};
    use std::time::Duration;

    /// Consoles send no signal when the size changes, so poll for it.
    const SIZE_POLL_INTERVAL: Duration = Duration::from_millis(250);

    #[derive(Debug)]
    pub(in crate::terminal::process) struct TerminalSignals;

    impl TerminalSignals {
        pub(in crate::terminal::process) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(in crate::terminal::process) async fn next(&mut self) -> TerminalEvent {
            tokio::select! {
                result = tokio::signal::ctrl_c() => match result {
                    Ok(()) => TerminalEvent::Terminated,
                    Err(_) => std::future::pending().await,
                },
                () = tokio::time::sleep(SIZE_POLL_INTERVAL) => TerminalEvent::Resized,
            }
        }
    }
}
