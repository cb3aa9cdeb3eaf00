//! The table that is drawn again while a batch runs. It fits the terminal, so that it can be replaced.

use std::collections::HashSet;
use std::time::Duration;

use super::{Coloring, UNKNOWN, heading, row, status, total_cost};
use crate::engine::RunOverview;
use crate::run_result::RunStatus;

const BAR_WIDTH: usize = 24;

/// Lines of the table that are not runs: totals, counts, heading, number of hidden runs, and that of the cursor.
const OTHER_LINES: usize = 5;

/// Runs that ended recently and are shown with those in progress.
const ENDED: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TerminalSize {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// What a watch knows from one drawing to the next.
pub(crate) struct LiveTable {
    name: String,
    coloring: Coloring,
    /// Finished runs when the watch began.
    first_finished: Option<usize>,
    /// Runs that have ended since, the latest last.
    ended: Vec<String>,
    /// The same, to find them.
    ended_ids: HashSet<String>,
}

impl LiveTable {
    pub(crate) fn new(name: &str, coloring: Coloring) -> Self {
        Self {
            name: name.to_owned(),
            coloring,
            first_finished: None,
            ended: Vec::new(),
            ended_ids: HashSet::new(),
        }
    }

    /// Returns the lines to draw. `elapsed` is the time since the watch began.
    pub(crate) fn render(
        &mut self,
        runs: &[RunOverview],
        elapsed: Duration,
        size: TerminalSize,
    ) -> Vec<String> {
        let is_finished = |run: &&RunOverview| run.state.result.is_some();
        let finished = runs.iter().filter(is_finished).count();
        let is_first = self.first_finished.is_none();
        let first = *self.first_finished.get_or_insert(finished);
        for run in runs.iter().filter(is_finished) {
            if self.ended_ids.insert(run.task.id.clone()) {
                self.ended.push(run.task.id.clone());
            }
        }
        // Those that had ended before the watch began are not recent.
        let recent = if is_first {
            &[]
        } else {
            self.ended.get(first..).unwrap_or_default()
        };
        let recent = recent
            .get(recent.len().saturating_sub(ENDED)..)
            .unwrap_or_default();
        let mut lines = vec![
            self.progress(runs, finished - first.min(finished), elapsed, size),
            self.counts(runs),
        ];
        let shown = runs.iter().filter(|run| {
            let id = &run.task.id;
            matches!(status(run), "running" | "paused") || recent.contains(id)
        });
        let shown: Vec<_> = shown.collect();
        if !shown.is_empty() {
            lines.push(heading(self.coloring));
        }
        let room = size.rows.saturating_sub(OTHER_LINES).max(1);
        lines.extend(shown.iter().take(room).map(|run| row(run, self.coloring)));
        if shown.len() > room {
            lines.push(format!("… and {} more", shown.len() - room));
        }
        lines
            .iter()
            .map(|line| fit(line.trim_end(), size.columns))
            .collect()
    }

    fn progress(
        &self,
        runs: &[RunOverview],
        since: usize,
        elapsed: Duration,
        size: TerminalSize,
    ) -> String {
        let finished = runs.iter().filter(|run| run.state.result.is_some()).count();
        let count = runs.len().max(1);
        let filled = finished * BAR_WIDTH / count;
        let bar = self.coloring.paint("32", &"━".repeat(filled))
            + &self
                .coloring
                .paint("2", &"─".repeat(BAR_WIDTH.saturating_sub(filled)));
        let left = u32::try_from(runs.len() - finished.min(runs.len())).unwrap_or(u32::MAX);
        let remaining = match u32::try_from(since) {
            Ok(since @ 1..) if left > 0 => {
                let each = elapsed / since;
                format!("  about {} left", describe(each.saturating_mul(left)))
            }
            _ => String::new(),
        };
        let totals = format!(
            "{finished}/{}  ${:.2}{remaining}",
            runs.len(),
            total_cost(runs)
        );
        // The name of a batch may be longer than the line, and what follows changes.
        let room = size.columns.saturating_sub(totals.len() + BAR_WIDTH + 2);
        let name = shorten(&self.name, room);
        format!("{} {bar} {totals}", self.coloring.paint("1", &name))
    }

    fn counts(&self, runs: &[RunOverview]) -> String {
        let ends = [
            RunStatus::Done,
            RunStatus::Failed,
            RunStatus::Limit,
            RunStatus::Canceled,
            RunStatus::Poisoned,
        ];
        let names = ["running", "paused", "waiting", "queued", UNKNOWN];
        let names = ends.iter().map(|end| end.as_str()).chain(names);
        let counts = names.filter_map(|name| {
            let count = runs.iter().filter(|run| status(run) == name).count();
            let text = format!("{count} {name}");
            (count > 0).then(|| self.coloring.status(name, &text))
        });
        counts.collect::<Vec<_>>().join("  ")
    }
}

/// Formats a duration for users.
fn describe(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Cuts the end of a name that is too long.
fn shorten(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    let start = name.chars().take(width.saturating_sub(1));
    start.chain(['…']).collect()
}

/// Cuts a line to the width of the terminal. Escape sequences have no width.
fn fit(line: &str, columns: usize) -> String {
    let mut text = String::new();
    let (mut width, mut is_escape, mut is_cut) = (0, false, false);
    for c in line.chars() {
        is_escape |= c == '\u{1b}';
        if is_escape {
            text.push(c);
            is_escape = c != 'm';
        } else if width < columns {
            text.push(c);
            width += 1;
        } else {
            is_cut = true;
        }
    }
    if is_cut && line.contains('\u{1b}') {
        text.push_str("\u{1b}[0m");
    }
    text
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::run_state::RunState;

    const SIZE: TerminalSize = TerminalSize {
        columns: 100,
        rows: 24,
    };

    fn run(id: &str, is_active: bool, end: Option<&str>) -> RunOverview {
        let task = format!("{{\"id\":\"{id}\",\"prompt\":\"x\"}}");
        let mut state = RunState::default();
        state.usage.cost = 0.25;
        state.usage.turns = 3;
        state.result = end.map(|status| {
            serde_json::from_value(serde_json::json!({
                "task": id, "run": id, "status": status, "exit": 0, "turns": 7, "cost": 0.5,
                "usage": {"input": 1, "output": 1, "cacheRead": 0}, "attempts": 1, "cutRequests": 0,
                "interruptedCalls": 0, "workers": [], "artifacts": [],
            }))
            .unwrap()
        });
        RunOverview {
            task: crate::task::parse_tasks(&task).unwrap().remove(0),
            state,
            is_active,
            is_paused: false,
            problem: None,
        }
    }

    #[test]
    fn progress_cost_and_the_runs_in_progress_are_shown() {
        let mut table = LiveTable::new("b", Coloring::Plain);
        let mut runs = vec![
            run("old", false, Some("failed")),
            run("a", true, None),
            run("b", true, None),
            run("c", false, None),
        ];
        let lines = table.render(&runs, Duration::ZERO, SIZE);
        assert_eq!(lines[0], "b ━━━━━━────────────────── 1/4  $1.25");
        assert_eq!(lines[1], "1 failed  2 running  1 queued");
        assert!(lines[3].starts_with("a  ") && lines[4].starts_with("b  "));
        assert_eq!(lines.len(), 5);
        runs[1] = run("a", false, Some("done"));
        let lines = table.render(&runs, Duration::from_mins(2), SIZE);
        assert_eq!(
            lines[0],
            "b ━━━━━━━━━━━━──────────── 2/4  $1.50  about 4 min left"
        );
        assert!(
            lines[3].contains("done") && lines[4].contains("running"),
            "{lines:?}"
        );
    }

    #[test]
    fn the_table_fits_the_terminal() {
        let runs: Vec<_> = (0..50)
            .map(|number| run(&format!("r{number}"), true, None))
            .collect();
        let size = TerminalSize {
            columns: 20,
            rows: 10,
        };
        for coloring in [Coloring::Plain, Coloring::Ansi] {
            let lines = LiveTable::new("b", coloring).render(&runs, Duration::ZERO, size);
            assert!(lines.len() < size.rows, "{}", lines.len());
            assert_eq!(lines.last().unwrap(), "… and 45 more");
            let is_colored = lines[3].contains("\u{1b}[36m");
            // The status is cut off the plain row, and its color stays.
            assert_eq!(is_colored, coloring == Coloring::Ansi, "{lines:?}");
            assert!(
                coloring == Coloring::Ansi || lines.iter().all(|line| line.chars().count() <= 20)
            );
        }
    }

    #[test]
    fn a_long_name_leaves_room_for_the_progress() {
        let name =
            "a-batch-with-a-name-that-is-longer-than-a-line-of-most-terminals-0f1e2d3c4b5a6978";
        let size = TerminalSize {
            columns: 80,
            rows: 24,
        };
        let mut table = LiveTable::new(name, Coloring::Plain);
        let runs = [run("a", true, None), run("b", false, Some("done"))];
        let lines = table.render(&runs, Duration::ZERO, size);
        assert_eq!(
            lines[0],
            "a-batch-with-a-name-that-is-longer-than-a-l… ━━━━━━━━━━━━──────────── 1/2  $0.75"
        );
        assert_eq!(lines[0].chars().count(), 80);
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{lines:?}"
        );
        assert!(
            lines[3].ends_with("running       3    $0.25        0"),
            "{lines:?}"
        );
    }

    #[test]
    fn durations_are_rounded() {
        for (seconds, text) in [(59, "59 s"), (61, "2 min"), (7260, "2 h 1 min")] {
            assert_eq!(describe(Duration::from_secs(seconds)), text);
        }
    }
}
