//! How far an installation is, for whoever wants to show it.

use std::fmt;
use std::sync::Arc;

/// Something happened that a person waiting may want to see.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstallProgress {
    /// Dependencies are looked up.
    Resolving {
        /// How many packages are known so far.
        packages: usize,
    },
    Fetching {
        /// How many have arrived.
        done: usize,
        total: usize,
        /// How many bytes so far.
        bytes: u64,
    },
    /// A program works and says nothing.
    Running { command: String },
    /// Something to know that is no failure.
    Note(String),
}

/// Hears of progress. Clones tell the same listener.
#[derive(Clone)]
pub struct ProgressListener(Arc<dyn Fn(InstallProgress) + Send + Sync>);

impl ProgressListener {
    /// Tells this function.
    pub fn new(listener: impl Fn(InstallProgress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    pub(crate) fn tell(&self, progress: InstallProgress) {
        (self.0)(progress);
    }
}

impl Default for ProgressListener {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for ProgressListener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProgressListener").finish()
    }
}
