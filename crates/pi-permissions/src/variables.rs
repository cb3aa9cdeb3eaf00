//! Variables that change which programs run.

use crate::launchers::base_name;
use crate::shell_split::{SimpleCommand, Word, assigned_variable};

/// Parts of names of variables whose values are commands.
const COMMAND_PARTS: [&str; 12] = [
    "ASKPASS", "BASH", "BROWSER", "CMD", "COMMAND", "EDITOR", "LESS", "PAGER", "PRELOAD", "RUNNER",
    "SHELL", "WRAPPER",
];

/// Such variables with other names, and those with options that take code.
const COMMANDS: [&str; 11] = [
    "ENV",
    "GNUMAKEFLAGS",
    "IFS",
    "MAKEFLAGS",
    "NODE_OPTIONS",
    "PERL5DB",
    "PERL5OPT",
    "PS4",
    "PYTHONINSPECT",
    "RUBYOPT",
    "VISUAL",
];

/// Parts of names of variables that choose programs, options or directories of code.
const CHOICE_PARTS: [&str; 7] = ["CONFIG", "FLAGS", "LIB", "LINKER", "OPT", "PATH", "STARTUP"];

/// Such variables with other names.
const CHOICES: [&str; 12] = [
    "AR",
    "AS",
    "CC",
    "CXX",
    "EXINIT",
    "HOME",
    "LD",
    "MAKE",
    "MAKEFILES",
    "RUSTC",
    "RUSTDOC",
    "VIMINIT",
];

/// Beginnings of names; those of `git` that only name people are fine.
const PREFIXES: [&str; 1] = ["GIT_"];
const PLAIN_PREFIXES: [&str; 3] = ["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TERMINAL_PROMPT"];

/// Commands of the shell that set the variables in their arguments.
const SETTERS: [&str; 9] = [
    "declare",
    "export",
    "getopts",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "typeset",
];

/// Which variables matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concern {
    /// Those with commands in their values.
    Commands,
    /// Also those that choose what a command name means.
    Choices,
}

/// Whether a command sets a variable that changes which programs run.
pub(crate) fn changes_programs(command: &SimpleCommand, concern: Concern) -> bool {
    let sets_program = |argument: &Word| {
        let name = assigned_variable(&argument.text).unwrap_or(&argument.text);
        names_program(name, concern) || (argument.is_expanded && argument.text.starts_with('$'))
    };
    let names = |name: &String| names_program(name, concern);
    command.variables.iter().any(names)
        || command
            .words
            .split_first()
            .is_some_and(|(program, arguments)| {
                SETTERS.contains(&base_name(&program.text).as_str())
                    && arguments.iter().any(sets_program)
            })
}

fn names_program(name: &str, concern: Concern) -> bool {
    let name = name.to_ascii_uppercase();
    let has_part = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let has_prefix = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let is_choice = concern == Concern::Choices
        && (has_part(&CHOICE_PARTS) || CHOICES.contains(&name.as_str()));
    !has_prefix(&PLAIN_PREFIXES)
        && (has_part(&COMMAND_PARTS)
            || COMMANDS.contains(&name.as_str())
            || has_prefix(&PREFIXES)
            || is_choice)
}
