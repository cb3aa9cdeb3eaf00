//! The terminal of the user: its colors, its size, and the table that is drawn again.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

use pi_env::Env;

use super::printable;
use crate::engine::RunOverview;
use crate::view::{self, Coloring, LiveTable, TerminalSize};

/// What a terminal of unknown size has.
const SIZE: TerminalSize = TerminalSize {
    columns: 80,
    rows: 24,
};

#[derive(Debug, Clone, Copy)]
pub(super) struct Console {
    may_color: bool,
}

impl Console {
    pub(super) fn of(env: &Env) -> Self {
        let is_set = |name: &str| env.var(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env.var("TERM").is_some_and(|term| term == "dumb");
        Self {
            may_color: !is_set("NO_COLOR") && !is_dumb,
        }
    }

    /// Whether tables can be drawn on standard error and replaced.
    pub(super) fn can_draw() -> bool {
        std::io::stderr().is_terminal()
    }

    /// Whether a user watches: standard output is not a pipe or a file either.
    pub(super) fn is_watched() -> bool {
        Self::can_draw() && std::io::stdout().is_terminal()
    }

    fn coloring(self, is_terminal: bool) -> Coloring {
        if self.may_color && is_terminal {
            Coloring::Ansi
        } else {
            Coloring::Plain
        }
    }

    /// Prints the table of a batch to standard output.
    pub(super) fn print_table(self, name: &str, runs: &[RunOverview]) {
        let mut stdout = std::io::stdout().lock();
        let coloring = self.coloring(stdout.is_terminal());
        // IDs have no control characters. A reader may have enough.
        write!(stdout, "{}", view::table(name, runs, coloring)).ok();
    }

    pub(super) fn drawing(self, name: &str) -> Drawing {
        Drawing {
            table: LiveTable::new(&printable(name), self.coloring(Self::can_draw())),
            started: Instant::now(),
            drawn: 0,
        }
    }
}

/// A table on standard error that each drawing replaces.
pub(super) struct Drawing {
    table: LiveTable,
    started: Instant,
    /// Lines drawn last.
    drawn: usize,
}

impl Drawing {
    /// Leaves what is drawn; the next drawing is below.
    pub(super) fn end(&mut self) {
        self.drawn = 0;
    }

    pub(super) fn draw(&mut self, runs: &[RunOverview]) {
        let lines = self.table.render(runs, self.started.elapsed(), size());
        let mut stderr = std::io::stderr().lock();
        if self.drawn > 0 {
            write!(stderr, "\u{1b}[{}A\u{1b}[J", self.drawn).ok();
        }
        for line in &lines {
            writeln!(stderr, "{line}").ok();
        }
        stderr.flush().ok();
        self.drawn = lines.len();
    }
}

#[cfg(unix)]
fn size() -> TerminalSize {
    match rustix::termios::tcgetwinsize(std::io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => TerminalSize {
            columns: size.ws_col.into(),
            rows: size.ws_row.into(),
        },
        _ => SIZE,
    }
}

#[cfg(not(unix))]
fn size() -> TerminalSize {
    SIZE
}
