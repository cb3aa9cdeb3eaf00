//! Changes the sandbox of a session. The settings are the least that applies.

use pi_protocol::settings::SandboxMode;

use super::{ReplaceError, RuntimeInner, SessionRuntime};
use crate::workspace::Workspace;

/// Returns the modes that [`set_sandbox_mode`] accepts: that of the settings, and stricter ones.
pub fn sandbox_modes(runtime: &SessionRuntime) -> Vec<SandboxMode> {
    let least = runtime.workspace().configured_sandbox();
    let modes = SandboxMode::ALL.into_iter();
    modes.filter(|mode| *mode >= least).collect()
}

/// Reloads the session with another sandbox mode. A session that cannot have it stays as it is.
pub async fn set_sandbox_mode(
    runtime: &SessionRuntime,
    mode: SandboxMode,
) -> Result<(), ReplaceError> {
    let workspace = runtime.workspace();
    if mode == workspace.sandbox_mode() {
        return Ok(());
    }
    // The sandbox of the ended session could not be built again after a failure.
    let sandbox = Workspace::limited(workspace, mode).sandbox();
    sandbox.map_err(|error| ReplaceError::NotStarted(Box::new(error.into())))?;
    let earlier = runtime.0.replace_sandbox_limit(mode);
    let reloaded = runtime.reload().await;
    if reloaded.is_err() {
        runtime.0.replace_sandbox_limit(earlier);
    }
    reloaded
}

impl RuntimeInner {
    /// Returns what sessions of this runtime may do at most.
    pub(super) fn sandbox_limit(&self) -> SandboxMode {
        *self.sandbox_limit.lock()
    }

    fn replace_sandbox_limit(&self, limit: SandboxMode) -> SandboxMode {
        std::mem::replace(&mut *self.sandbox_limit.lock(), limit)
    }
}
