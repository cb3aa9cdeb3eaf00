//! The helper process: restricts itself and executes a program. It has one thread and no async runtime.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use pi_protocol::settings::{SandboxMode, SandboxNetwork};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::overlays::Overlay;
use super::{capabilities, landlock, namespaces, seccomp};
use crate::Policy;

/// What a probe prints.
pub(super) const CONFINED: &str = "confined\n";

/// Exit code if the sandbox cannot be set up: that of shells for a command that cannot be executed.
const SETUP_FAILED: u8 = 126;

/// Exit code of shells for a missing command.
const NOT_FOUND: u8 = 127;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HelperRequest {
    pub(super) policy: Policy,
    pub(super) namespaces: bool,
    /// Directories whose changes go elsewhere; only with namespaces. Nothing outlives the command then.
    pub(super) overlays: Vec<Overlay>,
    pub(super) purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Purpose {
    Run,
    /// Sets everything up and prints [`CONFINED`].
    Probe,
}

/// A step that failed.
#[derive(Debug, Error)]
#[error("{step}: {error}")]
pub(super) struct SetupError {
    step: String,
    error: io::Error,
}

impl SetupError {
    /// Returns a function that adds the step to an error.
    pub(super) fn at<E: Into<io::Error>>(step: impl Into<String>) -> impl FnOnce(E) -> Self {
        let step = step.into();
        move |error| Self {
            step,
            error: error.into(),
        }
    }
}

/// Runs the helper: the arguments are the descriptor with the request, a program and its arguments. Returns only if it
/// fails, or with the exit code of the program.
pub fn run_confined(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let request = words.next().unwrap_or_default();
    match read_request(&request) {
        Ok(request) => {
            let program = ConfinedCommand {
                program: words.next().map(PathBuf::from).unwrap_or_default(),
                arguments: words.collect(),
                cwd: std::env::current_dir().unwrap_or_else(|_| "/".into()),
            };
            if request.namespaces {
                namespaces::run(&request, &program)
            } else {
                program.start(&request).into()
            }
        }
        Err(error) => fail(&error).into(),
    }
}

fn read_request(descriptor: &OsString) -> Result<HelperRequest, SetupError> {
    // Opened again, because commands share the position of the inherited descriptor.
    let path = Path::new("/proc/self/fd").join(descriptor);
    let json = fs::read(path).map_err(SetupError::at("cannot read the policy"))?;
    serde_json::from_slice(&json).map_err(SetupError::at("invalid policy"))
}

/// Reports why a command does not run.
pub(super) fn fail(error: &SetupError) -> u8 {
    write_error(&format!("sandbox: {error}"));
    SETUP_FAILED
}

fn write_error(message: &str) {
    // Nothing is left to do if the error cannot be written.
    writeln!(io::stderr(), "pi: {message}").ok();
}

/// The program to run.
#[derive(Debug)]
pub(super) struct ConfinedCommand {
    program: PathBuf,
    arguments: Vec<OsString>,
    cwd: PathBuf,
}

impl ConfinedCommand {
    /// Restricts this process and executes the program. Returns an exit code if that fails.
    pub(super) fn start(&self, request: &HelperRequest) -> u8 {
        if let Err(error) = self.restrict(request) {
            return fail(&error);
        }
        if request.purpose == Purpose::Probe {
            return match io::stdout().write_all(CONFINED.as_bytes()) {
                Ok(()) => 0,
                Err(_) => SETUP_FAILED,
            };
        }
        let error = Command::new(&self.program).args(&self.arguments).exec();
        write_error(&format!("{}: {error}", self.program.display()));
        match error.kind() {
            io::ErrorKind::NotFound => NOT_FOUND,
            _ => SETUP_FAILED,
        }
    }

    fn restrict(&self, request: &HelperRequest) -> Result<(), SetupError> {
        let policy = &request.policy;
        // Again, because the directory may have another mount on top of it.
        let entered = std::env::set_current_dir(&self.cwd);
        entered.map_err(SetupError::at(self.cwd.display().to_string()))?;
        capabilities::drop().map_err(SetupError::at("cannot drop capabilities"))?;
        rustix::thread::set_no_new_privs(true)
            .map_err(SetupError::at("cannot set no_new_privs"))?;
        landlock::restrict(policy, request.namespaces)?;
        let sockets = match (policy.network, request.namespaces) {
            (SandboxNetwork::Off, true) => seccomp::Sockets::Local,
            (SandboxNetwork::On, true) => seccomp::Sockets::All,
            // Without namespaces the sockets of other programs are visible.
            (SandboxNetwork::Off, false) => seccomp::Sockets::None,
            (SandboxNetwork::On, false) => seccomp::Sockets::Internet,
        };
        debug_assert_ne!(policy.mode, SandboxMode::Off);
        super::system_calls::close_on_exec_from(3)
            .map_err(SetupError::at("cannot close descriptors"))?;
        seccomp::restrict(sockets)
    }
}
