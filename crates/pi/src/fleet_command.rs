//! `pi fleet`: runs the `pi-fleet` program next to this one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::output::{Exit, Failure};

const PROGRAM: &str = if cfg!(windows) {
    "pi-fleet.exe"
} else {
    "pi-fleet"
};

/// Runs `pi-fleet` with these words and returns its exit code.
pub(crate) fn run(words: Vec<OsString>) -> Exit {
    let this = std::env::current_exe().unwrap_or_default();
    let program: PathBuf = this.with_file_name(PROGRAM);
    if !program.is_file() {
        return Failure::new(format!("there is no {}", program.display()))
            .hint("build it with `cargo build --release -p pi-fleet` and copy it next to pi; see pi docs fleet")
            .report();
    }
    let mut command = Command::new(&program);
    command.args(words);
    // On Unix this process becomes the other one, which then receives the signals.
    #[cfg(unix)]
    let failed = {
        use std::os::unix::process::CommandExt as _;
        command.exec()
    };
    #[cfg(not(unix))]
    let failed = match command.status() {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return code.map_or(Exit::Failure, Exit::Code);
        }
        Err(error) => error,
    };
    Failure::new(format!("cannot start {}: {failed}", program.display())).report()
}
