//! Bare mirrors of repositories, one per repository and machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::git::Git;
use super::{WorkspaceError, create_directory, lock_file, remove_directory, rename, text};
use crate::leftovers;

/// The bare mirrors of a machine.
#[derive(Clone)]
pub(crate) struct Mirrors {
    directory: PathBuf,
    /// By path of the mirror. Git locks mirrors only briefly, and then fails instead of waiting.
    orders: Arc<Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>>,
}

impl Mirrors {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            orders: Arc::default(),
        }
    }

    pub(super) fn path(&self, repository: &str) -> PathBuf {
        let digest = pi_protocol::hex(&Sha256::digest(repository.as_bytes()));
        let name = repository.trim_end_matches('/').trim_end_matches(".git");
        let name = name.rsplit(['/', ':']).next().unwrap_or_default();
        let is_allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let name: String = name.chars().filter(is_allowed).take(40).collect();
        let digest: String = digest.chars().take(12).collect();
        self.directory.join(format!("{name}-{digest}.git"))
    }

    /// Returns what commands on a mirror hold while they run.
    pub(super) fn order(&self, mirror: &Path) -> Arc<tokio::sync::Mutex<()>> {
        let mut orders = self.orders.lock();
        Arc::clone(orders.entry(mirror.to_owned()).or_default())
    }

    /// Returns the mirror of a repository that contains the commit, and the commit.
    pub(super) async fn update(
        &self,
        repository: &str,
        reference: Option<&str>,
    ) -> Result<(PathBuf, String), WorkspaceError> {
        create_directory(&self.directory)?;
        let path = self.path(repository);
        let order = self.order(&path);
        let _order = order.lock().await;
        // Several commands may run at the same time.
        let _lock = lock_file(&path.with_extension("lock")).await?;
        let marker = text(&path);
        if !path.exists() {
            let unfinished = path.with_extension("unfinished");
            // A killed command leaves a Git that still writes there.
            leftovers::kill_marked(&marker).await;
            remove_directory(&unfinished)?;
            let git = Git::outside(&self.directory).marked(&marker);
            git.run(&[
                "clone",
                "--quiet",
                "--mirror",
                "--",
                repository,
                &text(&unfinished),
            ])
            .await?;
            let configured = Git::at(&unfinished);
            configured.run(&["config", "gc.auto", "0"]).await?;
            rename(&unfinished, &path)?;
        }
        let git = Git::at(&path).marked(&marker);
        let commit = format!("{}^{{commit}}", reference.unwrap_or("HEAD"));
        let parse = ["rev-parse", "--verify", "--quiet", &commit];
        let base = match git.output(&parse).await {
            Ok(base) => base,
            Err(_missing) => {
                leftovers::kill_marked(&marker).await;
                remove_stale_locks(&path);
                // Only branches and tags: the snapshots of runs are kept.
                git.run(&[
                    "fetch",
                    "--quiet",
                    "origin",
                    "+refs/heads/*:refs/heads/*",
                    "+refs/tags/*:refs/tags/*",
                ])
                .await?;
                git.output(&parse)
                    .await
                    .map_err(|_missing| WorkspaceError::Failed {
                        command: format!("git rev-parse {commit}"),
                        output: format!("{repository} has no such commit"),
                    })?
            }
        };
        Ok((path, base))
    }
}

impl Mirrors {
    /// Removes the snapshots of a batch, and what mirrors know about its worktrees, which are gone.
    pub(crate) async fn forget(&self, batch: &str) -> Result<(), WorkspaceError> {
        for entry in std::fs::read_dir(&self.directory).into_iter().flatten() {
            let Ok(mirror) = entry.map(|entry| entry.path()) else {
                continue;
            };
            if mirror.extension().is_none_or(|ending| ending != "git") {
                continue;
            }
            let git = Git::at(&mirror);
            git.run(&["worktree", "prune"]).await?;
            let pattern = format!("refs/fleet/{batch}/");
            let list = ["for-each-ref", "--format=delete %(refname)", &pattern];
            let commands = git.bytes(&list).await?;
            let deleting = Git::at(&mirror).with_input(commands);
            deleting.run(&["update-ref", "--stdin"]).await?;
        }
        Ok(())
    }
}

/// Removes the locks of a fetch that was killed. The caller holds the lock of the mirror.
fn remove_stale_locks(mirror: &Path) {
    for name in ["packed-refs.lock", "shallow.lock"] {
        std::fs::remove_file(mirror.join(name)).ok();
    }
    let mut directories = vec![mirror.join("refs/heads"), mirror.join("refs/tags")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(path);
            } else if path.extension().is_some_and(|ending| ending == "lock") {
                std::fs::remove_file(path).ok();
            }
        }
    }
}
