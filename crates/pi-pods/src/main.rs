//! `pi-pods`: runs models on rented GPU machines over ssh, and makes them available in pi.
//!
//! Everything on the pod is done by the scripts in `scripts/`; decisions (GPUs, arguments, what a log means) are made here,
//! as data. Servers listen on the loopback interface of the pod, and tunnels lead to them.

mod args;
mod commands;
mod gpu;
mod host_key;
mod logs;
mod model_plan;
mod output;
mod pods_file;
mod register;
mod script;
mod ssh;

use std::process::ExitCode;

use pi_env::{Env, VERSION};

use crate::args::Command;
use crate::commands::Program;
use crate::output::Failure;

/// Environment variable with the key of the servers.
const API_KEY: &str = "PI_API_KEY";

/// Environment variable with the token of the model hub.
const HUB_TOKEN: &str = "HF_TOKEN";

/// Environment variable with the directory of `pods.json`.
const CONFIG_DIR: &str = "PI_CONFIG_DIR";

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| {
        word.into_string()
            .map_err(|word| word.display().to_string())
    });
    let result = words
        .collect::<Result<Vec<String>, String>>()
        .map_err(|word| Failure::usage(format!("{word} is not valid UTF-8")))
        .and_then(args::parse)
        .and_then(run);
    match result {
        Ok(code) => code,
        Err(failure) => {
            failure.report();
            ExitCode::from(if failure.is_usage { 2 } else { 1 })
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Help => output::print_text(args::HELP),
        Command::Version => output::print_line(&format!("pi-pods {VERSION}")),
        Command::KnownModels => commands::print_known_models(),
        Command::Setup(options) => program()?.setup(&options)?,
        Command::Active(name) => program()?.active(name.as_deref())?,
        Command::Remove { name, force } => program()?.remove(&name, force)?,
        Command::Shell(pod) => return program()?.interactive(pod.as_deref(), None),
        Command::Ssh { pod, command } => {
            return program()?.interactive(pod.as_deref(), Some(&command));
        }
        Command::Start(options) => program()?.start(&options)?,
        Command::Stop(options) => program()?.stop(&options)?,
        Command::Tunnel { pod, name } => {
            program()?.tunnel(pod.as_deref(), name.as_deref())?;
        }
        Command::List { pod, json } => program()?.list(pod.as_deref(), json)?,
        Command::Logs(options) => program()?.logs(&options)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn program() -> Result<Program, Failure> {
    if cfg!(windows) {
        let failure = Failure::new("the ssh of Windows cannot share connections");
        return Err(failure.hint("run pi-pods in WSL"));
    }
    Ok(Program::new(Env::process()))
}
