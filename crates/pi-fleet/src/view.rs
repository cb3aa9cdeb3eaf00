//! Text for terminals: the table of runs and the details of one.

use std::fmt::Write as _;

use crate::engine::RunOverview;
use crate::run_result::RunStatus;

/// Longest ID that the table shows.
const ID_WIDTH: usize = 32;

/// Returns the current status of a run.
pub(crate) fn status(run: &RunOverview) -> &'static str {
    match &run.state.result {
        Some(result) => result.status.as_str(),
        None if run.is_active => "running",
        None if run.is_paused => "paused",
        None if run.state.epoch > 0 => "waiting",
        None => "queued",
    }
}

/// Returns the table of a batch: a line of totals, then one line per run.
pub(crate) fn table(name: &str, runs: &[RunOverview]) -> String {
    let count = |wanted: &str| runs.iter().filter(|run| status(run) == wanted).count();
    let total: f64 = runs.iter().map(cost).sum();
    let finished = runs.iter().filter(|run| run.state.result.is_some()).count();
    let mut text = format!(
        "{name}: {finished}/{} finished, {} running, {} done, ${total:.2}\n",
        runs.len(),
        count("running"),
        count(RunStatus::Done.as_str()),
    );
    let _infallible = writeln!(
        text,
        "{:ID_WIDTH$} {:9} {:>5} {:>8} {:>8}",
        "RUN", "STATUS", "TURNS", "COST", "ATTEMPTS"
    );
    for run in runs {
        let id: String = run.task.id.chars().take(ID_WIDTH).collect();
        let turns = run
            .state
            .result
            .as_ref()
            .map_or(run.state.usage.turns, |result| result.turns);
        let _infallible = writeln!(
            text,
            "{id:ID_WIDTH$} {:9} {turns:>5} {:>8} {:>8}",
            status(run),
            format!("${:.2}", cost(run)),
            run.state.attempts,
        );
    }
    text
}

/// Returns the details of a run.
pub(crate) fn details(run: &RunOverview) -> String {
    let state = &run.state;
    let mut text = format!("{}: {}\n", run.task.id, status(run));
    let mut line = |label: &str, value: String| {
        let _infallible = writeln!(text, "  {label:12} {value}");
    };
    line("turns", state.usage.turns.to_string());
    line("cost", format!("${:.4}", cost(run)));
    line("attempts", state.attempts.to_string());
    line("workers", state.workers.join(", "));
    if let Some((base, tree)) = &state.workspace {
        line("base", base.clone());
        line("snapshot", tree.clone());
    }
    if !state.begun.is_empty() && state.result.is_none() {
        line("calls", state.begun.join(", "));
    }
    if let Some(result) = &state.result {
        if let Some(error) = &result.error {
            line("error", error.clone());
        }
        for file in result.session.iter().chain(&result.patch) {
            line("file", file.clone());
        }
    }
    text
}

fn cost(run: &RunOverview) -> f64 {
    let result = run.state.result.as_ref();
    result.map_or(run.state.usage.cost, |result| result.cost)
}
