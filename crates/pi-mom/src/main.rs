//! `pi-mom`: arguments, tokens, and the life of the process.
//!
//! The process may be killed at any time: it ends without stopping runs, and the next start continues them.

mod arguments;
mod startup;
mod tokens;

use std::io::Write as _;
use std::process::ExitCode;

use pi_env::Env;

use arguments::{Command, HELP};

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
    let mut words: Vec<_> = std::env::args_os().skip(1).collect();
    #[cfg(target_os = "linux")]
    {
        hide_memory();
        if words == [SUPERVISE_COMMANDS] {
            pi_tools::supervise_commands();
            return ExitCode::SUCCESS;
        }
    }
    let receives = words.first().is_some_and(|word| word == tokens::RECEIVES);
    if receives {
        words.remove(0);
    }
    let command = match Command::parse(words) {
        Ok(command) => command,
        Err(error) => {
            report(&error);
            report("hint: run pi-mom --help");
            return ExitCode::from(2);
        }
    };
    match command {
        Command::Help => print(HELP),
        Command::Version => print(&format!("pi-mom {}\n", pi_env::VERSION)),
        Command::Run(options) => return run(startup::Task::Serve, options, receives),
        Command::Check(options) => return run(startup::Task::Check, options, receives),
        Command::Events(options) => return run(startup::Task::Events, options, receives),
    }
    ExitCode::SUCCESS
}

fn run(task: startup::Task, options: arguments::RunOptions, receives: bool) -> ExitCode {
    let tokens = match tokens::take_from_environment(receives) {
        Ok(tokens) => tokens,
        Err(error) => {
            report(&format!(
                "cannot keep the tokens from child processes: {error}"
            ));
            return ExitCode::FAILURE;
        }
    };
    #[cfg(target_os = "linux")]
    pi_tools::end_commands_with_process(SUPERVISE_COMMANDS);
    startup::start_log();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            report(&format!("cannot start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(startup::perform(task, options, tokens, Env::process()));
    // Runs are continued by the next start.
    runtime.shutdown_background();
    #[cfg(target_os = "linux")]
    pi_tools::release_children();
    match ended {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// Disables ptrace by other processes of the user and core dumps, since the memory has tokens.
#[cfg(target_os = "linux")]
fn hide_memory() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    let is_allowed = std::env::var_os("PI_ALLOW_DEBUGGER").is_some_and(|value| !value.is_empty());
    if !is_allowed {
        // Best effort: not supported everywhere.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
    }
}

fn print(text: &str) {
    // A closed pipe is not an error.
    std::io::stdout().write_all(text.as_bytes()).ok();
}

fn report(text: &str) {
    writeln!(std::io::stderr(), "pi-mom: {text}").ok();
}
