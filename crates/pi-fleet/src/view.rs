//! Text for terminals: the table of runs, its live form, and the details of one run.

mod live_table;

use std::fmt::Write as _;

use crate::engine::RunOverview;
use crate::run_result::RunStatus;
use crate::secrets::hide_token;

pub(crate) use live_table::{LiveTable, TerminalSize};

/// Longest ID that the table shows.
const ID_WIDTH: usize = 32;

/// Longest prompt that the details show.
const PROMPT_CHARS: usize = 200;

/// Whether text has colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coloring {
    Plain,
    Ansi,
}

impl Coloring {
    /// Returns a text with a parameter of the escape sequence that colors it.
    fn paint(self, parameter: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\u{1b}[{parameter}m{text}\u{1b}[0m"),
        }
    }

    fn status(self, status: &str, text: &str) -> String {
        let parameter = match status {
            "done" => "32",
            "failed" | "poisoned" => "31",
            "limit" | "canceled" | "paused" => "33",
            "running" => "36",
            _ => "2",
        };
        self.paint(parameter, text)
    }
}

/// The status of a run that this version cannot read.
const UNKNOWN: &str = "unknown";

/// Returns the current status of a run.
pub(crate) fn status(run: &RunOverview) -> &'static str {
    match &run.state.result {
        Some(result) => result.status.as_str(),
        None if run.is_active => "running",
        None if run.is_paused => "paused",
        None if run.problem.is_some() && run.state.epoch == 0 => UNKNOWN,
        None if run.state.epoch > 0 => "waiting",
        None => "queued",
    }
}

/// Whether there is nothing to wait for: the run has ended, or its state is unknown.
pub(crate) fn is_over(run: &RunOverview) -> bool {
    run.state.result.is_some() || status(run) == UNKNOWN
}

/// Returns a line for each run that this version cannot read.
pub(crate) fn problems(runs: &[RunOverview]) -> Vec<String> {
    let problems = runs.iter().filter_map(|run| {
        let problem = run.problem.as_ref()?;
        Some(format!("warning: cannot read {}: {problem}", run.task.id))
    });
    problems.collect()
}

/// Returns the totals of a batch in one line.
pub(crate) fn totals(name: &str, runs: &[RunOverview]) -> String {
    let count = |wanted: &str| runs.iter().filter(|run| status(run) == wanted).count();
    let finished = runs.iter().filter(|run| run.state.result.is_some()).count();
    format!(
        "{name}: {finished}/{} finished, {} running, {} done, ${:.2}",
        runs.len(),
        count("running"),
        count(RunStatus::Done.as_str()),
        total_cost(runs),
    )
}

/// Returns the table of a batch: a line of totals, then one line per run.
pub(crate) fn table(name: &str, runs: &[RunOverview], coloring: Coloring) -> String {
    let mut text = totals(name, runs);
    text.push('\n');
    text.push_str(&heading(coloring));
    for run in runs {
        text.push_str(&row(run, coloring));
    }
    text
}

fn heading(coloring: Coloring) -> String {
    let line = format!(
        "{:ID_WIDTH$} {:9} {:>5} {:>8} {:>8}",
        "RUN", "STATUS", "TURNS", "COST", "ATTEMPTS"
    );
    coloring.paint("1", &line) + "\n"
}

fn row(run: &RunOverview, coloring: Coloring) -> String {
    let id: String = run.task.id.chars().take(ID_WIDTH).collect();
    let status = status(run);
    let result = run.state.result.as_ref();
    let turns = result.map_or(run.state.usage.turns, |result| result.turns);
    format!(
        "{id:ID_WIDTH$} {} {turns:>5} {:>8} {:>8}\n",
        coloring.status(status, &format!("{status:9}")),
        format!("${:.2}", cost(run)),
        run.state.attempts,
    )
}

/// Returns the details of a run.
pub(crate) fn details(run: &RunOverview) -> String {
    let state = &run.state;
    let mut text = format!("{}: {}\n", run.task.id, status(run));
    let mut line = |label: &str, value: String| {
        let _infallible = writeln!(text, "  {label:12} {value}");
    };
    let prompt = state.prompt.as_ref().map(|(prompt, _)| prompt);
    let prompt = prompt.unwrap_or(&run.task.prompt).lines().next();
    line(
        "prompt",
        prompt
            .unwrap_or_default()
            .chars()
            .take(PROMPT_CHARS)
            .collect(),
    );
    let task = &run.task;
    let repository = task.repo.as_deref().map(hide_token);
    for (label, value) in [
        ("repository", &repository),
        ("model", &task.model),
        ("queue", &task.queue),
    ] {
        if let Some(value) = value {
            line(label, value.clone());
        }
    }
    if let Some(problem) = &run.problem {
        line("problem", problem.clone());
    }
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
        if let Some(verify) = &result.verify {
            line(
                "verify",
                format!("exit {} in {} s", verify.exit, verify.seconds),
            );
        }
        if let Some(error) = &result.error {
            line("error", error.clone());
        }
        for file in result.files() {
            line("file", file);
        }
    }
    text
}

pub(crate) fn cost(run: &RunOverview) -> f64 {
    let result = run.state.result.as_ref();
    result.map_or(run.state.usage.cost, |result| result.cost)
}

fn total_cost(runs: &[RunOverview]) -> f64 {
    // The sum of no floats is -0.
    let costs = runs.iter().map(|run| run.state.total_cost());
    costs.fold(0.0, |total, cost| total + cost)
}
