//! Finds the git directories that commits from a workspace write to, if they are outside of it: in a parent directory, or the
//! main repository of a worktree. A repository may contain any `.git` file, so its claims are checked.

use std::path::{Path, PathBuf};

/// Returns the directories outside of the workspace.
pub(crate) fn find(workspace: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in workspace.ancestors() {
        let dot_git = directory.join(".git");
        let Ok(metadata) = dot_git.symlink_metadata() else {
            continue;
        };
        if metadata.is_dir() && is_git_dir(&dot_git) {
            found.push(dot_git);
            break;
        }
        if metadata.is_file() {
            found.extend(linked_dirs(&dot_git));
            break;
        }
    }
    found.retain(|path| !path.starts_with(workspace));
    found
}

/// Returns the directories that a `.git` file names, if they name it, too.
fn linked_dirs(dot_git: &Path) -> Vec<PathBuf> {
    let Some(git_dir) = read_path(dot_git, "gitdir: ") else {
        return Vec::new();
    };
    if is_submodule(dot_git, &git_dir) {
        return vec![git_dir];
    }
    // A worktree: its directory contains the path of the file.
    let names_file = read_path(&git_dir.join("gitdir"), "")
        .is_some_and(|named| dot_git.canonicalize().is_ok_and(|file| file == named));
    let common = read_path(&git_dir.join("commondir"), "");
    match common.filter(|common| names_file && is_git_dir(common)) {
        // `<common>/worktrees/<name>` is below the common directory.
        Some(common) if git_dir.starts_with(&common) => vec![common],
        _ => Vec::new(),
    }
}

/// Whether a directory is in the `.git/modules` of a repository around the file.
fn is_submodule(dot_git: &Path, git_dir: &Path) -> bool {
    let mut parents = dot_git.ancestors().skip(2);
    is_git_dir(git_dir) && parents.any(|parent| git_dir.starts_with(parent.join(".git/modules")))
}

/// Reads a path after a prefix; relative paths are relative to the file.
fn read_path(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = std::fs::read_to_string(file).ok()?;
    let path = text.strip_prefix(prefix)?.trim_end_matches(['\r', '\n']);
    file.parent()?.join(path).canonicalize().ok()
}

fn is_git_dir(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use pretty_assertions::assert_eq;

    use super::*;

    fn write(path: PathBuf, text: impl AsRef<str>) {
        let mut file = fs::File::create(path).unwrap();
        file.write_all(text.as_ref().as_bytes()).unwrap();
    }

    fn make_git_dir(path: &Path) {
        fs::create_dir_all(path.join("objects")).unwrap();
        fs::create_dir_all(path.join("refs")).unwrap();
        write(path.join("HEAD"), "ref: refs/heads/main\n");
    }

    #[test]
    fn finds_the_repository_around_a_workspace() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        make_git_dir(&root.join("repo/.git"));
        fs::create_dir_all(root.join("repo/sub/deep")).unwrap();
        assert_eq!(find(&root.join("repo")), Vec::<PathBuf>::new());
        assert_eq!(find(&root.join("repo/sub/deep")), [root.join("repo/.git")]);
    }

    #[test]
    fn follows_a_worktree_only_if_the_repository_knows_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (main, tree) = (root.join("main/.git"), root.join("tree"));
        let linked = main.join("worktrees/tree");
        make_git_dir(&main);
        fs::create_dir_all(&linked).unwrap();
        fs::create_dir_all(&tree).unwrap();
        write(linked.join("commondir"), "../..\n");
        write(tree.join(".git"), format!("gitdir: {}\n", linked.display()));
        write(
            linked.join("gitdir"),
            format!("{}\n", root.join("other/.git").display()),
        );
        assert_eq!(find(&tree), Vec::<PathBuf>::new());
        write(
            linked.join("gitdir"),
            format!("{}\n", tree.join(".git").display()),
        );
        assert_eq!(find(&tree), std::slice::from_ref(&main));
        // A repository that names a directory of the user.
        write(tree.join(".git"), format!("gitdir: {}\n", root.display()));
        assert_eq!(find(&tree), Vec::<PathBuf>::new());
    }
}
