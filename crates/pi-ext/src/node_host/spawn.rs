//! Starts the `node` process.

use std::ffi::OsStr;
use std::process::Stdio;

use tokio::process::Child;

use super::{NodeHostError, module_server};
use crate::engine::EngineOptions;

/// Kills the process group of Node, with the child processes that its extensions wait for.
#[cfg(unix)]
pub(super) fn kill_children(child: &Child) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    if let Some(group) = pid.and_then(rustix::process::Pid::from_raw) {
        // Fails only if the group is gone.
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    }
}

#[cfg(not(unix))]
pub(super) fn kill_children(_: &Child) {}

/// Starts Node with the script. Its stdin and stdout are the protocol, until the script moves it to descriptors
/// that child processes do not inherit.
pub(super) fn spawn(options: &EngineOptions) -> Result<Child, NodeHostError> {
    let script = |name| module_server::source(name).unwrap_or_default();
    let process = &options.process;
    let variables = process.environment.iter();
    let mut path = variables
        .filter(|(name, _)| *name == "PATH")
        .map(|(_, value)| OsStr::new(value));
    let node = options
        .child_launcher
        .command(
            OsStr::new("node"),
            path.next_back(),
            &process.working_directory,
        )
        .map_err(|error| start_error(&error))?;
    let mut command = tokio::process::Command::from(node);
    command
        // Without `--input-type`, which threads inherit and then refuse to start.
        .args(["--eval", script("pi:main")])
        .arg(script("pi:reader"))
        .env_clear()
        .envs(
            options
                .process
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .current_dir(&options.process.working_directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // Own process group, so that Ctrl+C in the terminal does not reach Node.
    #[cfg(unix)]
    command.process_group(0);
    command.spawn().map_err(|error| start_error(&error))
}

fn start_error(error: &std::io::Error) -> NodeHostError {
    match error.kind() {
        std::io::ErrorKind::NotFound => NodeHostError::NotFound,
        _ => NodeHostError::Start(error.to_string()),
    }
}
