//! The only place that writes text to stdout and stderr; json and rpc lines use the writer of `pi_rpc`. Stdout itself
//! belongs to `own_stdio`.
//!
//! A closed pipe is not an error (`pi … | head`). Text may contain names and messages from anywhere, so control
//! characters are removed from everything that reaches a terminal; only [`StyledText`] keeps the sequences in it.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::process::ExitCode;

use pi_host::describe_error;

use crate::own_stdio;

/// The exit status of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success,
    Failure,
    /// A code defined by a command or a signal.
    Code(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Failure => Self::FAILURE,
            Exit::Code(code) => Self::from(code),
        }
    }
}

/// An error for the user: one line with the cause, then hints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) cause: String,
    /// What to do next, one line each.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(cause: impl Into<String>) -> Self {
        Self {
            cause: cause.into(),
            hints: Vec::new(),
        }
    }

    /// Creates a failure from an error and its sources, on one line.
    pub(crate) fn from_chain(error: &dyn std::error::Error) -> Self {
        Self::new(describe_error(error))
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Prints an error.
    pub(crate) fn report(&self) -> Exit {
        self.print("error");
        Exit::Failure
    }

    /// Prints a warning.
    pub(crate) fn warn(&self) {
        self.print("warning");
    }

    fn print(&self, label: &str) {
        print_labeled(label, &self.cause);
        for hint in &self.hints {
            print_labeled("hint", hint);
        }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::from_chain(&error)
    }
}

/// Prints a warning to stderr.
pub(crate) fn warn(message: &str) {
    print_labeled("warning", message);
}

/// Prints a message without a label to stderr.
pub(crate) fn notice(message: &str) {
    write_error(&format!("{}\n", sanitize(message)));
}

fn print_labeled(label: &str, message: &str) {
    write_error(&format!("{label}: {}\n", sanitize(message).trim_end()));
}

fn write_error(text: &str) {
    // Nothing can be done if stderr fails.
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

/// Text whose control sequences are ours: everything else in it was sanitized.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StyledText<'a>(pub(crate) &'a str);

/// Writes to stdout: unchanged to a pipe or file, without control characters to a terminal.
pub(crate) fn print(text: &str) -> Exit {
    write_output(&output_text(text, own_stdio::stdout_is_terminal()))
}

/// Writes text with colors and links to stdout.
pub(crate) fn print_styled(text: StyledText<'_>) -> Exit {
    write_output(text.0)
}

fn output_text(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal {
        sanitize(text)
    } else {
        Cow::Borrowed(text)
    }
}

fn write_output(text: &str) -> Exit {
    match own_stdio::write_stdout(text.as_bytes()) {
        Ok(()) => Exit::Success,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
        Err(error) => stdout_failure(&error).report(),
    }
}

pub(crate) fn stdout_failure(error: &io::Error) -> Failure {
    Failure::new(format!("cannot write to stdout: {error}"))
}

/// Removes control sequences, except line feeds and tabs, and shows invisible characters as escapes.
pub(crate) fn sanitize(text: &str) -> Cow<'_, str> {
    pi_tui::sanitize(text)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn control_sequences_are_removed() {
        for (text, expected) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]52;c;AA==\u{7}x", "x"),
            ("\u{9b}31mred\u{90}", "red"),
            ("over\rwrite\u{8}\u{0}", "over\nwrite"),
            ("name\u{202e}txt.exe", "name<U+202E>txt.exe"),
            ("日本 ünï", "日本 ünï"),
        ] {
            assert_eq!(output_text(text, true), expected, "{text:?}");
            assert_eq!(output_text(text, false), text);
        }
    }
}
