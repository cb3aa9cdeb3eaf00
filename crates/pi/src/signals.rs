//! Signals that end the program: work stops, children are killed, the session is saved, and the exit code identifies the
//! signal.

use std::future::Future;
use std::io;

use crate::output::Exit;

/// A signal that ends the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Interrupt,
    #[cfg_attr(not(unix), expect(dead_code, reason = "Windows has no such signal"))]
    Terminate,
    /// The terminal was closed.
    #[cfg_attr(not(unix), expect(dead_code, reason = "Windows has no such signal"))]
    HangUp,
}

impl Signal {
    /// Returns 128 plus the signal number, as shells do.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::HangUp => Exit::Code(129),
            Self::Interrupt => Exit::Code(130),
            Self::Terminate => Exit::Code(143),
        }
    }
}

/// Receives signals from its creation on.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::Interrupt,
            Some(()) = self.terminate.recv() => Signal::Terminate,
            Some(()) = self.hang_up.recv() => Signal::HangUp,
            else => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    pub(crate) async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Signals {
    /// Runs `work` until it is done or a signal arrives; then runs `cleanup`, unless a second signal interrupts it.
    pub(crate) async fn guard<T>(
        &mut self,
        work: impl Future<Output = T>,
        cleanup: impl Future<Output = ()>,
    ) -> Result<T, Signal> {
        let signal = tokio::select! {
            outcome = work => return Ok(outcome),
            signal = self.next() => signal,
        };
        tokio::select! {
            () = cleanup => {}
            _second = self.next() => {}
        }
        Err(signal)
    }
}
