//! Commands whose changes are kept or discarded after they have run.
//!
//! A tried command writes to an overlay: it sees the workspace with its own changes, and the workspace stays as it is. The
//! changes can then be listed, and all or some of them kept. Needs the overlay file system of Linux.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

#[cfg(target_os = "linux")]
use crate::linux::Overlays;
use crate::sandbox::{Sandbox, SandboxError};

/// What a tried command did with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TriedChangeKind {
    Created,
    /// Contents, permissions or time.
    Modified,
    /// With everything below it.
    Deleted,
}

/// A change that a tried command made in its overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedChange {
    /// The path in the workspace.
    pub path: PathBuf,
    pub kind: TriedChangeKind,
    pub is_directory: bool,
    /// The path in the overlay. Its directories do not contain links that the command has made.
    pub tried_path: PathBuf,
    /// The index of the overlay among those of the attempt.
    pub overlay: usize,
}

/// What became of the changes that were to be kept.
#[derive(Debug, Default)]
pub struct KeptChanges {
    pub kept: Vec<PathBuf>,
    /// Paths that the policy protects.
    pub protected: Vec<PathBuf>,
    /// Paths that something else has changed since the command was started.
    pub changed_since: Vec<PathBuf>,
    pub failed: Vec<FailedChange>,
}

/// A change that could not be applied.
#[derive(Debug, Error)]
#[error("{}: {error}", path.display())]
pub struct FailedChange {
    pub path: PathBuf,
    pub error: io::Error,
}

/// One step of applying changes.
pub type ApplyStep<'step> = &'step mut dyn FnMut() -> io::Result<()>;

/// A tried command: its sandbox, and what it has changed. Discarded when dropped.
#[derive(Debug)]
pub struct Attempt {
    sandbox: Arc<Sandbox>,
    #[cfg(target_os = "linux")]
    overlays: Overlays,
}

#[cfg(target_os = "linux")]
impl Attempt {
    pub(crate) fn new(sandbox: Sandbox, overlays: Overlays) -> Self {
        Self {
            sandbox: Arc::new(sandbox),
            overlays,
        }
    }

    /// Returns what the command has changed, in the order of the paths.
    pub fn changes(&self) -> io::Result<Vec<TriedChange>> {
        self.overlays.changes()
    }

    /// Applies changes to the workspace. `perform` is called for every path that changes and must run the step; it may look at
    /// the path before and after.
    pub fn keep(
        &self,
        changes: &[TriedChange],
        perform: &mut dyn FnMut(&Path, ApplyStep<'_>) -> io::Result<()>,
    ) -> io::Result<KeptChanges> {
        self.overlays.keep(changes, self.sandbox.policy(), perform)
    }
}

#[cfg(not(target_os = "linux"))]
impl Attempt {
    pub fn changes(&self) -> io::Result<Vec<TriedChange>> {
        Ok(Vec::new())
    }

    pub fn keep(
        &self,
        _changes: &[TriedChange],
        _perform: &mut dyn FnMut(&Path, ApplyStep<'_>) -> io::Result<()>,
    ) -> io::Result<KeptChanges> {
        Ok(KeptChanges::default())
    }
}

impl Attempt {
    /// The sandbox that the command must be started in.
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }
}

impl Sandbox {
    /// Prepares a command whose changes can be kept or discarded. The mode must be `try`.
    #[cfg(target_os = "linux")]
    pub fn attempt(&self) -> Result<Attempt, SandboxError> {
        let overlays = Overlays::create(self.policy(), self.agent_dir())?;
        let sandbox = self.with_overlays(&overlays)?;
        Ok(Attempt::new(sandbox, overlays))
    }

    #[cfg(not(target_os = "linux"))]
    pub fn attempt(&self) -> Result<Attempt, SandboxError> {
        Err(SandboxError::Unsupported(
            "commands can be tried only on Linux".to_owned(),
        ))
    }
}
