//! Linked worktrees of git: checkouts whose repository is elsewhere.

use std::path::{Path, PathBuf};

use super::super::location::{canonical, normalize};
use crate::regular_file::read_prose;

/// Maximum size of a `.git` file and of the files it leads to.
const MAX_POINTER_BYTES: u64 = 16 * 1024;

/// A linked worktree and its main repository, with symlinks resolved.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LinkedWorktree {
    pub(super) worktree: PathBuf,
    /// The checkout that contains the repository.
    pub(super) main: PathBuf,
}

/// Finds the root of the repository that contains a directory: the nearest directory with a `.git` entry.
pub(super) fn repository_root(directory: &Path) -> Option<&Path> {
    directory
        .ancestors()
        .find(|directory| directory.join(".git").symlink_metadata().is_ok())
}

/// Returns the linked worktree that contains a directory, if its nearest repository is one.
///
/// A `.git` file may be part of a downloaded directory and name any repository. It counts only if that repository knows
/// the worktree.
pub(super) fn linked_worktree(directory: &Path) -> Option<LinkedWorktree> {
    let root = repository_root(directory)?;
    let pointer = root.join(".git");
    let text = read_prose(&pointer, MAX_POINTER_BYTES).ok()??;
    let target = text.trim().strip_prefix("gitdir: ")?.trim();
    let git_dir = canonical(&normalize(&root.join(target)));
    let read_path = |name: &str| -> Option<PathBuf> {
        let text = read_prose(&git_dir.join(name), MAX_POINTER_BYTES).ok()??;
        Some(canonical(&normalize(&git_dir.join(text.trim()))))
    };
    let common = read_path("commondir")?;
    let is_known = git_dir.parent() == Some(&common.join("worktrees"))
        && read_path("gitdir")? == canonical(&pointer);
    if !is_known || !git_dir.join("HEAD").exists() {
        return None;
    }
    let main = common.parent()?;
    // The parent of a bare repository is not a checkout.
    (canonical(&main.join(".git")) == common).then(|| LinkedWorktree {
        worktree: canonical(root),
        main: main.to_owned(),
    })
}
