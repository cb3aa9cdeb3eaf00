//! The commands of `pi-fleet`.

mod batches;
mod remote;
mod server;
mod words;

use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pi_env::Env;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::driver::DriverOptions;
use crate::engine::{ControlMessage, FleetEngine, LocalEngine};
use crate::result_files::write_results;
use crate::run_result::{RunResult, RunStatus};
use crate::view;
use crate::worker_pool::{WhenEmpty, WorkerPool};
use batches::{Batches, Target};
use remote::RemoteWords;
use words::{Command, Failure, RunWords};

const SUCCESS: u8 = 0;
const SOME_FAILED: u8 = 1;
const USAGE: u8 = 2;
const BUDGET_REACHED: u8 = 3;
const INTERRUPTED: u8 = 130;

/// How often the live table is drawn.
const REFRESH: Duration = Duration::from_secs(1);

/// Runs a command and returns its exit code.
pub fn run_command(mut words: Vec<String>, env: &Env) -> u8 {
    let parsed = RemoteWords::take(&mut words)
        .and_then(|remote| words::parse(words).map(|command| (command, remote)));
    let (command, remote) = match parsed {
        Ok(parsed) => parsed,
        Err(failure) => return report(&failure),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let executed = match runtime {
        Ok(runtime) => runtime.block_on(execute(command, &remote, env)),
        Err(error) => Err(Failure::new(format!("cannot start: {error}"))),
    };
    executed.unwrap_or_else(|failure| report(&failure))
}

fn report(failure: &Failure) -> u8 {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "error: {}", printable(&failure.cause)).ok();
    for hint in &failure.hints {
        writeln!(stderr, "hint: {hint}").ok();
    }
    USAGE
}

async fn execute(command: Command, remote: &RemoteWords, env: &Env) -> Result<u8, Failure> {
    match &command {
        Command::Help => {
            print(words::HELP);
            return Ok(SUCCESS);
        }
        Command::Up(words) => {
            let batches = Batches::of(env, None)?;
            let fleet = remote.fleet.as_deref().unwrap_or("main");
            return server::up(batches.root(), fleet, words).await;
        }
        _ => {}
    }
    let engine = remote.connect(env).await?;
    let batches = Batches::of(env, engine.clone())?;
    match command {
        Command::Help | Command::Up(_) => Ok(SUCCESS),
        Command::Worker(words) => remote::work(&batches, remote::required(engine)?, words).await,
        Command::Submit(words) => remote::submit(&remote::required(engine)?, &words).await,
        Command::Run(_) if engine.is_some() => Err(words::usage(
            "run works on this machine: use submit and worker with an engine",
        )),
        Command::Run(words) => run(&batches, words).await,
        Command::List { batch: None } => {
            for name in batches.names().await? {
                let runs = batches.open(&name).await?.overview().await?;
                let table = view::table(&name, &runs);
                print(table.lines().next().unwrap_or_default());
            }
            Ok(SUCCESS)
        }
        Command::List { batch: Some(name) } => {
            let runs = batches.open(&name).await?.overview().await?;
            print(&view::table(&name, &runs));
            Ok(SUCCESS)
        }
        Command::Watch { batch } => watch(&batches, batch).await,
        Command::Show { run } => {
            let (batch, run) = batches.find_run(&run).await?;
            let runs = batches.open(&batch).await?.overview().await?;
            let found = runs.iter().find(|one| one.task.id == run);
            print(&found.map(view::details).unwrap_or_default());
            Ok(SUCCESS)
        }
        Command::Send { target, message } => {
            for (batch, run) in batches.runs(&target).await? {
                batches
                    .open(&batch)
                    .await?
                    .send(&run, message.clone())
                    .await?;
            }
            if message == ControlMessage::Cancel {
                finish_canceled(&batches, &target).await?;
            }
            Ok(SUCCESS)
        }
        Command::Retry { batch } => {
            let engine = batches.open(&batch).await?;
            let mut reopened = 0;
            for run in engine.overview().await? {
                let is_done = |result: &RunResult| result.status == RunStatus::Done;
                if run
                    .state
                    .result
                    .as_ref()
                    .is_some_and(|result| !is_done(result))
                {
                    reopened += u32::from(engine.reopen(&run.task.id).await?);
                }
            }
            print(&format!(
                "{reopened} runs are queued again. Run the batch to start them."
            ));
            Ok(SUCCESS)
        }
        Command::Results { batch, out } => {
            let engine = batches.open(&batch).await?;
            let runs = engine.overview().await?;
            let written = write_results(engine.as_ref(), &runs, &out).await;
            let count = written.map_err(|error| {
                Failure::new(format!("cannot write results: {}: {error}", out.display()))
            })?;
            print(&format!(
                "{count} of {} runs: {}",
                runs.len(),
                out.display()
            ));
            Ok(SUCCESS)
        }
        Command::Check { program } => batches.check(program.as_deref()).await,
    }
}

/// A canceled run that no worker owns ends when the batch runs again; tells the user so.
async fn finish_canceled(batches: &Batches, target: &str) -> Result<(), Failure> {
    let (Target::Batch(batch) | Target::Run { batch, .. }) = batches.target(target).await?;
    let runs = batches.open(&batch).await?.overview().await?;
    let is_waiting = runs
        .iter()
        .any(|run| run.state.result.is_none() && !run.is_active);
    if is_waiting {
        print("Runs that no worker owns end when the batch runs again.");
    }
    Ok(())
}

async fn run(batches: &Batches, words: RunWords) -> Result<u8, Failure> {
    let (name, tasks) = words.load()?;
    let directory = batches.create(&name)?;
    let engine = Arc::new(LocalEngine::open(&directory)?);
    engine.submit(&tasks).await?;
    let program = batches::pi_program(words.program.as_deref())?;
    let is_live = std::io::stderr().is_terminal() && !words.quiet;
    eprint_line(&format!(
        "{name}: {} tasks, {} workers",
        tasks.len(),
        words.workers
    ));
    let stop = CancellationToken::new();
    let pool = WorkerPool {
        engine: Arc::clone(&engine) as Arc<dyn FleetEngine>,
        options: DriverOptions {
            batches: batches.all(),
            mirrors: batches.mirrors(),
            program,
            arguments: words.arguments.clone(),
            worker: worker_name(),
        },
        slots: words.workers,
        when_empty: WhenEmpty::Stop,
        budget: Arc::new(Budget::new(words.cost)),
        stop: stop.clone(),
        on_result: Arc::new(move |result: &RunResult| {
            if !is_live {
                eprint_line(&result_line(result));
            }
        }),
        on_problem: Arc::new(|run, problem| {
            eprint_line(&format!("warning: {run}: {problem}; trying again"));
        }),
    };
    let running = pool.run();
    let mut running = std::pin::pin!(running);
    let mut refresh = tokio::time::interval(REFRESH);
    let mut drawn = 0;
    let summary = loop {
        tokio::select! {
            summary = &mut running => break summary?,
            signal = interrupted(), if !stop.is_cancelled() => {
                signal?;
                stop.cancel();
            }
            _tick = refresh.tick(), if is_live => {
                let runs = engine.overview().await?;
                drawn = redraw(&live_table(&name, &runs), drawn);
            }
        }
    };
    let runs = engine.overview().await?;
    let table = view::table(&name, &runs);
    eprint_line(table.lines().next().unwrap_or_default());
    if summary.is_interrupted {
        eprint_line("Interrupted. Run the same command to resume.");
        return Ok(INTERRUPTED);
    }
    if summary.is_out_of_budget {
        eprint_line(
            "The budget is reached. Run the same command with a higher --cost to continue.",
        );
        return Ok(BUDGET_REACHED);
    }
    if let Some(out) = &words.out {
        let written = write_results(engine.as_ref(), &runs, out).await;
        written.map_err(|error| Failure::new(format!("cannot write results: {error}")))?;
    }
    let wanted: HashSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    let is_done = runs
        .iter()
        .filter(|run| wanted.contains(run.task.id.as_str()))
        .all(|run| {
            run.state
                .result
                .as_ref()
                .is_some_and(|one| one.status == RunStatus::Done)
        });
    Ok(if is_done { SUCCESS } else { SOME_FAILED })
}

/// Waits for a signal to stop.
async fn interrupted() -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("cannot install signal handlers: {error}"));
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        tokio::select! {
            pressed = tokio::signal::ctrl_c() => pressed.map_err(failed),
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await.map_err(failed)
}

async fn watch(batches: &Batches, batch: Option<String>) -> Result<u8, Failure> {
    let name = match batch {
        Some(name) => name,
        None => batches.latest().await?,
    };
    let engine = batches.open(&name).await?;
    let mut drawn = 0;
    loop {
        let runs = engine.overview().await?;
        if !std::io::stderr().is_terminal() {
            print(&view::table(&name, &runs));
            return Ok(SUCCESS);
        }
        drawn = redraw(&live_table(&name, &runs), drawn);
        if runs.iter().all(|run| run.state.result.is_some()) {
            return Ok(SUCCESS);
        }
        tokio::select! {
            signal = interrupted() => {
                signal?;
                return Ok(SUCCESS);
            }
            () = tokio::time::sleep(REFRESH) => {}
        }
    }
}

/// Returns the table with the runs that are in progress only.
fn live_table(name: &str, runs: &[crate::engine::RunOverview]) -> String {
    let all = view::table(name, runs);
    let is_shown = |index: usize| runs.get(index).is_some_and(|run| run.is_active);
    let lines = all.lines().enumerate();
    let shown = lines.filter(|(number, _)| *number < 2 || is_shown(number - 2));
    shown.flat_map(|(_, line)| [line, "\n"]).collect()
}

/// Replaces the lines drawn last with others; returns their number.
fn redraw(text: &str, drawn: usize) -> usize {
    let mut stderr = std::io::stderr().lock();
    if drawn > 0 {
        write!(stderr, "\u{1b}[{drawn}A\u{1b}[J").ok();
    }
    write!(stderr, "{}", printable(text)).ok();
    stderr.flush().ok();
    text.lines().count()
}

fn result_line(result: &RunResult) -> String {
    let error = result.error.as_deref().unwrap_or_default();
    let error = error.lines().next().unwrap_or_default();
    let separator = if error.is_empty() { "" } else { ": " };
    format!(
        "{} {} ({} turns, ${:.2}){separator}{error}",
        result.task,
        result.status.as_str(),
        result.turns,
        result.cost,
    )
}

fn worker_name() -> String {
    let system = rustix::system::uname();
    format!(
        "{}:{}",
        system.nodename().to_string_lossy(),
        std::process::id()
    )
}

/// Prints lines to standard output.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    // A reader may have enough.
    writeln!(stdout, "{}", printable(text.trim_end())).ok();
}

fn eprint_line(text: &str) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "{}", printable(text)).ok();
}

/// Removes control characters: names and errors may come from anywhere.
fn printable(text: &str) -> String {
    let is_safe = |c: &char| *c == '\n' || !c.is_control();
    text.chars().filter(is_safe).collect()
}

fn absolute(path: &str) -> Result<PathBuf, Failure> {
    std::path::absolute(Path::new(path))
        .map_err(|error| Failure::new(format!("cannot use {path}: {error}")))
}
