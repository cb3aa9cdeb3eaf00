//! Giving the terminal back, whatever happens.
//!
//! What is switched on is kept in one place for the whole process, because a panic hook has no other
//! way to know.

use std::io::Write as _;
use std::sync::{Mutex, Once, PoisonError};

use super::raw_mode;

/// What was switched on and must be switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalModes {
    /// The alternate screen with mouse reports and without automatic wrapping.
    pub alternate_screen: bool,
    /// Notices about light and dark.
    pub color_scheme_reports: bool,
    pub progress: bool,
}

impl TerminalModes {
    /// Returns what switches everything off again.
    ///
    /// The end of a synchronized frame comes first: a panic may have come half-way through one.
    pub fn reset_sequence(self) -> String {
        let mut bytes = String::from("\x1b[?2026l\x1b[0m\x1b]8;;\x07");
        if self.progress {
            bytes.push_str("\x1b]9;4;0\x07");
        }
        if self.color_scheme_reports {
            bytes.push_str(super::DISABLE_COLOR_SCHEME_REPORTS);
        }
        if self.alternate_screen {
            bytes.push_str("\x1b[?1006l\x1b[?1004l\x1b[?1003l\x1b[?1002l\x1b[?1000l");
        }
        bytes.push_str("\x1b[?2004l\x1b[<u\x1b[>4;0m\x1b[?7h");
        if self.alternate_screen {
            bytes.push_str("\x1b[?1049l");
        }
        bytes.push_str("\x1b[?25h");
        bytes
    }
}

static ARMED: Mutex<Option<TerminalModes>> = Mutex::new(None);
static PANIC_HOOK: Once = Once::new();

/// Notes what must be switched off, and makes a panic do so before it is reported.
pub(super) fn arm(modes: TerminalModes) {
    *ARMED.lock().unwrap_or_else(PoisonError::into_inner) = Some(modes);
    PANIC_HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            report(panic);
        }));
    });
}

/// Switches everything off, once; returns whether there was something to do.
pub(super) fn restore() -> bool {
    let Some(modes) = ARMED.lock().unwrap_or_else(PoisonError::into_inner).take() else {
        return false;
    };
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(modes.reset_sequence().as_bytes())
        .and_then(|()| stdout.flush());
    if let Err(error) = written {
        tracing::debug!(%error, "the terminal is gone");
    }
    raw_mode::disable();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_on_is_switched_off() {
        let plain = TerminalModes::default().reset_sequence();
        assert!(!plain.contains("1049") && !plain.contains("9;4"));
        assert!(plain.ends_with("\x1b[?2004l\x1b[<u\x1b[>4;0m\x1b[?7h\x1b[?25h"));
        let full = TerminalModes {
            alternate_screen: true,
            color_scheme_reports: true,
            progress: true,
        }
        .reset_sequence();
        for sequence in [
            "\x1b[?1003l",
            "\x1b[?1049l",
            "\x1b[?2031l",
            "\x1b]9;4;0\x07",
        ] {
            assert!(full.contains(sequence), "{sequence:?}");
        }
    }
}
