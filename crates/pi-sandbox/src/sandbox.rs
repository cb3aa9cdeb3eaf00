//! A policy that this system enforces.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use pi_protocol::settings::{SandboxMode, SandboxNetwork, SandboxSettings};
use thiserror::Error;

use crate::denial::DeniedAccess;
use crate::policy::{InvalidPolicy, Policy};
use crate::roots::{Roots, real};
use crate::{denial, program_path};

#[cfg(target_os = "linux")]
use crate::linux::{Launcher, Overlays};
#[cfg(target_os = "macos")]
use crate::macos::Launcher;

/// Why a sandbox cannot be started. There is no weaker one instead.
#[derive(Debug, Error)]
pub enum SandboxError {
    #[error(transparent)]
    Policy(#[from] InvalidPolicy),
    #[error("cannot start the sandbox: {0}")]
    Unsupported(String),
    #[error(
        "cannot start the sandbox: {0}; without user namespaces nothing in the workspace can be protected. Use \
         `--sandbox read-only`, or set \"sandbox\": {{\"landlockOnly\": true}} in the settings"
    )]
    Unprotected(String),
    #[error("commands cannot be tried in the mode read-only: no change may be kept")]
    NothingToKeep,
    #[error("cannot start the sandbox: {0}")]
    Io(#[from] io::Error),
}

/// What enforces a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// Linux namespaces, Landlock and seccomp.
    Namespaces,
    /// Landlock and seccomp: writable directories are writable as a whole.
    LandlockOnly,
    /// `sandbox-exec` of macOS.
    Seatbelt,
}

/// A policy that is enforced for every command started through it.
#[derive(Debug)]
pub struct Sandbox {
    policy: Policy,
    enforcement: Enforcement,
    /// The user's directory of pi.
    #[cfg(target_os = "linux")]
    agent_dir: PathBuf,
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    launcher: Launcher,
}

/// A program to confine, as it would be started.
#[derive(Debug, Clone, Copy)]
pub struct ConfinedProgram<'a> {
    pub program: &'a OsStr,
    /// The `PATH` that the program is searched in.
    pub path: Option<&'a OsStr>,
    pub cwd: Option<&'a Path>,
}

impl Sandbox {
    /// Starts the sandbox of the settings; `None` if they turn it off.
    pub fn start(settings: &SandboxSettings, roots: &Roots) -> Result<Option<Self>, SandboxError> {
        match Policy::new(settings, roots)? {
            Some(policy) => {
                let allows_landlock_only = settings.landlock_only == Some(true);
                Self::enforce(policy, &roots.agent_dir, allows_landlock_only).map(Some)
            }
            None => Ok(None),
        }
    }

    #[cfg(target_os = "linux")]
    fn enforce(
        policy: Policy,
        agent_dir: &Path,
        allows_landlock_only: bool,
    ) -> Result<Self, SandboxError> {
        let (launcher, enforcement) = Launcher::start(&policy, agent_dir, allows_landlock_only)?;
        Ok(Self {
            policy,
            enforcement,
            agent_dir: agent_dir.to_owned(),
            launcher,
        })
    }

    /// Returns this sandbox with other directories to write to.
    #[cfg(target_os = "linux")]
    pub(crate) fn with_overlays(&self, overlays: &Overlays) -> io::Result<Self> {
        Ok(Self {
            policy: self.policy.clone(),
            enforcement: self.enforcement,
            agent_dir: self.agent_dir.clone(),
            launcher: Launcher::with_overlays(&self.policy, overlays)?,
        })
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn agent_dir(&self) -> &Path {
        &self.agent_dir
    }

    #[cfg(target_os = "macos")]
    fn enforce(
        policy: Policy,
        _agent_dir: &Path,
        _allows_landlock_only: bool,
    ) -> Result<Self, SandboxError> {
        if policy.mode == SandboxMode::Try {
            return Err(SandboxError::Unsupported(
                "commands can be tried only on Linux".to_owned(),
            ));
        }
        let launcher = Launcher::start(&policy)?;
        Ok(Self {
            policy,
            enforcement: Enforcement::Seatbelt,
            launcher,
        })
    }

    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    fn enforce(
        _policy: Policy,
        _agent_dir: &Path,
        _allows_landlock_only: bool,
    ) -> Result<Self, SandboxError> {
        Err(SandboxError::Unsupported(
            "there is no sandbox for this system".to_owned(),
        ))
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    pub fn enforcement(&self) -> Enforcement {
        self.enforcement
    }

    /// Returns the command that runs a program in the sandbox. Arguments, streams, variables and the working directory are
    /// added by the caller, as to a command without a sandbox. Fails if the program does not exist.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub fn command(&self, program: ConfinedProgram<'_>) -> io::Result<Command> {
        let path = program_path::find(program.program, program.path, program.cwd)?;
        self.launcher.command(&path)
    }

    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    pub fn command(&self, program: ConfinedProgram<'_>) -> io::Result<Command> {
        program_path::find(program.program, program.path, program.cwd).map(Command::new)
    }

    /// Returns what the user may allow so that a command which failed with this output succeeds.
    pub fn denied_access(&self, output: &str) -> Option<DeniedAccess> {
        denial::denied_access(&self.policy, self.enforcement, output)
    }

    /// Returns the directory that must be writable to write a path; `None` if the user cannot allow that for a run: the mode
    /// is not `workspace`, the path is protected or secret, or the directory contains more than what was denied.
    pub fn allowable_directory(&self, path: &Path) -> Option<PathBuf> {
        let path = real(path);
        let is_secret = || self.policy.check_read(&path).is_err();
        if self.policy.mode != SandboxMode::Workspace
            || self.policy.is_protected(&path)
            || is_secret()
        {
            return None;
        }
        let directory = if path.is_dir() { &path } else { path.parent()? };
        let mut inner = self.policy.roots.iter().chain(&self.policy.protect);
        let contains_ours = inner.any(|inner| inner.starts_with(directory));
        (directory.parent().is_some() && !contains_ours).then(|| directory.to_owned())
    }

    /// Returns this sandbox with more access.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub fn widened(&self, allowed: &DeniedAccess) -> io::Result<Self> {
        let mut policy = self.policy.clone();
        match allowed {
            DeniedAccess::Write(directory) => policy.write.push(directory.clone()),
            DeniedAccess::Network => policy.network = SandboxNetwork::On,
        }
        Ok(Self {
            launcher: Launcher::with_policy(&policy, self.enforcement)?,
            enforcement: self.enforcement,
            #[cfg(target_os = "linux")]
            agent_dir: self.agent_dir.clone(),
            policy,
        })
    }

    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    pub fn widened(&self, _allowed: &DeniedAccess) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns why the output of a failed command may be due to the sandbox.
    pub fn hint(&self, output: &str) -> Option<String> {
        denial::hint(&self.policy, self.enforcement, output)
    }

    /// Returns the mode for the footer.
    pub fn label(&self) -> String {
        let mode = self.policy.mode;
        let mut label = format!("▣ {mode}");
        if mode == SandboxMode::Workspace && self.enforcement == Enforcement::LandlockOnly {
            label.push_str(", unprotected");
        }
        if self.policy.network == SandboxNetwork::Off {
            label.push_str(", no network");
        }
        label
    }

    /// Returns what is enforced and how, for `/sandbox`.
    pub fn describe(&self) -> String {
        let policy = &self.policy;
        let list = |paths: &[PathBuf]| {
            let paths: Vec<String> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            if paths.is_empty() {
                "nothing".to_owned()
            } else {
                paths.join(", ")
            }
        };
        let denied = policy
            .deny_read
            .paths()
            .iter()
            .map(|path| path.display().to_string());
        let denied: Vec<String> = denied
            .chain(policy.deny_read.globs().iter().cloned())
            .collect();
        let protect = match self.enforcement {
            Enforcement::LandlockOnly => "nothing (no user namespaces)".to_owned(),
            Enforcement::Namespaces | Enforcement::Seatbelt => list(&policy.protect),
        };
        let network = match policy.network {
            SandboxNetwork::On => "on",
            SandboxNetwork::Off => "off",
        };
        let enforced_by = match self.enforcement {
            Enforcement::Namespaces => "user, mount, process and IPC namespaces, Landlock, seccomp",
            Enforcement::LandlockOnly => "Landlock, seccomp",
            Enforcement::Seatbelt => "sandbox-exec",
        };
        format!(
            "Sandbox: {}\nWritable: {}\nProtected: {protect}\nNot readable: {}\nNetwork: {network}\nEnforced by: {enforced_by}\n\
             Applies to tools, commands, MCP servers and processes of extensions",
            policy.mode,
            list(&policy.write),
            if denied.is_empty() {
                "nothing".to_owned()
            } else {
                denied.join(", ")
            },
        )
    }
}
