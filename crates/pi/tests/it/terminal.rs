//! The pi binary in a pseudo-terminal.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use pi_test_support::{PtyCommand, PtyTerminal};

use crate::process::World;

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

/// A terminal that runs pi with the home and project of a test.
pub(crate) struct Terminal(PtyTerminal);

impl Terminal {
    /// Starts pi in the project of `world`.
    pub(crate) fn start(world: &World, arguments: &[&str]) -> Self {
        Self::start_with(world, arguments, &[])
    }

    /// Starts pi with additional environment variables.
    pub(crate) fn start_with(
        world: &World,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = PtyCommand::new(env!("CARGO_BIN_EXE_pi"));
        command.args(arguments);
        Self::spawn(in_world(command, world, variables))
    }

    /// Runs `script` in a shell with job control; `$PI` is the binary.
    pub(crate) fn start_shell(world: &World, script: &str) -> Self {
        let mut command = PtyCommand::new("sh");
        command.args(["-m", "-c", script]);
        let program = ("PI", env!("CARGO_BIN_EXE_pi"));
        Self::spawn(in_world(command, world, &[program]))
    }

    /// Starts pi in another directory, in a terminal that supports hyperlinks.
    pub(crate) fn start_in(world: &World, directory: &Path, arguments: &[&str]) -> Self {
        let mut command = PtyCommand::new(env!("CARGO_BIN_EXE_pi"));
        command.args(arguments);
        let mut command = in_world(command, world, &[("TERM_PROGRAM", "WezTerm")]);
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

fn in_world(mut command: PtyCommand, world: &World, variables: &[(&str, &str)]) -> PtyCommand {
    command.cwd(world.project());
    command.env_clear();
    for (name, value) in world.environment() {
        command.env(name, value);
    }
    command.env("TERM", "xterm-256color");
    for (name, value) in variables {
        command.env(name, value);
    }
    command
}
