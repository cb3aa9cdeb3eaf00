//! Workspaces: one bare mirror per repository, and one worktree per run. Snapshots are Git trees in the mirror; runs without
//! a repository have one that only their worker writes.

mod container;
mod git;
mod mirrors;
mod process_group;
mod shell;
mod staging;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::leftovers::RUN_VARIABLE;
use crate::task::FleetTask;
pub use container::ContainerOptions;
pub(crate) use container::{ContainerPlan, RunContainer};
use git::Git;
pub(crate) use mirrors::Mirrors;
use process_group::ProcessGroup;
use shell::OpenOutputs;
pub(crate) use shell::ShellOutput;

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
    #[error(
        "the output of {command} has more than {} MiB: ignore large files that are generated",
        bytes / (1024 * 1024)
    )]
    TooLong { command: String, bytes: u64 },
    #[error("cannot access {}: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl WorkspaceError {
    /// Whether the disk of this machine is full, which is no failure of the task.
    pub(crate) fn is_disk_full(&self) -> bool {
        match self {
            // Only Git has this text in English; commands of tasks may print anything.
            Self::Failed { command, output } => {
                let is_full = ["No space left on device", "Disk quota exceeded"];
                command.starts_with("git ") && is_full.iter().any(|text| output.contains(text))
            }
            Self::Start { source, .. } | Self::File { source, .. } => is_disk_full(source),
            Self::TooLong { .. } => false,
        }
    }
}

/// Whether an operation failed because the disk is full.
pub(crate) fn is_disk_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// The workspace of one run.
pub(crate) struct RunWorkspace {
    pub(crate) path: PathBuf,
    /// Exists while the workspace is being created.
    unfinished: PathBuf,
    /// The index of snapshots; the one of the agent is not touched.
    index: PathBuf,
    /// The repository of the snapshots of a run without one.
    own_repository: PathBuf,
    /// The reference that keeps the last snapshot.
    reference: String,
    /// Variables of everything that the run starts.
    pub(crate) environment: Vec<(String, String)>,
    /// Where commands and the agent run; on this machine without one.
    pub(crate) container: Option<RunContainer>,
    mirrors: Mirrors,
    repository: Option<String>,
    open_outputs: OpenOutputs,
}

impl RunWorkspace {
    pub(crate) fn new(
        batch: &Path,
        batch_name: &str,
        task: &FleetTask,
        mirrors: Mirrors,
        environment: Vec<(String, String)>,
    ) -> Self {
        Self {
            path: batch.join("work").join(&task.id),
            unfinished: batch.join("runs").join(format!("{}.unfinished", task.id)),
            index: batch.join("runs").join(format!("{}.index", task.id)),
            own_repository: batch.join("runs").join(format!("{}.git", task.id)),
            reference: format!("refs/fleet/{batch_name}/{}", task.id),
            environment,
            container: None,
            mirrors,
            repository: task.repo.clone(),
            open_outputs: OpenOutputs::default(),
        }
    }

    /// Prepares Git for this run: a later worker finds its process if this one is killed.
    fn git(&self, repository: &Path) -> Git {
        let marker = self
            .environment
            .iter()
            .find(|(name, _)| name == RUN_VARIABLE);
        let marker = marker.map(|(_, value)| value.as_str());
        Git::at(repository).marked(marker.unwrap_or_default())
    }

    /// Prepares Git for the snapshots of this run.
    fn snapshot_git(&self) -> Git {
        self.git(&self.snapshots())
    }

    /// Returns the repository of the snapshots. The run cannot write it if it is in a container.
    fn snapshots(&self) -> PathBuf {
        self.mirror().unwrap_or_else(|| self.own_repository.clone())
    }

    /// Marks what starts from now on as that of a worker.
    pub(crate) fn set_epoch(&mut self, epoch: u64, marker: String) {
        self.environment.retain(|(name, _)| name != RUN_VARIABLE);
        self.environment.push((RUN_VARIABLE.to_owned(), marker));
        if let Some(container) = &mut self.container {
            container.set_epoch(epoch);
        }
    }

    /// Removes the locks of Git commands that were killed. No process of the run is left.
    pub(crate) fn remove_stale_locks(&self) {
        let mut locked = vec![self.index.clone(), self.snapshots().join(&self.reference)];
        for name in ["index", "HEAD"] {
            locked.extend(self.agent_repository().map(|agent| agent.join(name)));
        }
        for locked in locked {
            let mut lock = locked.into_os_string();
            lock.push(".lock");
            std::fs::remove_file(lock).ok();
        }
    }

    /// Returns where Git commands of the agent lock their index.
    fn agent_repository(&self) -> Option<PathBuf> {
        let Some(mirror) = self.mirror() else {
            let repository = self.path.join(".git");
            // The run may have replaced it by a link.
            let metadata = repository.symlink_metadata().ok()?;
            return metadata.is_dir().then_some(repository);
        };
        worktree_directory(&mirror, &self.path)
    }

    /// Creates the workspace at `base`, or at the commit of the task, and runs the setup command. Returns the commit it is
    /// based on.
    pub(crate) async fn create(
        &self,
        task: &FleetTask,
        base: Option<&str>,
    ) -> Result<String, WorkspaceError> {
        pi_fs::private::open_or_create(&self.unfinished)
            .map_err(|source| file_error(&self.unfinished, source))?;
        self.remove_files().await?;
        create_directory(self.path.parent().unwrap_or(&self.path))?;
        let base = match &self.repository {
            Some(repository) => {
                let reference = base.or(task.reference.as_deref());
                let (mirror, base) = self.mirrors.update(repository, reference).await?;
                let order = self.mirrors.order(&mirror);
                let _order = order.lock().await;
                let path = text(&self.path);
                self.git(&mirror)
                    .run(&[
                        "worktree", "add", "--quiet", "--force", "--detach", &path, &base,
                    ])
                    .await?;
                base
            }
            None => {
                create_directory(&self.path)?;
                // For the commands of the agent.
                let outside = Git::outside(&self.path);
                outside.run(&["init", "--quiet"]).await?;
                let snapshots = text(&self.own_repository);
                outside
                    .run(&["init", "--quiet", "--bare", &snapshots])
                    .await?;
                let git = self.snapshot_git();
                git.run(&["config", "gc.auto", "0"]).await?;
                git.output(&["hash-object", "-t", "tree", "-w", "--stdin"])
                    .await?
            }
        };
        // Submodules that were not checked out are in no directory that a snapshot could find.
        self.staging().run(&["read-tree", &base]).await?;
        if let Some(setup) = &task.setup {
            let ran = self.shell(setup).await?;
            if !ran.status.success() {
                return Err(WorkspaceError::Failed {
                    command: "setup".to_owned(),
                    output: ran.tail,
                });
            }
        }
        std::fs::remove_file(&self.unfinished)
            .map_err(|source| file_error(&self.unfinished, source))?;
        Ok(base)
    }

    /// Stores tracked and untracked files, and returns the tree.
    pub(crate) async fn snapshot(&self) -> Result<String, WorkspaceError> {
        let git = self.staging();
        staging::add_all(&git).await?;
        let tree = git.output(&["write-tree"]).await?;
        git.run(&["update-ref", &self.reference, &tree]).await?;
        Ok(tree)
    }

    /// Returns tracked and untracked files to a snapshot; ignored files and nested repositories stay.
    pub(crate) async fn restore(&self, tree: &str) -> Result<(), WorkspaceError> {
        let git = self.staging();
        staging::add_all(&git).await?;
        git.run(&["read-tree", "-u", "--reset", tree]).await
    }

    /// Prepares Git for the files of the workspace.
    fn staging(&self) -> Git {
        self.snapshot_git().with_files(&self.path, &self.index)
    }

    /// Returns a pack with the objects of a snapshot that are not in `known`, a commit or snapshot.
    pub(crate) async fn pack(&self, known: &str, tree: &str) -> Result<Vec<u8>, WorkspaceError> {
        let git = self.snapshot_git();
        let known = git
            .output(&["rev-parse", "--verify", &format!("{known}^{{tree}}")])
            .await?;
        let revisions = format!("{tree}\n^{known}\n").into_bytes();
        let arguments = ["pack-objects", "--revs", "--stdout", "--quiet"];
        git.with_input(revisions).bytes(&arguments).await
    }

    /// Adds the objects of a pack.
    pub(crate) async fn unpack(&self, pack: Vec<u8>) -> Result<(), WorkspaceError> {
        let git = self.snapshot_git().with_input(pack);
        git.run(&["unpack-objects", "-q"]).await
    }

    /// Returns the mirror of the repository.
    pub(crate) fn mirror(&self) -> Option<PathBuf> {
        Some(self.mirrors.path(self.repository.as_ref()?))
    }

    /// Whether the workspace is complete, with what its setup command prepares.
    pub(crate) fn exists(&self) -> bool {
        self.path.exists() && !self.unfinished.exists()
    }

    /// Returns the changes since the base as a patch.
    pub(crate) async fn patch(&self, base: &str, tree: &str) -> Result<Vec<u8>, WorkspaceError> {
        let git = self.snapshot_git();
        // Without abbreviations, whose length depends on other objects of the mirror.
        let diff = [
            "diff",
            "--binary",
            "--full-index",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--submodule=short",
        ];
        let arguments = [&diff[..], &[base, tree]].concat();
        git.bytes(&arguments).await
    }

    /// Runs a shell command in the workspace. If it is not awaited to its end, its processes are killed.
    pub(crate) async fn shell(&self, command: &str) -> Result<ShellOutput, WorkspaceError> {
        let (program, arguments) = match &self.container {
            Some(container) => container.start("sh"),
            None => ("sh".into(), Vec::new()),
        };
        let mut shell = Command::new(&program);
        shell
            .args(arguments)
            .args(["-c", command])
            .current_dir(&self.path)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let ran = shell::run(&mut shell, &self.open_outputs).await;
        ran.map_err(|source| WorkspaceError::Start {
            program: text(&program),
            source,
        })
    }

    /// Removes the files of the workspace; its snapshots are kept while the batch exists.
    pub(crate) async fn remove(&self) -> Result<(), WorkspaceError> {
        self.remove_files().await?;
        std::fs::remove_file(&self.unfinished).ok();
        Ok(())
    }

    async fn remove_files(&self) -> Result<(), WorkspaceError> {
        remove_directory(&self.path)?;
        std::fs::remove_file(&self.index).ok();
        remove_directory(&self.own_repository)?;
        if let Some(mirror) = self.mirror().filter(|mirror| mirror.exists()) {
            let order = self.mirrors.order(&mirror);
            let _order = order.lock().await;
            self.git(&mirror).run(&["worktree", "prune"]).await?;
        }
        Ok(())
    }
}

/// Returns the directory of a mirror that belongs to a worktree. Its name is that of the worktree, unless another one has it.
fn worktree_directory(mirror: &Path, worktree: &Path) -> Option<PathBuf> {
    let worktree = worktree.canonicalize().ok()?;
    let directories = std::fs::read_dir(mirror.join("worktrees")).ok()?;
    let mut directories = directories.filter_map(|entry| Some(entry.ok()?.path()));
    directories.find(|directory| {
        let file = std::fs::read_to_string(directory.join("gitdir")).unwrap_or_default();
        let path = directory.join(file.trim_end_matches('\n'));
        let found = path.parent().and_then(|path| path.canonicalize().ok());
        found.as_ref() == Some(&worktree)
    })
}

/// Returns the end of what a command has written.
fn output_tail(output: &std::process::Output) -> String {
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
    let lock = path.to_owned();
    let path = path.to_owned();
    let locking = tokio::task::spawn_blocking(move || {
        let file = pi_fs::private::open_or_create(&path)?;
        file.lock()?;
        Ok(file)
    });
    let locked = locking
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)));
    locked.map_err(|source| file_error(&lock, source))
}

fn file_error(path: &Path, source: io::Error) -> WorkspaceError {
    WorkspaceError::File {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
