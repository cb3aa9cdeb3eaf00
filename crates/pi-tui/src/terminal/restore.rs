//! Restores the terminal, whatever happens.
//!
//! The enabled modes are kept in a process-wide static, because a panic hook has no other access to
//! them.

use std::io::Write as _;
use std::sync::Once;

use parking_lot::Mutex;

use super::raw_mode;

/// Terminal modes that were enabled and must be disabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalModes {
    /// The alternate screen with mouse reports and without automatic wrapping.
    pub alternate_screen: bool,
    pub color_scheme_reports: bool,
    pub progress: bool,
}

impl TerminalModes {
    /// Returns the bytes that disable all enabled modes.
    ///
    /// The end of a synchronized frame comes first, since a panic may occur in the middle of one.
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

static ACTIVE_MODES: Mutex<Option<TerminalModes>> = Mutex::new(None);
static PANIC_HOOK: Once = Once::new();

/// Records the modes to disable, and installs a panic hook that disables them before the panic is
/// reported.
pub(super) fn register(modes: TerminalModes) {
    *ACTIVE_MODES.lock() = Some(modes);
    PANIC_HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            report(panic);
        }));
    });
}

/// Disables all recorded modes, once. Returns whether any were recorded.
pub(super) fn restore() -> bool {
    let Some(modes) = ACTIVE_MODES.lock().take() else {
        return false;
    };
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(modes.reset_sequence().as_bytes())
        .and_then(|()| stdout.flush());
    if let Err(error) = written {
        tracing::debug!(%error, "terminal is closed");
    }
    raw_mode::disable();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_enabled_modes_are_disabled() {
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
