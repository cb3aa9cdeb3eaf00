//! Starts child processes of extensions in the sandbox of the session.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use pi_ext::ChildLauncher;
use pi_sandbox::{ConfinedProgram, Sandbox};

pub(crate) struct ConfinedChildren(pub(crate) Arc<Sandbox>);

impl ChildLauncher for ConfinedChildren {
    fn command(&self, program: &OsStr, path: Option<&OsStr>, cwd: &Path) -> io::Result<Command> {
        self.0.command(ConfinedProgram {
            program,
            path,
            cwd: Some(cwd),
        })
    }
}
