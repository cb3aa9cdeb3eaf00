//! Progress of an installation.

use std::fmt;
use std::sync::Arc;

/// A progress update.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstallProgress {
    Resolving {
        /// Number of packages found so far.
        packages: usize,
    },
    Fetching {
        done: usize,
        total: usize,
        /// Bytes received so far.
        bytes: u64,
    },
    /// An external program is running.
    Running { command: String },
    /// A message for the user that is not an error.
    Note(String),
}

/// A callback for progress updates. Clones share the same callback.
#[derive(Clone)]
pub struct ProgressListener(Arc<dyn Fn(InstallProgress) + Send + Sync>);

impl ProgressListener {
    pub fn new(listener: impl Fn(InstallProgress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    pub(crate) fn report(&self, progress: InstallProgress) {
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
