//! The subcommands that users run: names, arguments and descriptions, for the help, the manual page and completions.

/// Subcommands with one description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommandRow {
    pub(crate) names: &'static [&'static str],
    /// The argument as shown in the help; empty for none.
    pub(crate) argument: &'static str,
    /// One-line description.
    pub(crate) about: &'static str,
}

const fn row(
    names: &'static [&'static str],
    argument: &'static str,
    about: &'static str,
) -> CommandRow {
    CommandRow {
        names,
        argument,
        about,
    }
}

/// All subcommands, in the order of the help.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[CommandRow] = &[
    row(&["docs"], "[TOPIC]", "Show the manual"),
    row(&["auth"], "", "Check or print credentials"),
    row(&["attach"], "[ID]", "Open a session that runs in another terminal"),
    row(&["acp"], "", "Serve editors with the Agent Client Protocol"),
    row(&["serve"], "", "Serve sessions over HTTP, to browsers and programs"),
    row(&["mcp"], "", "Manage MCP servers"),
    row(&["fleet"], "", "Run batches of tasks with many pi processes"),
    row(&["install", "remove", "update", "list"], "", "Manage packages of extensions, skills, prompts and themes"),
    row(&["config"], "", "Enable and disable package resources"),
    row(&["permissions"], "", "List and test permission rules"),
    row(&["files"], "", "List and restore what a session changed"),
    row(&["doctor"], "", "Check configuration and terminal"),
    row(&["cache"], "", "Explain prompt cache misses"),
    row(&["ext"], "", "Show what extensions cost"),
    row(&["search"], "", "Search the text of all sessions"),
    row(&["replay"], "", "Replay a recorded session offline"),
    row(&["fsck"], "", "Check and repair session files"),
    row(&["completions"], "SHELL", "Print completions for bash, zsh or fish"),
];

impl CommandRow {
    /// Returns the names and the argument, as in the help.
    pub(crate) fn usage(&self) -> String {
        let names = self.names.join(", ");
        if self.argument.is_empty() {
            names
        } else {
            format!("{names} {}", self.argument)
        }
    }
}
