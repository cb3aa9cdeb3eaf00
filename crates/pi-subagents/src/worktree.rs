//! Git worktrees in which sub-agents work apart from the project directory.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

/// Variables that would make git use another repository than that of the directory.
const REPOSITORY_VARIABLES: [&str; 4] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
];

/// A worktree with a new branch at the last commit of a repository.
#[derive(Debug)]
pub(crate) struct Worktree {
    repository: PathBuf,
    path: PathBuf,
    /// The directory that corresponds to that of the session.
    pub(crate) cwd: PathBuf,
    branch: String,
    /// The commit it starts from.
    base: String,
}

/// A worktree that has changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptWorktree {
    pub(crate) path: PathBuf,
    pub(crate) branch: String,
}

impl Worktree {
    /// Creates a worktree in `parent` for the repository of `cwd`.
    pub(crate) async fn create(cwd: &Path, parent: &Path, id: &str) -> Result<Self, String> {
        let inside = git(cwd, &["rev-parse", "--show-toplevel", "--show-prefix"]).await?;
        let mut lines = inside.lines();
        let repository = PathBuf::from(lines.next().unwrap_or_default());
        let prefix = lines.next().unwrap_or_default();
        let base = git(cwd, &["rev-parse", "--verify", "HEAD"]).await?;
        std::fs::create_dir_all(parent)
            .map_err(|error| format!("cannot create {}: {error}", parent.display()))?;
        let path = parent.join(id);
        let branch = format!("pi/{id}");
        let target = path.to_string_lossy();
        let add = ["worktree", "add", "--quiet", "-b", &branch, &target, &base];
        git(&repository, &add).await?;
        Ok(Self {
            cwd: path.join(prefix),
            repository,
            path,
            branch,
            base,
        })
    }

    /// Removes the worktree, unless it has changes or commits.
    pub(crate) async fn finish(self) -> Option<KeptWorktree> {
        match self.is_unchanged().await {
            Ok(true) => {}
            Ok(false) => return Some(self.kept()),
            Err(error) => {
                tracing::warn!(%error, "cannot compare a worktree, so it is kept");
                return Some(self.kept());
            }
        }
        let path = self.path.to_string_lossy();
        for arguments in [
            &["worktree", "remove", "--force", &*path][..],
            &["branch", "--quiet", "-D", &self.branch],
        ] {
            if let Err(error) = git(&self.repository, arguments).await {
                tracing::warn!(%error, "cannot remove a worktree");
            }
        }
        None
    }

    async fn is_unchanged(&self) -> Result<bool, String> {
        let status = git(&self.path, &["status", "--porcelain"]).await?;
        let head = git(&self.path, &["rev-parse", "HEAD"]).await?;
        Ok(status.is_empty() && head == self.base)
    }

    fn kept(&self) -> KeptWorktree {
        KeptWorktree {
            path: self.path.clone(),
            branch: self.branch.clone(),
        }
    }
}

/// Runs git and returns its output.
async fn git(cwd: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(cwd)
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    for name in REPOSITORY_VARIABLES {
        command.env_remove(name);
    }
    let output = command.output().await;
    let output = output.map_err(|error| format!("cannot run git: {error}"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("git {}: {}", arguments.join(" "), message.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned())
}
