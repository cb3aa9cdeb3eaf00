//! `pi install`, `remove`, `update`, `list` and `config`: the commands about packages.
//!
//! Packages that settings name already are loaded; managing them is not part of this build.

use crate::output::{Exit, Failure, print};

/// The words that begin a command of this kind.
const COMMANDS: [&str; 6] = ["install", "remove", "uninstall", "update", "list", "config"];

/// Tells whether a command line begins such a command.
pub(crate) fn is_command(word: &str) -> bool {
    COMMANDS.contains(&word)
}

/// Serves the command.
pub(crate) fn run(command: &str, asks_for_help: bool) -> Exit {
    if asks_for_help {
        return print(&format!(
            "pi {command} manages packages of extensions, skills, prompts and themes.\n\
             It is not part of this build. Packages can be named under \"packages\" in settings.json.\n"
        ));
    }
    Failure::new(format!("pi {command} is not part of this build"))
        .hint("name local packages under \"packages\" in ~/.pi/agent/settings.json; they load at the next start")
        .report()
}
