//! Git worktrees in which sub-agents work apart from the project directory.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

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
        // Settings of a submodule would let git run programs, and a new worktree has none.
        if self.has_submodules().await? {
            return Ok(false);
        }
        let status = ["status", "--porcelain", "--ignore-submodules=dirty"];
        let status = git(&self.path, &status).await?;
        let head = git(&self.path, &["rev-parse", "HEAD"]).await?;
        Ok(status.is_empty() && head == self.base)
    }

    /// Whether the repository of a submodule was created.
    async fn has_submodules(&self) -> Result<bool, String> {
        let listed = git(&self.path, &["ls-files", "--stage", "-z"]).await?;
        let mut links = listed.split('\0').filter_map(|line| {
            let (mode, path) = line.split_once('\t')?;
            mode.starts_with("160000").then_some(path)
        });
        Ok(links.any(|path| self.path.join(path).join(".git").exists()))
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
    let mut command = Command::from(pi_git::command());
    command
        .arg("-C")
        .arg(cwd)
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true);
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    fn shell(directory: &Path, script: &str) {
        let status = Command::new("sh")
            .args(["-ec", script])
            .current_dir(directory)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        assert!(status.unwrap().success(), "{script}");
    }

    /// Git is not confined when pi runs it, but what a sub-agent leaves may be hostile.
    #[tokio::test]
    async fn files_of_a_sub_agent_let_git_run_no_programs() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let [repository, marker] = ["repository", "marker"].map(|name| root.join(name));
        fs::create_dir(&repository).unwrap();
        shell(
            &repository,
            "git init -q . && git config user.name me && git config user.email me@example.com; \
             git init -q sub && git -C sub -c user.name=me -c user.email=m commit -q --allow-empty -m x; \
             git add sub 2> /dev/null && git commit -qm first; mkdir hooks && git config core.hooksPath hooks",
        );
        let script = format!("#!/bin/sh\necho >> {}\n", marker.display());
        for hook in [
            "post-checkout",
            "post-index-change",
            "reference-transaction",
        ] {
            let hook = repository.join("hooks").join(hook);
            fs::File::create(&hook).unwrap();
            shell(
                &repository,
                &format!("printf '%s' '{script}' > {0}; chmod +x {0}", hook.display()),
            );
        }
        let parent = root.join("worktrees");
        for name in ["empty", "hostile"] {
            let worktree = Worktree::create(&repository, &parent, name).await.unwrap();
            let path = worktree.path.clone();
            if name == "hostile" {
                let attack = format!(
                    "git init -q sub && cd sub && echo '* filter=x' > .gitattributes && echo a > a && \
                     git config user.name me && git config user.email m && git add . && git commit -qm x && \
                     git config filter.x.clean 'echo >> {0}; cat' && git config core.fsmonitor 'echo >> {0}; false' && echo b > a",
                    marker.display()
                );
                shell(&path, &attack);
            }
            let kept = worktree.finish().await;
            assert_eq!(kept.is_some(), name == "hostile");
        }
        assert!(!marker.exists());
    }
}
