//! Events, errors and options of a [`Runner`](super::Runner).

use std::io;
use std::time::Duration;

use crate::component::InputOutcome;
use crate::input::{InputEvent, InputTiming};
use crate::render::RenderError;
use crate::terminal::{ColorScheme, ProgramStatusSupport, TerminalCapabilities, TerminalColors};

/// Event returned by [`Runner::next`](super::Runner::next).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunnerEvent {
    /// A key, paste or unknown sequence.
    Input {
        event: InputEvent,
        /// Whether a component consumed it.
        outcome: InputOutcome,
    },
    /// The user clicked a URL.
    OpenUrl(String),
    /// The terminal reported a light or dark color scheme.
    ColorScheme(ColorScheme),
    /// The terminal reported its colors.
    Colors(TerminalColors),
    Resized,
    /// SIGTERM or SIGHUP was received.
    Terminated,
}

#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    #[error("cannot access the terminal")]
    Terminal(#[from] io::Error),
    #[error(transparent)]
    Render(#[from] RenderError),
}

#[derive(Clone, Copy, Debug, Default)]
pub struct RunnerOptions {
    /// Timeouts for incomplete escape sequences.
    pub timing: InputTiming,
    pub capabilities: TerminalCapabilities,
    /// How long the first frame waits for the terminal to report its colors.
    pub color_wait: Duration,
    pub program_status: ProgramStatusSupport,
    /// The name in program status reports.
    pub program: &'static str,
}
