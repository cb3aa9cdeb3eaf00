//! How far an installation is, on one line of the terminal. Where there is no terminal, only what the user
//! should know is written.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use pi_packages::{InstallProgress, ProgressListener};

use crate::output::{inert, notice};

/// The line is drawn again after this long at the earliest.
const REDRAW: Duration = Duration::from_millis(50);

/// How many cells the bar has.
const CELLS: usize = 24;

/// Goes back to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\u{1b}[K";

/// Returns a listener that draws on standard error.
pub(super) fn listener() -> ProgressListener {
    let is_terminal = std::io::stderr().is_terminal();
    let drawn = Mutex::new(None::<Instant>);
    ProgressListener::new(move |progress| {
        if let InstallProgress::Note(note) = &progress {
            clear(is_terminal);
            notice(&format!("note: {note}"));
            return;
        }
        if !is_terminal {
            return;
        }
        let mut last = drawn
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_end = matches!(&progress, InstallProgress::Fetching { done, total, .. } if done == total);
        if !is_end && last.is_some_and(|last| last.elapsed() < REDRAW) {
            return;
        }
        *last = Some(Instant::now());
        draw(&line(&progress));
    })
}

/// Takes the line away, so that what follows starts on an empty one.
pub(super) fn clear(is_terminal: bool) {
    if is_terminal {
        draw("");
    }
}

fn draw(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // There is nowhere left to say that standard error does not work.
    write!(stderr, "{CLEAR_LINE}{}", inert(text))
        .and_then(|()| stderr.flush())
        .ok();
}

fn line(progress: &InstallProgress) -> String {
    match progress {
        InstallProgress::Resolving { packages } => format!("looking up dependencies: {packages}"),
        InstallProgress::Fetching { done, total, bytes } => {
            let filled = (CELLS * done)
                .checked_div(*total)
                .unwrap_or(CELLS)
                .min(CELLS);
            format!(
                "[{}{}] {done}/{total}, {}",
                "#".repeat(filled),
                ".".repeat(CELLS - filled),
                size(*bytes)
            )
        }
        InstallProgress::Running { command } => {
            let short: String = command.chars().take(70).collect();
            format!("running {short}")
        }
        _ => String::new(),
    }
}

/// Spells a number of bytes.
pub(super) fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = bytes.saturating_mul(10) / unit;
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_line_says_how_far_it_is() {
        let fetching = |done, total, bytes| InstallProgress::Fetching { done, total, bytes };
        for (progress, expected) in [
            (fetching(0, 4, 0), "[........................] 0/4, 0 B"),
            (
                fetching(1, 4, 1536),
                "[######..................] 1/4, 1.5 KB",
            ),
            (
                fetching(4, 4, 5 << 20),
                "[########################] 4/4, 5.0 MB",
            ),
            (fetching(0, 0, 0), "[########################] 0/0, 0 B"),
            (
                InstallProgress::Resolving { packages: 7 },
                "looking up dependencies: 7",
            ),
        ] {
            assert_eq!(line(&progress), expected);
        }
    }
}
