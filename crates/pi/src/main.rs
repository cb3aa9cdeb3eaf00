//! `pi`: a terminal coding agent in one binary.
//!
//! Dispatches a command line to a subcommand or mode, in the order scripts rely on. Help and version come first: they start
//! no runtime and read no file.

mod acp_mode;
mod args;
mod attach_command;
mod auth_command;
mod cache_command;
mod commands;
mod completions_command;
mod confirm;
mod conversation;
mod demo;
mod docs_command;
mod doctor_command;
mod edit_distance;
mod environment;
mod export_command;
mod ext_command;
mod extension_failures;
mod files_command;
mod flag_values;
mod fleet_command;
mod fsck_command;
mod hardening;
mod help;
mod host_command;
mod interactive_mode;
mod json_mode;
mod list_models;
mod log;
mod manual;
mod manual_page;
mod mcp_command;
mod mcp_serve;
mod mode;
mod output;
mod own_stdio;
mod package_command;
mod panics;
#[cfg(unix)]
mod permissions_command;
mod pipe_writer;
mod print_mode;
mod project_trust;
mod prompt_input;
mod replay_command;
mod rpc_mode;
mod search_command;
mod serve_command;
mod session_locations;
mod signals;
mod start_timings;
mod startup;

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pi_env::{Env, VERSION};
use pi_host::{ExtensionMode, ExtensionUi};
use pi_protocol::UpdateFormat;
use pi_rpc::{ClientTools, RpcBarrier, RpcExtensionUi, ServeOptions};
use tokio::runtime::{Builder, Runtime};

use crate::args::{Args, Problem};
use crate::extension_failures::{PrintedFailures, ThemedUi, client_screen};
use crate::flag_values::check_mcp_files;
use crate::mode::{Mode, Terminals};
use crate::output::{Exit, Failure, print, warn};
use crate::signals::Signals;
use crate::start_timings::StartTimings;
use crate::startup::{Prepared, prepare, working_directory};

/// Starts the process that ends commands if this one is killed; not for users.
#[cfg(target_os = "linux")]
const SUPERVISE_COMMANDS: &str = "__supervise-commands";

fn main() -> ExitCode {
    // First: a process that hides its memory cannot map its user.
    #[cfg(target_os = "linux")]
    {
        let mut words = std::env::args_os().skip(1);
        if words.next().is_some_and(|word| word == pi_sandbox::CONFINE) {
            return pi_sandbox::run_confined(words);
        }
    }
    hardening::disable_ptrace_and_core_dumps();
    let mut words = std::env::args_os();
    let program = words.next().unwrap_or_default();
    let mut words: Vec<OsString> = words.collect();
    // Extensions start pi as `process.execPath` with the script `process.argv[1]`, and both are this file.
    if words.first().is_some_and(|word| is_this_program(word)) {
        words.remove(0);
    }
    if let Some(command) = pi_search_commands::command_of(program.as_ref()) {
        return pi_search_commands::run(command, words).into();
    }
    #[cfg(target_os = "linux")]
    {
        if words == [SUPERVISE_COMMANDS] {
            pi_tools::supervise_commands();
            return ExitCode::SUCCESS;
        }
        pi_tools::end_commands_with_process(SUPERVISE_COMMANDS);
    }
    panics::install_exit_hook();
    let exit = dispatch(words);
    #[cfg(target_os = "linux")]
    pi_tools::release_children();
    exit.into()
}

fn is_this_program(word: &OsStr) -> bool {
    Path::new(word).is_absolute() && std::env::current_exe().is_ok_and(|program| program == word)
}

fn dispatch(words: Vec<OsString>) -> Exit {
    let first = words.first().and_then(|word| word.to_str());
    match first {
        Some("auth") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return run_command(auth_command::run(words, Env::process()));
        }
        Some("mcp") if mcp_serve::is_command(&words) => {
            log::start();
            let words = words.into_iter().skip(2).collect();
            return run_sessions(mcp_serve::run(words, Env::process()));
        }
        Some("mcp") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return run_command(mcp_command::run(words, Env::process()));
        }
        Some("acp") => return run_acp(words.into_iter().skip(1).collect()),
        Some("serve") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return run_sessions(serve_command::run(words, Env::process()));
        }
        Some("attach") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return run_sessions(attach_command::run(words, Env::process()));
        }
        Some("host") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return run_sessions(host_command::run(words, Env::process()));
        }
        Some("fleet") => return fleet_command::run(words.into_iter().skip(1).collect()),
        Some("replay") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return run_command(replay_command::run(words, Env::process()));
        }
        Some("fsck") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return fsck_command::run(words, &Env::process());
        }
        Some("cache") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return cache_command::run(words, &Env::process());
        }
        Some("ext") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return run_command(ext_command::run(words, Env::process()));
        }
        Some("doctor") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return run_command(doctor_command::run(words, Env::process()));
        }
        Some("search") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return search_command::run(words, &Env::process());
        }
        Some("files") => {
            log::start();
            let words = words.into_iter().skip(1).collect();
            return files_command::run(words, &Env::process());
        }
        Some("permissions") => {
            let words: Vec<OsString> = words.into_iter().skip(1).collect();
            return permissions_command::run(&words, &Env::process());
        }
        Some("docs") => return docs_command::run(&arguments(&words), &Env::process()),
        Some("completions") => return completions_command::run(&arguments(&words)),
        Some(word) if package_command::is_command(word) => return run_package_command(&words),
        _ => {}
    }
    let args = Args::parse(words);
    if let Err(failure) = report_problems(&args) {
        return failure.report();
    }
    if args.version {
        return print(&version_text(args.screen.verbose));
    }
    if args.help {
        return run_sessions(help::run(&args, Env::process()));
    }
    log::start();
    if args.demo {
        let env = Env::process();
        let on_screen = !args.print && Terminals::of_process().are_interactive();
        return run_sessions(async move {
            if on_screen {
                demo::run_on_screen(&env).await
            } else {
                demo::run(&env).await
            }
        });
    }
    if let Some(input) = &args.export {
        let output = match &*args.prompt.messages {
            [] => None,
            [output] => Some(output.as_str()),
            [_, rest @ ..] => return export_command::too_many_arguments(rest).report(),
        };
        return run_command(export_command::run(input, output, Env::process()));
    }
    let mode = Mode::of(&args, Terminals::of_process());
    if let Err(failure) = check(&args, mode) {
        return failure.report();
    }
    if let Some(wanted) = &args.list_models {
        return run_sessions(list_models::run(&args, wanted, Env::process()));
    }
    if mode == Mode::Acp {
        return run_sessions(acp_mode::run(args, Env::process()));
    }
    run_sessions(serve(args, mode))
}

/// Returns the words behind a subcommand as text.
fn arguments(words: &[OsString]) -> Vec<String> {
    let words = words.iter().skip(1);
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// Runs `pi acp …`; `words` follow `acp`.
fn run_acp(mut words: Vec<OsString>) -> Exit {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return print(acp_mode::HELP);
    }
    if words.iter().any(|word| word == acp_mode::LOGIN) {
        // Clients open this in a terminal.
        words = vec!["/login".into()];
    } else {
        words.splice(0..0, ["--mode".into(), "acp".into()]);
    }
    dispatch(words)
}

/// Returns what `--version` prints: the compatible release of the TypeScript pi, which scripts compare, or with
/// `--verbose` also our release and the platform.
fn version_text(verbose: bool) -> String {
    if !verbose {
        return format!("{VERSION}\n");
    }
    let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    format!(
        "pi {VERSION}\nrelease {}\nplatform {system}-{architecture}\n",
        pi_env::release()
    )
}

fn run_package_command(words: &[OsString]) -> Exit {
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    match working_directory() {
        Ok(cwd) => {
            log::start();
            let env = Env::process();
            run_command(async { package_command::run(&words, &cwd, &env).await })
        }
        Err(failure) => failure.report(),
    }
}

/// Reports invalid arguments; returns the first error.
fn report_problems(args: &Args) -> Result<(), Failure> {
    for problem in &args.problems {
        match problem {
            Problem::Warning(message) => warn(message),
            Problem::Error(message) => {
                return Err(Failure::new(message).hint("run pi --help for usage"));
            }
        }
    }
    Ok(())
}

/// Rejects conflicting flags before anything is started.
fn check(args: &Args, mode: Mode) -> Result<(), Failure> {
    if mode == Mode::Rpc && !args.prompt.files.is_empty() {
        return Err(Failure::new("@file arguments cannot be used in rpc mode")
            .hint("send images with the prompt command"));
    }
    if args.wire.barrier && mode != Mode::Rpc {
        return Err(Failure::new("--barrier needs --mode rpc"));
    }
    check_mcp_files(&args.resources)?;
    Ok(args.session.selection.check()?)
}

async fn serve(args: Args, mode: Mode) -> Exit {
    let env = Env::process();
    let mut timings = StartTimings::begin(&env);
    if mode == Mode::Interactive {
        return interactive_mode::run(args, env).await;
    }
    if start_timings::is_benchmark(&env) {
        let problem = "PI_STARTUP_BENCHMARK applies to the terminal application only";
        return Failure::new(problem).report();
    }
    own_stdio::reserve_stdout();
    if mode == Mode::Rpc {
        own_stdio::reserve_stdin();
    }
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            return Failure::new(format!("cannot install signal handlers: {error}")).report();
        }
    };
    let form = if args.wire.full_updates {
        UpdateFormat::Full
    } else {
        UpdateFormat::Delta
    };
    // Boxed: the future is large and used once.
    let lines = RpcExtensionUi::with_screen(client_screen(&env));
    let tools = ClientTools::default();
    let barrier = args.wire.barrier.then(RpcBarrier::default);
    let ui: Arc<dyn ExtensionUi> = match mode {
        Mode::Rpc => Arc::new(lines.clone()),
        Mode::Json => Arc::new(PrintedFailures(ExtensionMode::Json)),
        Mode::Print | Mode::Interactive | Mode::Acp => {
            Arc::new(PrintedFailures(ExtensionMode::Print))
        }
    };
    let extension_ui = Arc::new(ThemedUi {
        ui,
        env: env.clone(),
    });
    timings.end("front end");
    let preparing = Box::pin(prepare(
        args,
        mode,
        env,
        extension_ui,
        (Arc::new(tools.clone()), barrier.clone()),
    ));
    let prepared = signals.guard(preparing, async {}).await;
    let Prepared { runtime, prompts } = match prepared {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(failure)) => return failure.report(),
        Err(signal) => return signal.exit(),
    };
    timings.end("session");
    timings.report();
    let work = async {
        let exit = match mode {
            Mode::Json => json_mode::run(&runtime, prompts, form).await,
            Mode::Rpc | Mode::Print | Mode::Interactive | Mode::Acp => {
                print_mode::run(&runtime, prompts).await
            }
        };
        runtime.shutdown().await;
        exit
    };
    if mode == Mode::Rpc {
        let options = ServeOptions {
            updates: form,
            extensions: lines,
            tools,
            barrier,
            ..ServeOptions::default()
        };
        return rpc_mode::run(runtime.clone(), options, signals).await;
    }
    match signals.guard(work, runtime.shutdown()).await {
        Ok(exit) => exit,
        Err(signal) => signal.exit(),
    }
}

/// Threads for sessions, their tools and connections. One is enough for one user: the runtime replaces it while it waits
/// for the disk, and tasks that pass events to each other on one thread cost least.
const WORKER_THREADS: usize = 1;

/// Sessions have run on the main thread, whose stack is usually larger than the default of other threads. Untouched
/// pages cost nothing.
const WORKER_STACK: usize = 4 * 1024 * 1024;

/// Runs a front end on this thread and its sessions on others, so that neither delays the other.
fn run_sessions(front_end: impl Future<Output = Exit>) -> Exit {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .thread_stack_size(WORKER_STACK)
        .thread_name("pi-worker")
        .enable_all()
        .build();
    block_on(runtime, front_end)
}

/// Runs a command that does one thing after the other on this thread.
fn run_command(command: impl Future<Output = Exit>) -> Exit {
    block_on(Builder::new_current_thread().enable_all().build(), command)
}

fn block_on(runtime: io::Result<Runtime>, work: impl Future<Output = Exit>) -> Exit {
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Failure::new(format!("cannot start: {error}")).report(),
    };
    let exit = runtime.block_on(work);
    // Do not wait for a thread that is blocked on stdin.
    runtime.shutdown_background();
    exit
}
