//! Searches files for `grep` and `find`: [`LocalSearch`] on the local disk, with the crates of
//! ripgrep and in parallel, [`FileSearch`] through file operations, one directory at a time.

mod lines;
mod paths;
mod walk;

use std::sync::Arc;

use pi_core::{
    FileOperations, FoundLines, FoundPaths, LineQuery, PathQuery, SearchError, SearchFuture,
    SearchOperations,
};
use tokio_util::sync::CancellationToken;

use lines::LineSearch;
use paths::PathSearch;

/// Longer patterns and globs are rejected: compiling them takes many times their size.
const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// Returns why a pattern or glob is too long.
fn check_pattern_length(pattern: &str) -> Result<(), String> {
    if pattern.len() <= MAX_PATTERN_BYTES {
        return Ok(());
    }
    Err(format!(
        "it has {} bytes, at most {MAX_PATTERN_BYTES} are supported; use a shorter one",
        pattern.len()
    ))
}

/// Searches the local disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalSearch;

impl SearchOperations for LocalSearch {
    fn find_paths(
        &self,
        query: PathQuery,
        cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundPaths> {
        Box::pin(async move {
            let search = PathSearch::new(query)?;
            run_on_thread(&cancel, |stop| search.search_local(stop)).await
        })
    }

    fn find_lines(
        &self,
        query: LineQuery,
        cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundLines> {
        Box::pin(async move {
            let search = LineSearch::new(query)?;
            run_on_thread(&cancel, |stop| search.search_local(stop)).await
        })
    }
}

/// Runs a search on a blocking thread. It stops if the future is dropped.
async fn run_on_thread<T: Send + 'static>(
    cancel: &CancellationToken,
    search: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<T, SearchError> {
    let stop = cancel.child_token();
    let _stop_on_drop = stop.clone().drop_guard();
    let found = tokio::task::spawn_blocking(move || search(&stop))
        .await
        .map_err(|error| SearchError::Failed(error.to_string()))?;
    if cancel.is_cancelled() {
        return Err(SearchError::Canceled);
    }
    Ok(found)
}

/// Searches through file operations, for environments without a search program. Every file is
/// transferred, so this is slow over a network.
#[derive(Clone)]
pub struct FileSearch(pub Arc<dyn FileOperations>);

impl SearchOperations for FileSearch {
    fn find_paths(
        &self,
        query: PathQuery,
        cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundPaths> {
        Box::pin(async move {
            let search = PathSearch::new(query)?.search_operations(&*self.0);
            let found = cancel.run_until_cancelled(search).await;
            found.ok_or(SearchError::Canceled)
        })
    }

    fn find_lines(
        &self,
        query: LineQuery,
        cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundLines> {
        Box::pin(async move {
            let search = LineSearch::new(query)?.search_operations(&*self.0);
            let found = cancel.run_until_cancelled(search).await;
            found.ok_or(SearchError::Canceled)
        })
    }
}
