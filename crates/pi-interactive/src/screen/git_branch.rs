//! Finds the checked-out branch by reading the repository's files.

use std::fs;
use std::path::{Path, PathBuf};

/// Larger than any ref or gitdir file.
const MAX_BYTES: u64 = 4096;

/// Returns the branch checked out at a directory, `detached` for a commit, `None` outside a repository.
pub(crate) fn current_branch(directory: &Path) -> Option<String> {
    let head = read_small(&git_directory(directory)?.join("HEAD"))?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(reference) => {
            let name = reference.strip_prefix("refs/heads/").unwrap_or(reference);
            Some(name.to_owned())
        }
        None => head.get(..7).map(|_| "detached".to_owned()),
    }
}

/// Finds the directory with `HEAD`; in a linked worktree, `.git` is a file that names it.
fn git_directory(directory: &Path) -> Option<PathBuf> {
    for ancestor in directory.ancestors() {
        let git = ancestor.join(".git");
        let Ok(metadata) = fs::metadata(&git) else {
            continue;
        };
        if metadata.is_dir() {
            return Some(git);
        }
        let link = read_small(&git)?;
        let target = link.trim().strip_prefix("gitdir: ")?;
        return Some(ancestor.join(target));
    }
    None
}

fn read_small(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(path).unwrap();
        let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    }

    #[test]
    fn a_branch_is_found_from_a_subdirectory() {
        let root = tempfile::tempdir().unwrap();
        put(
            &root.path().join(".git/HEAD"),
            "ref: refs/heads/feature/x\n",
        );
        let below = root.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        assert_eq!(current_branch(&below).as_deref(), Some("feature/x"));
    }

    #[test]
    fn a_worktree_names_its_repository() {
        let root = tempfile::tempdir().unwrap();
        put(
            &root.path().join("main/.git/worktrees/w/HEAD"),
            "ref: refs/heads/w\n",
        );
        put(
            &root.path().join("w/.git"),
            "gitdir: ../main/.git/worktrees/w\n",
        );
        assert_eq!(current_branch(&root.path().join("w")).as_deref(), Some("w"));
    }

    #[test]
    fn a_commit_without_a_branch_is_detached() {
        let root = tempfile::tempdir().unwrap();
        put(
            &root.path().join(".git/HEAD"),
            "0123456789abcdef0123456789abcdef01234567\n",
        );
        assert_eq!(current_branch(root.path()).as_deref(), Some("detached"));
    }
}
