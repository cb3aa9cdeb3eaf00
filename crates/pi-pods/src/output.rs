//! Writes to stdout and stderr. Text of pods may contain anything, so it is sanitized; a closed pipe is not an error.

use std::fmt;
use std::io::{self, Write as _};

/// An error for the user: what happened, then what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    cause: String,
    hints: Vec<String>,
    pub(crate) is_usage: bool,
}

impl Failure {
    pub(crate) fn new(cause: impl fmt::Display) -> Self {
        Self {
            cause: cause.to_string(),
            hints: Vec::new(),
            is_usage: false,
        }
    }

    /// A command line that cannot be read.
    pub(crate) fn usage(cause: impl fmt::Display) -> Self {
        Self {
            is_usage: true,
            ..Self::new(cause)
        }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    pub(crate) fn report(&self) {
        error_line(&format!("error: {}", self.cause));
        for hint in &self.hints {
            error_line(&format!("hint: {hint}"));
        }
    }
}

/// Returns text without control sequences, on one line.
fn plain(text: &str) -> String {
    pi_tui::sanitize(text).replace('\n', " ")
}

/// Writes a line to stdout.
pub(crate) fn print_line(text: &str) {
    // Nothing can be done if the pipe is closed.
    writeln!(io::stdout().lock(), "{}", plain(text)).ok();
}

/// Writes several lines of ours to stdout.
pub(crate) fn print_text(text: &str) {
    text.lines().for_each(print_line);
}

/// Writes a line to stderr.
pub(crate) fn error_line(text: &str) {
    writeln!(io::stderr().lock(), "{}", plain(text)).ok();
}
