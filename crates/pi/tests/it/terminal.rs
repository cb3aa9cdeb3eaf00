//! Runs the `pi` binary in a pseudo-terminal.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use pi_test_support::{PtyCommand, PtyTerminal};

use crate::harness::{TestContext, pi_binary};

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

/// A pseudo-terminal that runs pi in a [`TestContext`].
pub(crate) struct Terminal(PtyTerminal);

impl Terminal {
    /// Starts pi in the project directory of `context`.
    pub(crate) fn start(context: &TestContext, arguments: &[&str]) -> Self {
        Self::start_with(context, arguments, &[])
    }

    /// Starts pi with additional environment variables.
    pub(crate) fn start_with(
        context: &TestContext,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = PtyCommand::new(pi_binary());
        command.args(arguments);
        Self::spawn(configure(command, context, variables))
    }

    /// Starts pi in a terminal of another size.
    pub(crate) fn start_sized(
        context: &TestContext,
        arguments: &[&str],
        (columns, rows): (u16, u16),
    ) -> Self {
        let mut command = PtyCommand::new(pi_binary());
        command.args(arguments);
        let command = configure(command, context, &[]);
        Self(PtyTerminal::spawn(command, columns, rows))
    }

    /// Runs `script` in a shell with job control; `$PI` is the binary.
    pub(crate) fn start_shell(context: &TestContext, script: &str) -> Self {
        let mut command = PtyCommand::new("sh");
        command.args(["-m", "-c", script]);
        let program = ("PI", env!("CARGO_BIN_EXE_pi"));
        Self::spawn(configure(command, context, &[program]))
    }

    /// Starts pi in another directory, in a terminal that supports hyperlinks.
    pub(crate) fn start_in(context: &TestContext, directory: &Path, arguments: &[&str]) -> Self {
        let mut command = PtyCommand::new(pi_binary());
        command.args(arguments);
        let mut command = configure(command, context, &[("TERM_PROGRAM", "WezTerm")]);
        command.cwd(directory);
        Self::spawn(command)
    }

    fn spawn(command: PtyCommand) -> Self {
        Self(PtyTerminal::spawn(command, COLUMNS, ROWS))
    }

    /// Sends Ctrl+D, expects exit code 0 and a restored terminal.
    pub(crate) fn quit(self) {
        self.0.quit();
    }

    /// Kills pi with `SIGKILL` and waits for its end.
    pub(crate) fn kill(mut self) {
        let id = self.process_id().to_string();
        let mut command = std::process::Command::new("kill");
        let killed = command.args(["-9", &id]).status();
        assert!(killed.unwrap().success());
        self.exit_code();
    }
}

impl Deref for Terminal {
    type Target = PtyTerminal;

    fn deref(&self) -> &PtyTerminal {
        &self.0
    }
}

impl DerefMut for Terminal {
    fn deref_mut(&mut self) -> &mut PtyTerminal {
        &mut self.0
    }
}

fn configure(
    mut command: PtyCommand,
    context: &TestContext,
    variables: &[(&str, &str)],
) -> PtyCommand {
    command.cwd(context.project_dir());
    command.env_clear();
    for (name, value) in context.environment() {
        command.env(name, value);
    }
    command.env("TERM", "xterm-256color");
    for (name, value) in variables {
        command.env(name, value);
    }
    command
}
