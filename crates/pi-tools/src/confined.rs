//! The local environment in a sandbox. Commands are confined by the operating system; files are accessed by this process, which
//! checks their real paths.

mod files;
mod search;

use std::sync::Arc;

use pi_core::{Environment, FileOperations, SearchOperations};
use pi_sandbox::Sandbox;

use files::ConfinedFiles;
use search::ConfinedSearch;

/// Confines the file access of an environment. Its commands are confined by [`LocalShell::with_sandbox`](crate::LocalShell).
pub fn confine_files(environment: &mut Environment, sandbox: &Arc<Sandbox>) {
    let files: Arc<dyn FileOperations> = Arc::new(ConfinedFiles {
        files: Arc::clone(&environment.files),
        sandbox: Arc::clone(sandbox),
    });
    let search: Arc<dyn SearchOperations> = Arc::new(ConfinedSearch {
        search: Arc::clone(&environment.search),
        files: Arc::clone(&files),
        sandbox: Arc::clone(sandbox),
    });
    environment.files = files;
    environment.search = search;
}
