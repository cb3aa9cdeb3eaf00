//! The commands of `pi-fleet`.

mod attach;
mod batches;
mod check;
mod delete;
#[cfg(test)]
mod manual_page;
mod programs;
mod remote;
mod resubmit;
mod server;
mod signals;
mod terminal;
mod watch;
mod words;

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_env::Env;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::driver::{DriverOptions, WorkerResources};
use crate::engine::{ControlMessage, FleetEngine, LocalEngine, RunOverview};
use crate::result_files::{ResultsError, write_results};
use crate::run_result::{RunResult, RunStatus};
use crate::task::FleetTask;
use crate::telemetry::Exporter;
use crate::view;
use crate::worker_pool::{WhenEmpty, WorkerPool};
use batches::{Batches, Target};
use remote::RemoteArgs;
use signals::Signals;
use terminal::Console;
use words::{Command, Failure, RunArgs};

const SUCCESS: u8 = 0;
const SOME_FAILED: u8 = 1;
const USAGE: u8 = 2;
const BUDGET_REACHED: u8 = 3;
const INTERRUPTED: u8 = 130;

/// Printed when a command begins to stop.
const STOPPING: &str = "Stopping. Press Ctrl-C again to stop without waiting.";

/// Number of agents at the same time, unless set on the command line or in the settings.
const SLOTS: usize = 4;

/// Runs a command and returns its exit code.
pub fn run_command(mut words: Vec<String>, env: &Env) -> u8 {
    let parsed = RemoteArgs::take(&mut words)
        .and_then(|remote| words::parse(words).map(|command| (command, remote)));
    let (command, remote) = match parsed {
        Ok(parsed) => parsed,
        Err(failure) => return report(&failure),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let executed = match runtime {
        Ok(runtime) => {
            let executed = runtime.block_on(async {
                let exporter = Exporter::start(env).map_err(|error| {
                    Failure::new(format!("cannot export spans: {error}"))
                        .hint("check the OTEL_ variables, or set OTEL_SDK_DISABLED=true")
                })?;
                let executed = execute(command, &remote, env).await;
                exporter.stop().await;
                executed
            });
            // A line that the user has not finished entering does not delay the exit.
            runtime.shutdown_background();
            executed
        }
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

async fn execute(command: Command, remote: &RemoteArgs, env: &Env) -> Result<u8, Failure> {
    match &command {
        Command::Help => {
            print(words::HELP);
            return Ok(SUCCESS);
        }
        Command::Up(words) => {
            let batches = Batches::of(env)?;
            let fleet = remote.fleet.as_deref().unwrap_or("main");
            return server::up(batches.root(), fleet, words, batches.settings()).await;
        }
        _ => {}
    }
    let mut batches = Batches::of(env)?;
    let labels = match &command {
        Command::Worker(words) => words.labels.clone(),
        _ => Vec::new(),
    };
    let engine = remote.connect(env, batches.settings(), labels).await?;
    batches.use_engine(engine.clone());
    let store = remote.store(batches.settings())?;
    match command {
        Command::Help | Command::Up(_) => Ok(SUCCESS),
        Command::Worker(words) => {
            let resources = batches.resources(env, &words.secrets, store)?;
            remote::work(&batches, remote::required(engine)?, words, resources).await
        }
        Command::Submit(words) => {
            remote::submit(&remote::required(engine)?, &words, batches.settings()).await
        }
        Command::Resubmit { directory } => {
            let secrets = batches.resources(env, &[], store)?.secrets;
            resubmit::resubmit(&batches, &remote::required(engine)?, &secrets, &directory).await
        }
        Command::Run(_) if engine.is_some() => Err(words::usage(
            "run works on this machine: use submit and worker with an engine",
        )),
        Command::Run(words) => {
            let resources = batches.resources(env, &words.secrets, store)?;
            run(&batches, words, resources, Console::of(env)).await
        }
        Command::List { batch: None } => {
            for name in batches.names().await? {
                let runs = batches.open(&name).await?.overview().await?;
                print(&view::totals(&name, &runs));
                warn_of_problems(&runs);
            }
            Ok(SUCCESS)
        }
        Command::List { batch: Some(name) } => {
            let runs = batches.open(&name).await?.overview().await?;
            Console::of(env).print_table(&name, &runs);
            warn_of_problems(&runs);
            Ok(SUCCESS)
        }
        Command::Watch { batch } => watch::watch(&batches, batch, Console::of(env)).await,
        Command::Attach { run, is_json } => attach::attach(&batches, &run, is_json).await,
        Command::Show { run } => {
            let (batch, run) = batches.find_run(&run).await?;
            let runs = batches.open(&batch).await?.overview().await?;
            let found = runs.iter().find(|one| one.task.id == run);
            let found = found.ok_or_else(|| {
                Failure::new(format!("no run `{run}` in the batch `{batch}`"))
                    .hint(format!("run pi fleet ls {batch} for its runs"))
            })?;
            print(&view::details(found));
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
                report_waiting(&batches, &target).await?;
            }
            Ok(SUCCESS)
        }
        Command::Delete { batch } => delete::delete(&batches, &batch).await,
        Command::Retry {
            target,
            only_failed,
        } => retry(&batches, &target, only_failed).await,
        Command::Results { batch, out } => {
            let engine = batches.open(&batch).await?;
            let runs = engine.overview().await?;
            let written = write_results(engine.as_ref(), store.as_ref(), &runs, &out).await;
            let count = written.map_err(|error| results_failure(&error))?;
            print(&format!(
                "{count} of {} runs: {}",
                runs.len(),
                out.display()
            ));
            Ok(SUCCESS)
        }
        Command::Check { program } => check::check(&batches, program.as_deref(), store).await,
    }
}

/// Prints that canceled runs without a worker end when the batch runs again.
async fn report_waiting(batches: &Batches, target: &str) -> Result<(), Failure> {
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

async fn run(
    batches: &Batches,
    words: RunArgs,
    resources: WorkerResources,
    console: Console,
) -> Result<u8, Failure> {
    let (name, tasks) = words.load(batches.settings())?;
    let pi = programs::required(words.program.as_deref()).await?;
    let directory = batches.create(&name)?;
    let engine = Arc::new(LocalEngine::open(&directory)?);
    let before = engine.overview().await?;
    engine.submit(&tasks).await?;
    reopen_with_new_prompts(engine.as_ref(), &before, &tasks).await?;
    let store = resources.store.clone();
    let slots = words.workers.or(batches.settings().slots).unwrap_or(SLOTS);
    let is_live = Console::can_draw() && !words.quiet;
    eprint_line(&format!("{name}: {} tasks, {} workers", tasks.len(), slots));
    let stop = CancellationToken::new();
    let pool = WorkerPool {
        engine: Arc::clone(&engine) as Arc<dyn FleetEngine>,
        options: DriverOptions {
            batches: batches.all(),
            mirrors: batches.mirrors(),
            program: pi.path,
            pi_version: pi.version,
            arguments: words.arguments.clone(),
            worker: worker_name(),
            resources,
        },
        slots,
        when_empty: WhenEmpty::Stop,
        budget: Arc::new(Budget::new(words.cost)),
        limits: batches.settings().limits.clone(),
        stop: stop.clone(),
        on_result: Arc::new(move |result: &RunResult| {
            if !is_live {
                eprint_line(&result_line(result));
            }
        }),
        on_problem: Arc::new(|run, problem| {
            eprint_line(&format!("warning: {run}: {problem}"));
        }),
    };
    let mut signals = Signals::listen()?;
    let running = pool.run();
    let mut running = std::pin::pin!(running);
    let drawing = watch::draw(Arc::clone(&engine), console.drawing(&name));
    let mut drawing = std::pin::pin!(drawing);
    let summary = loop {
        tokio::select! {
            biased;
            () = signals.next() => {
                if stop.is_cancelled() {
                    return Ok(INTERRUPTED);
                }
                eprint_line(STOPPING);
                stop.cancel();
            }
            summary = &mut running => break summary?,
            failure = &mut drawing, if is_live => return Err(failure),
        }
    };
    let runs = engine.overview().await?;
    eprint_line(&view::totals(&name, &runs));
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
        let written = write_results(engine.as_ref(), store.as_ref(), &runs, out).await;
        written.map_err(|error| results_failure(&error))?;
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

fn results_failure(error: &ResultsError) -> Failure {
    let failure = Failure::new(format!("cannot collect results: {error}"));
    match error {
        ResultsError::Write { .. } => failure.hint("name another directory with --out"),
        ResultsError::Store(_) => {
            failure.hint("check the URL of --artifacts, or fleet.artifacts of settings.json")
        }
        ResultsError::Engine(_) | ResultsError::InvalidName { .. } => failure,
    }
}

/// Starts the runs of a batch again that are not done.
async fn retry(batches: &Batches, target: &str, only_failed: bool) -> Result<u8, Failure> {
    let (batch, chosen) = match batches.target(target).await? {
        Target::Batch(batch) => (batch, None),
        Target::Run { batch, run } => (batch, Some(run)),
    };
    let engine = batches.open(&batch).await?;
    let mut reopened = 0;
    let runs = engine.overview().await?;
    warn_of_problems(&runs);
    for run in runs {
        let is_chosen = chosen.as_ref().is_none_or(|chosen| *chosen == run.task.id);
        let is_retried = run
            .state
            .result
            .as_ref()
            .is_some_and(|result| match result.status {
                RunStatus::Done => false,
                RunStatus::Failed | RunStatus::Poisoned => true,
                RunStatus::Limit | RunStatus::Canceled => !only_failed,
            });
        if is_chosen && is_retried {
            reopened += u32::from(engine.reopen(&run.task.id, None).await?);
        }
    }
    let hint = if batches.is_remote() {
        ""
    } else {
        " Run the batch to start them."
    };
    print(&format!("{reopened} runs are queued again.{hint}"));
    Ok(SUCCESS)
}

/// Continues finished runs whose task has another prompt than before; `before` is what the engine knew of them.
async fn reopen_with_new_prompts(
    engine: &dyn FleetEngine,
    before: &[RunOverview],
    tasks: &[FleetTask],
) -> Result<usize, Failure> {
    let mut reopened = 0;
    for task in tasks {
        let known = before.iter().find(|run| run.task.id == task.id);
        let is_finished = |run: &&RunOverview| run.state.result.is_some() && run.problem.is_none();
        let Some(known) = known.filter(is_finished) else {
            continue;
        };
        let prompt = known.state.prompt.as_ref().map(|(prompt, _)| prompt);
        if *prompt.unwrap_or(&known.task.prompt) != task.prompt {
            let prompt = Some(task.prompt.clone());
            reopened += usize::from(engine.reopen(&task.id, prompt).await?);
        }
    }
    Ok(reopened)
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

/// Prints lines to standard output. Returns whether its reader is there.
fn print(text: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", printable(text.trim_end())).is_ok()
}

/// Lists the runs that this version cannot read.
fn warn_of_problems(runs: &[RunOverview]) {
    for line in view::problems(runs) {
        eprint_line(&line);
    }
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
