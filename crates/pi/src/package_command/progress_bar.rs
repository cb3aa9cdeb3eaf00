//! Install progress on one line of the terminal. Without a terminal, only notes are printed.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pi_packages::{InstallProgress, ProgressListener};

use crate::output::{notice, sanitize};

/// Minimum time between redraws.
const REDRAW_INTERVAL: Duration = Duration::from_millis(50);

const BAR_WIDTH: usize = 24;

const CLEAR_LINE: &str = "\r\u{1b}[K";

/// Returns a listener that draws on stderr.
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
        let mut last = drawn.lock();
        let is_end =
            matches!(&progress, InstallProgress::Fetching { done, total, .. } if done == total);
        if !is_end && last.is_some_and(|last| last.elapsed() < REDRAW_INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
        draw(&line(&progress));
    })
}

/// Clears the line.
pub(super) fn clear(is_terminal: bool) {
    if is_terminal {
        draw("");
    }
}

fn draw(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Nothing can be done if stderr fails.
    write!(stderr, "{CLEAR_LINE}{}", sanitize(text))
        .and_then(|()| stderr.flush())
        .ok();
}

fn line(progress: &InstallProgress) -> String {
    match progress {
        InstallProgress::Resolving { packages } => format!("resolving dependencies: {packages}"),
        InstallProgress::Fetching { done, total, bytes } => {
            let filled = (BAR_WIDTH * done)
                .checked_div(*total)
                .unwrap_or(BAR_WIDTH)
                .min(BAR_WIDTH);
            format!(
                "[{}{}] {done}/{total}, {}",
                "#".repeat(filled),
                ".".repeat(BAR_WIDTH - filled),
                format_size(*bytes)
            )
        }
        InstallProgress::Running { command } => {
            let short: String = command.chars().take(70).collect();
            format!("running {short}")
        }
        _ => String::new(),
    }
}

/// Formats a number of bytes.
pub(super) fn format_size(bytes: u64) -> String {
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
    fn the_line_shows_the_progress() {
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
                "resolving dependencies: 7",
            ),
        ] {
            assert_eq!(line(&progress), expected);
        }
    }
}
