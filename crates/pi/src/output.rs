//! The one place that writes to the terminal's streams; json and rpc lines go through `pi_rpc`'s
//! writer, which takes standard output from here.
//!
//! A reader that went away is no error: `pi … | head` ends well. What comes from outside cannot steer
//! a terminal: control characters are taken out before they reach one.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use pi_runtime::describe_error;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success,
    Failure,
    /// This code, as a command's contract or a signal asks for.
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

/// What the user is told when something does not work: one line of cause, then what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) cause: String,
    /// What to do next.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// Creates a failure without advice.
    pub(crate) fn new(cause: impl Into<String>) -> Self {
        Self {
            cause: cause.into(),
            hints: Vec::new(),
        }
    }

    /// Creates a failure of an error and what caused it, on one line.
    pub(crate) fn from_chain(error: &dyn std::error::Error) -> Self {
        Self::new(describe_error(error))
    }

    /// Adds advice.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Tells the user.
    pub(crate) fn report(&self) -> Exit {
        self.tell("error");
        Exit::Failure
    }

    /// Tells the user of it where it ends nothing.
    pub(crate) fn remark(&self) {
        self.tell("warning");
    }

    fn tell(&self, label: &str) {
        complain(label, &self.cause);
        for hint in &self.hints {
            complain("hint", hint);
        }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::from_chain(&error)
    }
}

/// Tells the user of something that is ignored or replaced.
pub(crate) fn warn(message: &str) {
    complain("warning", message);
}

/// Tells the user something, with no word before it.
pub(crate) fn notice(message: &str) {
    write_error(&format!("{}\n", inert(message)));
}

fn complain(label: &str, message: &str) {
    write_error(&format!("{label}: {}\n", inert(message).trim_end()));
}

fn write_error(text: &str) {
    // There is nowhere left to say that standard error does not work.
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

/// Writes to standard output, byte for byte.
pub(crate) fn print(text: &str) -> Exit {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Ok(()) => Exit::Success,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
        Err(error) => not_written(&error).report(),
    }
}

/// Returns what the user is told when standard output takes no more.
pub(crate) fn not_written(error: &io::Error) -> Failure {
    Failure::new(format!("cannot write to standard output: {error}"))
}

/// Writes text that came from outside to standard output: as it is to a pipe or a file, without control
/// characters to a terminal.
pub(crate) fn print_foreign(text: &str) -> Exit {
    if io::stdout().is_terminal() {
        print(&inert(text))
    } else {
        print(text)
    }
}

/// Takes out everything a terminal could obey, except line ends and tabs, and spells out what would hide
/// from the reader.
pub(crate) fn inert(text: &str) -> Cow<'_, str> {
    pi_tui::sanitize(text)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        for (text, expected) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]52;c;AA==\u{7}x", "x"),
            ("\u{9b}31mred\u{90}", "red"),
            ("over\rwrite\u{8}\u{0}", "over\nwrite"),
            ("name\u{202e}txt.exe", "name<U+202E>txt.exe"),
            ("日本 ünï", "日本 ünï"),
        ] {
            assert_eq!(inert(text), expected, "{text:?}");
        }
    }
}
