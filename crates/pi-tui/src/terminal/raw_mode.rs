//! Raw mode and the size of the process's terminal.

use std::io;

use super::Size;

pub(super) fn enable() -> io::Result<()> {
    crossterm::terminal::enable_raw_mode()
}

pub(super) fn disable() {
    if let Err(error) = crossterm::terminal::disable_raw_mode() {
        tracing::debug!(%error, "cannot disable raw mode");
    }
}

/// Returns the screen size, falling back to environment variables if the terminal does not report
/// it.
pub(super) fn size(variable: impl Fn(&str) -> Option<String>) -> Size {
    let fallback = Size::default();
    let number = |name: &str| variable(name)?.parse().ok().filter(|count| *count > 0);
    let (columns, rows) = crossterm::terminal::size().unwrap_or((0, 0));
    let pick = |count: u16, name: &str, default: usize| match usize::from(count) {
        0 => number(name).unwrap_or(default),
        count => count,
    };
    Size {
        columns: pick(columns, "COLUMNS", fallback.columns),
        rows: pick(rows, "LINES", fallback.rows),
    }
}

/// Raw mode of the process's terminal, until it is dropped.
#[derive(Debug)]
pub struct RawModeGuard(());

impl RawModeGuard {
    pub fn enable() -> io::Result<Self> {
        enable()?;
        Ok(Self(()))
    }
}

impl Drop for RawModeGuard {
    fn drop(&mut self) {
        disable();
    }
}
