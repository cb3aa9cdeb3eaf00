//! Starts the helper: this program, with the policy in a file descriptor that only it inherits.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use pi_protocol::settings::SandboxMode;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::FdFlags;

use super::CONFINE;
use super::confine::{CONFINED, HelperRequest, Purpose};
use super::overlays::Overlays;
use crate::Policy;
use crate::sandbox::{Enforcement, SandboxError};

/// The executable of this process, even after it was replaced on disk.
const THIS_PROGRAM: &str = "/proc/self/exe";

impl HelperRequest {
    fn new(policy: &Policy, enforcement: Enforcement, purpose: Purpose) -> Self {
        let mut policy = policy.clone();
        if policy.mode == SandboxMode::Try {
            // Only a tried command may write, and it has overlays.
            policy.write = Vec::new();
        }
        Self {
            policy,
            namespaces: enforcement == Enforcement::Namespaces,
            overlays: Vec::new(),
            purpose,
        }
    }

    fn with_overlays(policy: &Policy, overlays: &Overlays, purpose: Purpose) -> Self {
        let mut policy = policy.clone();
        let overlays = overlays.list().to_vec();
        policy.write = overlays
            .iter()
            .map(|overlay| overlay.root.clone())
            .collect();
        Self {
            policy,
            namespaces: true,
            overlays,
            purpose,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Launcher {
    /// The policy, sealed. Helpers read it; it is never written again.
    request: Arc<OwnedFd>,
}

impl Launcher {
    /// Makes sure that the system enforces the policy.
    pub(crate) fn start(
        policy: &Policy,
        agent_dir: &Path,
        allows_landlock_only: bool,
    ) -> Result<(Self, Enforcement), SandboxError> {
        if policy.mode == SandboxMode::Try {
            let overlays = Overlays::create(policy, agent_dir)?;
            let request = HelperRequest::with_overlays(policy, &overlays, Purpose::Probe);
            probe(&request)?.map_err(SandboxError::Unsupported)?;
        }
        let request = |enforcement, purpose| HelperRequest::new(policy, enforcement, purpose);
        let started = |enforcement| {
            let launcher = Self::new(&request(enforcement, Purpose::Run))?;
            Ok((launcher, enforcement))
        };
        let Err(no_namespaces) = probe(&request(Enforcement::Namespaces, Purpose::Probe))? else {
            return started(Enforcement::Namespaces);
        };
        match policy.mode {
            SandboxMode::Try => return Err(SandboxError::Unsupported(no_namespaces)),
            SandboxMode::Workspace if !allows_landlock_only => {
                return Err(SandboxError::Unprotected(no_namespaces));
            }
            SandboxMode::Off | SandboxMode::Workspace | SandboxMode::ReadOnly => {}
        }
        match probe(&request(Enforcement::LandlockOnly, Purpose::Probe))? {
            Ok(()) => started(Enforcement::LandlockOnly),
            Err(no_landlock) => Err(SandboxError::Unsupported(format!(
                "{no_namespaces}; {no_landlock}"
            ))),
        }
    }

    /// Returns the launcher of a tried command.
    pub(crate) fn with_overlays(policy: &Policy, overlays: &Overlays) -> io::Result<Self> {
        Self::new(&HelperRequest::with_overlays(
            policy,
            overlays,
            Purpose::Run,
        ))
    }

    /// Returns the launcher for another policy that the system enforces as well.
    pub(crate) fn with_policy(policy: &Policy, enforcement: Enforcement) -> io::Result<Self> {
        Self::new(&HelperRequest::new(policy, enforcement, Purpose::Run))
    }

    fn new(request: &HelperRequest) -> io::Result<Self> {
        let json = serde_json::to_vec(request)?;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(rustix::fs::memfd_create("pi-sandbox", flags)?);
        file.write_all(&json)?;
        let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        Ok(Self {
            request: Arc::new(file.into()),
        })
    }

    /// Returns the command that runs a program; arguments can be added.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "other systems may fail to start a command"
    )]
    pub(crate) fn command(&self, program: &Path) -> io::Result<Command> {
        let request = Arc::clone(&self.request);
        let mut command = Command::new(THIS_PROGRAM);
        command
            .arg(CONFINE)
            .arg(request.as_raw_fd().to_string())
            .arg(program);
        let inherit = move || Ok(rustix::io::fcntl_setfd(&*request, FdFlags::empty())?);
        #[expect(unsafe_code, reason = "std cannot pass a descriptor to one child")]
        // SAFETY: between fork and exec only async-signal-safe operations are allowed. The closure makes one system call
        // and neither allocates nor locks.
        unsafe {
            command.pre_exec(inherit);
        }
        Ok(command)
    }
}

/// Returns why the system cannot enforce a policy.
fn probe(request: &HelperRequest) -> Result<Result<(), String>, SandboxError> {
    let launcher = Launcher::new(request)?;
    let output = launcher
        .command(Path::new("/"))?
        .current_dir("/")
        .env_clear()
        .stdin(Stdio::null())
        .output()?;
    // The exit code alone does not prove that the helper ran.
    if output.stdout == CONFINED.as_bytes() {
        return Ok(Ok(()));
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let reason = errors.trim().strip_prefix("pi: sandbox: ");
    Ok(Err(reason.unwrap_or("the helper did not start").to_owned()))
}
