//! The `pi-fleet` program, which `pi fleet` starts.

use std::process::ExitCode;

use pi_env::Env;

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    ExitCode::from(pi_fleet::run_command(words.collect(), &Env::process()))
}
