//! `pi`: a terminal coding agent in one binary.
//!
//! This file decides which part serves a command line, in the order scripts rely on. What costs
//! nothing comes first: help and version start no runtime and read no file.

mod args;
mod auth_command;
mod export_command;
mod help;
mod list_models;
mod log;
mod mode;
mod output;
mod package_command;
mod prompt_input;
mod signals;
mod version;

use std::ffi::OsString;
use std::future::Future;
use std::process::ExitCode;

use pi_ai::Env;

use crate::args::{Args, Problem};
use crate::mode::{Mode, Terminals};
use crate::output::{Exit, Failure, print, warn};

fn main() -> ExitCode {
    dispatch(std::env::args_os().skip(1).collect()).into()
}

fn dispatch(words: Vec<OsString>) -> Exit {
    let first = words
        .first()
        .and_then(|word| word.to_str())
        .unwrap_or_default();
    if first == "auth" {
        log::start();
        let words = words.into_iter().skip(1).collect();
        return block_on(auth_command::run(words, Env::process()));
    }
    if package_command::is_command(first) {
        let words: Vec<String> = words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        return match std::env::current_dir() {
            Ok(cwd) => package_command::run(&words, &cwd, &Env::process()),
            Err(error) => Failure::new(format!("there is no working directory: {error}")).report(),
        };
    }
    let args = Args::parse(words);
    if let Err(failure) = report_problems(&args) {
        return failure.report();
    }
    if args.version {
        return print(&format!("{}\n", version::VERSION));
    }
    if args.help {
        return print(&help::text());
    }
    if let Some(input) = &args.export {
        let output = args.messages.first().map(String::as_str);
        return block_on(export_command::run(input, output, Env::process()));
    }
    let mode = Mode::of(&args, Terminals::of_process());
    if let Err(failure) = check(&args, mode) {
        return failure.report();
    }
    log::start();
    Exit::Success
}

/// Tells what is wrong with a command line; the first error ends the program.
fn report_problems(args: &Args) -> Result<(), Failure> {
    for problem in &args.problems {
        match problem {
            Problem::Warning(message) => warn(message),
            Problem::Error(message) => {
                return Err(Failure::new(message).hint("pi --help lists the options"));
            }
        }
    }
    Ok(())
}

/// Refuses what cannot be asked for together.
fn check(args: &Args, mode: Mode) -> Result<(), Failure> {
    if mode == Mode::Rpc && !args.files.is_empty() {
        return Err(Failure::new("@file arguments cannot be used in rpc mode")
            .hint("send images with the prompt command"));
    }
    match args.session.conflict() {
        Some(conflict) => Err(Failure::new(conflict)),
        None => Ok(()),
    }
}

/// Runs the asynchronous part of the program on one thread.
fn block_on(work: impl Future<Output = Exit>) -> Exit {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Failure::new(format!("cannot start: {error}")).report(),
    };
    let exit = runtime.block_on(work);
    // A thread that waits for standard input must not keep the process.
    runtime.shutdown_background();
    exit
}
