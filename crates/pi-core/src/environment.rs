//! Where tools work: files, processes, searches and variables, so that a session can run on another
//! machine, in a container or in memory. The traits are here; `pi-tools` implements them for the
//! local machine.

mod files;
mod processes;
mod search;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

pub use files::{
    DirectoryEntry, FileError, FileFuture, FileKind, FileOperations, FileStatus, ObservedChange,
    OpenFile,
};
pub use processes::{ExitCode, ProcessError, ProcessOperations, ShellCommand, ShellLanguage};
pub use search::{
    FoundLine, FoundLines, FoundPath, FoundPaths, LineQuery, MatchedFile, PathQuery, SearchError,
    SearchFuture, SearchOperations, UnreadablePaths,
};

/// Environment variables.
pub type Variables = BTreeMap<OsString, OsString>;

/// Where the tools of a session work. All parts see the same files.
#[derive(Clone)]
pub struct Environment {
    pub files: Arc<dyn FileOperations>,
    pub processes: Arc<dyn ProcessOperations>,
    pub search: Arc<dyn SearchOperations>,
    /// Variables that commands start with.
    pub vars: Variables,
    /// What `~` in a path expands to.
    pub home: Option<PathBuf>,
}

impl Environment {
    /// Returns the environment of one tool call.
    #[must_use]
    pub fn for_call(self: &Arc<Self>, call: &str) -> Arc<Self> {
        let (files, processes) = (self.files.for_call(call), self.processes.for_call(call));
        if files.is_none() && processes.is_none() {
            return Arc::clone(self);
        }
        let mut environment = Self::clone(self);
        environment.files = files.unwrap_or(environment.files);
        environment.processes = processes.unwrap_or(environment.processes);
        Arc::new(environment)
    }
}
