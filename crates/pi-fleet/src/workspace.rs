//! Workspaces: one bare mirror per repository, and one worktree per run. Snapshots are Git trees in the mirror.

mod git;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::process::Command;

use crate::engine::{CREDENTIALS_VARIABLE, URL_VARIABLE};
use crate::leftovers::RUN_VARIABLE;
use crate::task::FleetTask;
use git::Git;

/// Last bytes of a command's output that an error repeats.
const ERROR_TAIL: usize = 2000;

/// Why a workspace cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    #[error("cannot start {program}: {source}")]
    Start {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("{command} failed: {output}")]
    Failed { command: String, output: String },
    #[error("cannot access {}: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The bare mirrors of a machine.
#[derive(Clone)]
pub(crate) struct Mirrors {
    directory: PathBuf,
    /// Git locks mirrors only briefly, and then fails instead of waiting.
    order: Arc<tokio::sync::Mutex<()>>,
}

impl Mirrors {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            order: Arc::default(),
        }
    }

    fn path(&self, repository: &str) -> PathBuf {
        let digest = pi_protocol::hex(&Sha256::digest(repository.as_bytes()));
        let name = repository.trim_end_matches('/').trim_end_matches(".git");
        let name = name.rsplit(['/', ':']).next().unwrap_or_default();
        let is_allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let name: String = name.chars().filter(is_allowed).take(40).collect();
        let digest: String = digest.chars().take(12).collect();
        self.directory.join(format!("{name}-{digest}.git"))
    }

    /// Returns the mirror of a repository that contains the commit, and the commit.
    async fn update(
        &self,
        repository: &str,
        reference: Option<&str>,
    ) -> Result<(PathBuf, String), WorkspaceError> {
        let _order = self.order.lock().await;
        create_directory(&self.directory)?;
        let _lock = lock_file(&self.directory.join("mirrors.lock")).await?;
        let path = self.path(repository);
        if !path.exists() {
            let unfinished = path.with_extension("unfinished");
            remove_directory(&unfinished)?;
            let git = Git::at(&self.directory);
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
        let git = Git::at(&path);
        let commit = format!("{}^{{commit}}", reference.unwrap_or("HEAD"));
        let parse = ["rev-parse", "--verify", "--quiet", &commit];
        let base = match git.output(&parse).await {
            Ok(base) => base,
            Err(_missing) => {
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

/// The workspace of one run.
pub(crate) struct RunWorkspace {
    pub(crate) path: PathBuf,
    /// The index of snapshots; the one of the agent is not touched.
    index: PathBuf,
    /// The reference that keeps the last snapshot.
    reference: String,
    /// Identifies processes of the run.
    marker: String,
    mirrors: Mirrors,
    repository: Option<String>,
}

impl RunWorkspace {
    pub(crate) fn new(
        batch: &Path,
        batch_name: &str,
        task: &FleetTask,
        mirrors: Mirrors,
        marker: String,
    ) -> Self {
        Self {
            path: batch.join("work").join(&task.id),
            index: batch.join("runs").join(format!("{}.index", task.id)),
            reference: format!("refs/fleet/{batch_name}/{}", task.id),
            marker,
            mirrors,
            repository: task.repo.clone(),
        }
    }

    /// Creates the workspace at `base`, or at the commit of the task, and runs the setup command. Returns the commit it is
    /// based on.
    pub(crate) async fn create(
        &self,
        task: &FleetTask,
        base: Option<&str>,
    ) -> Result<String, WorkspaceError> {
        self.remove().await?;
        create_directory(self.path.parent().unwrap_or(&self.path))?;
        let base = match &self.repository {
            Some(repository) => {
                let reference = base.or(task.reference.as_deref());
                let (mirror, base) = self.mirrors.update(repository, reference).await?;
                let _order = self.mirrors.order.lock().await;
                let git = Git::at(&mirror);
                let path = text(&self.path);
                git.run(&[
                    "worktree", "add", "--quiet", "--force", "--detach", &path, &base,
                ])
                .await?;
                base
            }
            None => {
                create_directory(&self.path)?;
                let git = Git::at(&self.path);
                git.run(&["init", "--quiet"]).await?;
                git.run(&["config", "gc.auto", "0"]).await?;
                git.output(&["hash-object", "-t", "tree", "-w", "--stdin"])
                    .await?
            }
        };
        if let Some(setup) = &task.setup {
            let ran = self.shell(setup).await?;
            if !ran.status.success() {
                return Err(WorkspaceError::Failed {
                    command: "setup".to_owned(),
                    output: output_tail(&ran),
                });
            }
        }
        Ok(base)
    }

    /// Stores tracked and untracked files, and returns the tree.
    pub(crate) async fn snapshot(&self) -> Result<String, WorkspaceError> {
        let git = Git::at(&self.path).with_index(&self.index);
        git.run(&["add", "--all"]).await?;
        let tree = git.output(&["write-tree"]).await?;
        git.run(&["update-ref", &self.reference, &tree]).await?;
        Ok(tree)
    }

    /// Returns tracked and untracked files to a snapshot; ignored files stay.
    pub(crate) async fn restore(&self, tree: &str) -> Result<(), WorkspaceError> {
        // The lock of a killed process.
        let mut lock = self.index.as_os_str().to_owned();
        lock.push(".lock");
        std::fs::remove_file(lock).ok();
        let git = Git::at(&self.path).with_index(&self.index);
        git.run(&["add", "--all"]).await?;
        git.run(&["read-tree", "-u", "--reset", tree]).await
    }

    /// Returns a pack with the objects of a snapshot that are not in `known`, a commit or snapshot.
    pub(crate) async fn pack(&self, known: &str, tree: &str) -> Result<Vec<u8>, WorkspaceError> {
        let git = Git::at(&self.path);
        let known = git
            .output(&["rev-parse", "--verify", &format!("{known}^{{tree}}")])
            .await?;
        let revisions = format!("{tree}\n^{known}\n").into_bytes();
        let arguments = ["pack-objects", "--revs", "--stdout", "--quiet"];
        git.with_input(revisions).bytes(&arguments).await
    }

    /// Adds the objects of a pack.
    pub(crate) async fn unpack(&self, pack: Vec<u8>) -> Result<(), WorkspaceError> {
        let git = Git::at(&self.path).with_input(pack);
        git.run(&["unpack-objects", "-q"]).await
    }

    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Returns the changes since the base as a patch.
    pub(crate) async fn patch(&self, base: &str, tree: &str) -> Result<Vec<u8>, WorkspaceError> {
        let git = Git::at(&self.path);
        // Without abbreviations, whose length depends on other objects of the mirror.
        let diff = [
            "diff",
            "--binary",
            "--full-index",
            "--no-color",
            "--no-ext-diff",
        ];
        let arguments = [&diff[..], &[base, tree]].concat();
        git.bytes(&arguments).await
    }

    /// Runs a shell command in the workspace.
    pub(crate) async fn shell(
        &self,
        command: &str,
    ) -> Result<std::process::Output, WorkspaceError> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .current_dir(&self.path)
            .env(RUN_VARIABLE, &self.marker)
            .env_remove(URL_VARIABLE)
            .env_remove(CREDENTIALS_VARIABLE)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        shell
            .output()
            .await
            .map_err(|source| WorkspaceError::Start {
                program: "sh".to_owned(),
                source,
            })
    }

    /// Removes the files of the workspace; its snapshots are kept while the batch exists.
    pub(crate) async fn remove(&self) -> Result<(), WorkspaceError> {
        remove_directory(&self.path)?;
        std::fs::remove_file(&self.index).ok();
        if let Some(repository) = &self.repository {
            let mirror = self.mirrors.path(repository);
            if mirror.exists() {
                let _order = self.mirrors.order.lock().await;
                Git::at(&mirror).run(&["worktree", "prune"]).await?;
            }
        }
        Ok(())
    }
}

/// Returns the end of what a command has written.
pub(crate) fn output_tail(output: &std::process::Output) -> String {
    let mut bytes = output.stdout.clone();
    bytes.extend_from_slice(&output.stderr);
    let start = bytes.len().saturating_sub(ERROR_TAIL);
    let tail = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default());
    tail.trim().to_owned()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn create_directory(path: &Path) -> Result<(), WorkspaceError> {
    pi_fs::private::create_directory(path).map_err(|source| file_error(path, source))
}

fn rename(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    std::fs::rename(from, to).map_err(|source| file_error(to, source))
}

fn remove_directory(path: &Path) -> Result<(), WorkspaceError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(path, error)),
        _ => Ok(()),
    }
}

/// Waits for the lock of a file, which ends with the returned handle.
async fn lock_file(path: &Path) -> Result<std::fs::File, WorkspaceError> {
    let path = path.to_owned();
    let locking = tokio::task::spawn_blocking(move || {
        let file = pi_fs::private::open_or_create(&path)?;
        file.lock()?;
        Ok(file)
    });
    let locked = locking
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)));
    locked.map_err(|source| file_error(Path::new("mirrors.lock"), source))
}

fn file_error(path: &Path, source: io::Error) -> WorkspaceError {
    WorkspaceError::File {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
