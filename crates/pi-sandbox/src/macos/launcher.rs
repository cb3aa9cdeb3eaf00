//! Starts programs with `sandbox-exec`.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::profile::profile;
use crate::Policy;
use crate::sandbox::{Enforcement, SandboxError};

const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

#[derive(Debug)]
pub(crate) struct Launcher {
    profile: String,
}

impl Launcher {
    /// Makes sure that the system accepts the profile.
    pub(crate) fn start(policy: &Policy) -> Result<Self, SandboxError> {
        let launcher = Self {
            profile: profile(policy),
        };
        let mut probe = launcher.command(Path::new("/usr/bin/true"))?;
        let output = probe.stdin(Stdio::null()).output()?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(SandboxError::Unsupported(errors));
        }
        Ok(launcher)
    }

    /// Returns the launcher for another policy that the system enforces as well.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "other systems may fail to pass a policy on"
    )]
    pub(crate) fn with_policy(policy: &Policy, _enforcement: Enforcement) -> io::Result<Self> {
        Ok(Self {
            profile: profile(policy),
        })
    }

    pub(crate) fn command(&self, program: &Path) -> io::Result<Command> {
        let mut command = Command::new(SANDBOX_EXEC);
        command.args(["-p", &self.profile]).arg(program);
        Ok(command)
    }
}
