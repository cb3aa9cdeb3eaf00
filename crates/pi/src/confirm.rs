//! Yes-or-no questions before a session exists.

use std::io::{BufRead as _, Write as _};

use crate::mode::Terminals;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmation {
    Yes,
    No,
    /// There is no terminal to ask on.
    NoTerminal,
}

/// Asks for a line on the terminal; `None` if there is no terminal or no answer.
pub(crate) fn ask(question: &str) -> Option<String> {
    if !Terminals::of_process().are_interactive() {
        return None;
    }
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{question} ").ok()?;
    stderr.flush().ok()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).ok()?;
    let answer = answer.trim();
    (!answer.is_empty()).then(|| answer.to_owned())
}

/// Asks on the terminal; anything but yes is no.
pub(crate) fn confirm(question: &str) -> Confirmation {
    if !Terminals::of_process().are_interactive() {
        return Confirmation::NoTerminal;
    }
    let mut stderr = std::io::stderr().lock();
    let asked = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
    let mut answer = String::new();
    let answered = asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer));
    let answer = answer.trim().to_ascii_lowercase();
    if answered.is_ok() && matches!(answer.as_str(), "y" | "yes") {
        Confirmation::Yes
    } else {
        Confirmation::No
    }
}
