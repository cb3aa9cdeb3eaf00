//! Searches without the contents and names of what may not be read.

use std::path::Path;
use std::sync::Arc;

use pi_core::{
    FileOperations, FoundLines, FoundPaths, LineQuery, PathQuery, SearchError, SearchFuture,
    SearchOperations,
};
use pi_sandbox::Sandbox;
use tokio_util::sync::CancellationToken;

pub(super) struct ConfinedSearch {
    pub(super) search: Arc<dyn SearchOperations>,
    pub(super) files: Arc<dyn FileOperations>,
    pub(super) sandbox: Arc<Sandbox>,
}

impl ConfinedSearch {
    async fn check_root(&self, root: &Path) -> Result<(), SearchError> {
        let failed = |error: String| SearchError::Failed(error);
        let real = self.files.real_path(root).await;
        let real = real.map_err(|error| failed(error.to_string()))?;
        let checked = self.sandbox.policy().check_read(&real);
        checked.map_err(|denial| failed(denial.to_string()))
    }

    /// Whether a found file may be shown. Its directory may be reached through a link.
    async fn is_readable(&self, path: &Path) -> bool {
        let policy = self.sandbox.policy();
        let real = self.files.real_path(path).await;
        policy.check_read(path).is_ok() && real.is_ok_and(|real| policy.check_read(&real).is_ok())
    }
}

impl SearchOperations for ConfinedSearch {
    fn find_paths(
        &self,
        query: PathQuery,
        cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundPaths> {
        Box::pin(async move {
            self.check_root(&query.root).await?;
            let mut found = self.search.find_paths(query, cancel).await?;
            let mut readable = Vec::with_capacity(found.paths.len());
            for path in found.paths {
                if self.is_readable(&path.path).await {
                    readable.push(path);
                }
            }
            found.paths = readable;
            Ok(found)
        })
    }

    fn find_lines(
        &self,
        query: LineQuery,
        cancel: CancellationToken,
    ) -> SearchFuture<'_, FoundLines> {
        Box::pin(async move {
            self.check_root(&query.root).await?;
            let mut found = self.search.find_lines(query, cancel).await?;
            let mut readable = Vec::with_capacity(found.files.len());
            for file in found.files {
                if self.is_readable(&file.path).await {
                    readable.push(file);
                }
            }
            found.files = readable;
            Ok(found)
        })
    }
}
