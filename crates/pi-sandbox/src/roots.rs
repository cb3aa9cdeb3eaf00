//! The directories that a policy is about.

use std::path::{Component, Path, PathBuf};

use pi_env::Env;

use crate::{default_paths, git_dirs};

/// Directories of a session and of its user. All of them are real paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roots {
    /// The working directory.
    pub workspace: PathBuf,
    /// Directories of the repository that the workspace belongs to, if they are elsewhere.
    pub git_dirs: Vec<PathBuf>,
    /// Files that name the configuration and hooks of the repository; see `git_dirs::naming_files`.
    pub git_files: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    /// The user's settings, extensions and credentials.
    pub agent_dir: PathBuf,
    /// Temporary directories, and caches of build tools.
    pub caches: Vec<PathBuf>,
    /// Sockets that lead out of a sandbox.
    pub sockets: Vec<PathBuf>,
}

impl Roots {
    /// Finds the directories on this machine.
    pub fn find(workspace: &Path, agent_dir: &Path, env: &Env) -> Self {
        let workspace = real(workspace);
        let home = env.home_dir().map(|home| real(&home));
        let git_dirs = git_dirs::find(&workspace);
        Self {
            git_files: git_dirs::naming_files(&workspace, &git_dirs),
            git_dirs,
            agent_dir: real(agent_dir),
            caches: default_paths::caches(home.as_deref(), env),
            sockets: default_paths::sockets(home.as_deref(), env),
            workspace,
            home,
        }
    }

    /// Returns the real path of a path in the settings: `~` is the home directory, and relative paths are below the
    /// workspace.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        let expanded = match (path.strip_prefix('~'), &self.home) {
            (Some(""), Some(home)) => home.clone(),
            (Some(rest), Some(home)) if rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => self.workspace.join(path),
        };
        real(&expanded)
    }
}

/// Resolves links as far as a path exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) => real(parent).join(name),
        (Some(parent), Some(Component::ParentDir)) => {
            let parent = real(parent);
            parent.parent().unwrap_or(&parent).to_owned()
        }
        (Some(parent), Some(_)) => real(parent),
        _ => path.to_owned(),
    }
}
