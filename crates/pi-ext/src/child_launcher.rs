//! Lets the embedding program decide how child processes of extensions are started.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Starts child processes, for example in a sandbox.
pub trait ChildLauncher: Send + Sync {
    /// Returns the command for a program that is searched in `path`. The caller adds arguments, variables, streams and the
    /// working directory.
    fn command(&self, program: &OsStr, path: Option<&OsStr>, cwd: &Path) -> io::Result<Command>;
}

/// The launcher of a program; by default processes are started directly.
#[derive(Clone, Default)]
pub(crate) struct SharedLauncher(pub(crate) Option<Arc<dyn ChildLauncher>>);

impl SharedLauncher {
    pub(crate) fn command(
        &self,
        program: &OsStr,
        path: Option<&OsStr>,
        cwd: &Path,
    ) -> io::Result<Command> {
        match &self.0 {
            Some(launcher) => launcher.command(program, path, cwd),
            None => Ok(Command::new(program)),
        }
    }
}

impl std::fmt::Debug for SharedLauncher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SharedLauncher")
    }
}
