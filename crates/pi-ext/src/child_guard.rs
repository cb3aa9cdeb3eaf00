//! Lets the embedding program supervise the child processes of extensions.

use std::any::Any;
use std::sync::Arc;

/// Held while a child process runs.
pub type ChildGuard = Option<Box<dyn Any + Send>>;

/// What a child process is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildUse {
    /// The extension is blocked until it ends.
    Awaited,
    Background,
}

/// Supervises the child processes that extensions start, except those that they detach.
pub trait ChildSupervisor: Send + Sync {
    /// Called before a child process is started.
    fn prepare(&self);

    /// Called with the ID of a process that has just started.
    fn supervise(&self, process: u32, purpose: ChildUse) -> ChildGuard;
}

/// The supervisor of a program; by default none.
#[derive(Clone, Default)]
pub(crate) struct SharedSupervisor(pub(crate) Option<Arc<dyn ChildSupervisor>>);

impl SharedSupervisor {
    pub(crate) fn prepare(&self) {
        if let Some(supervisor) = &self.0 {
            supervisor.prepare();
        }
    }

    /// Supervises a process until the result is dropped.
    pub(crate) fn supervise(&self, process: Option<u32>, purpose: ChildUse) -> ChildGuard {
        self.0.as_ref()?.supervise(process?, purpose)
    }
}

impl std::fmt::Debug for SharedSupervisor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SharedSupervisor")
    }
}
