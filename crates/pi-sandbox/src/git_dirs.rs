//! Finds the git directories that commits from a workspace write to, if they are outside of it: in a parent directory, or the
//! main repository of a worktree. A repository may contain any `.git` file, so its claims are checked.

use std::path::{Path, PathBuf};

/// Name of a git directory in a workspace.
pub(crate) const DOT_GIT: &str = ".git";

/// Returns the directories outside of the workspace.
pub(crate) fn find(workspace: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in workspace.ancestors() {
        let dot_git = directory.join(DOT_GIT);
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

/// A file with settings of one worktree.
pub(crate) const WORKTREE_SETTINGS: &str = "config.worktree";

/// A file that names the directory with the settings and hooks of a git directory.
pub(crate) const COMMON_DIR: &str = "commondir";

/// What makes a directory a git directory, even without the name `.git`. git takes the settings of the working directory if it
/// is one and contains no `.git`, before it looks for a repository above.
const GIT_DIR_PARTS: [&str; 3] = ["refs", "objects", "HEAD"];

/// Settings and hooks in a git directory.
const SETTINGS: [&str; 4] = ["config", "hooks", COMMON_DIR, WORKTREE_SETTINGS];

/// More modules than these are protected together, so that git cannot change them either.
const MAX_MODULES: usize = 200;

/// Directories that are searched for modules, whose names may contain slashes.
const MAX_SEARCHED: usize = 2000;

/// Returns the files with which git could be led to other settings and hooks than those of the repository: the `.git` of a
/// workspace that is no directory, files of its worktrees and modules, and what could make the workspace itself a git
/// directory. They may not exist yet.
pub(crate) fn naming_files(workspace: &Path, git_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let dot_git = workspace.join(DOT_GIT);
    let mut files = Vec::new();
    if dot_git
        .symlink_metadata()
        .is_ok_and(|found| !found.is_dir())
    {
        files.push(dot_git.clone());
    }
    files.extend(unnamed_git_dir(workspace));
    for git_dir in std::iter::once(&dot_git).chain(git_dirs) {
        let has_worktree_settings = has_worktree_settings(git_dir);
        let worktrees = std::fs::read_dir(git_dir.join("worktrees"));
        let worktrees = worktrees.into_iter().flatten().flatten();
        let worktrees: Vec<PathBuf> = worktrees.map(|entry| entry.path()).collect();
        files.extend(worktrees.iter().map(|worktree| worktree.join(COMMON_DIR)));
        if has_worktree_settings {
            let settings = std::iter::once(git_dir).chain(&worktrees);
            files.extend(settings.map(|directory| directory.join(WORKTREE_SETTINGS)));
        }
        match modules(git_dir) {
            Some(modules) => files.extend(modules.iter().flat_map(|module| module_files(module))),
            None => files.push(git_dir.join(MODULES)),
        }
    }
    files
}

/// Name of the directory with the git directories of submodules.
const MODULES: &str = "modules";

/// Returns the git directories of submodules, and of submodules in them; `None` if there are too many.
fn modules(git_dir: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut searched = 0;
    let mut pending = vec![git_dir.join(MODULES)];
    while let Some(directory) = pending.pop() {
        let entries = std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir())) {
            searched += 1;
            if searched > MAX_SEARCHED || found.len() == MAX_MODULES {
                return None;
            }
            let path = entry.path();
            if is_git_dir(&path) {
                pending.push(path.join(MODULES));
                found.push(path);
            } else {
                pending.push(path);
            }
        }
    }
    found.sort();
    Some(found)
}

/// Returns the settings and hooks of a submodule, and the file in the workspace that names its git directory: `git status` in
/// the workspace looks into submodules.
fn module_files(module: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = SETTINGS
        .into_iter()
        .filter(|name| *name != WORKTREE_SETTINGS || has_worktree_settings(module))
        .map(|name| module.join(name))
        .collect();
    let settings = std::fs::read_to_string(module.join("config")).unwrap_or_default();
    let worktree = settings.lines().find_map(|line| {
        let (name, path) = line.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("worktree")
            .then(|| path.trim().trim_matches('"'))
    });
    let worktree = worktree.and_then(|path| module.join(path).canonicalize().ok());
    let dot_git = worktree.map(|worktree| worktree.join(DOT_GIT));
    files.extend(dot_git.filter(|dot_git| dot_git.is_file()));
    files
}

/// Returns what must not change so that a directory does not become a git directory, or the settings of one that is.
fn unnamed_git_dir(directory: &Path) -> Vec<PathBuf> {
    let parts = GIT_DIR_PARTS.map(|name| directory.join(name));
    let missing = parts.into_iter().find(|part| !part.exists());
    let Some(missing) = missing else {
        return SETTINGS.map(|name| directory.join(name)).into();
    };
    // It could name the directory in which the others are.
    vec![missing, directory.join(COMMON_DIR)]
}

/// Whether git reads [`WORKTREE_SETTINGS`], as after `git sparse-checkout`.
fn has_worktree_settings(git_dir: &Path) -> bool {
    let settings = std::fs::read_to_string(git_dir.join("config")).unwrap_or_default();
    settings.to_ascii_lowercase().contains("worktreeconfig")
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
    fn a_directory_cannot_become_a_git_directory() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let workspace = root.join("sub");
        fs::create_dir(&workspace).unwrap();
        let protected = |existing: &[&str]| {
            for name in existing {
                fs::create_dir_all(workspace.join(name)).unwrap();
            }
            let files = naming_files(&workspace, &[]);
            let relative = files
                .iter()
                .map(|file| file.strip_prefix(&workspace).unwrap());
            relative
                .map(|file| file.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        for (existing, inside) in [
            (&[][..], &["refs", "commondir"][..]),
            (&["refs"], &["objects", "commondir"]),
            (&["objects"], &["HEAD", "commondir"]),
            (
                &["HEAD"],
                &["config", "hooks", "commondir", "config.worktree"],
            ),
        ] {
            assert_eq!(protected(existing), inside);
        }
    }

    #[test]
    fn finds_the_settings_of_modules() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (git_dir, sub) = (root.join(".git"), root.join("libs/sub"));
        make_git_dir(&git_dir);
        fs::create_dir_all(&sub).unwrap();
        write(sub.join(".git"), "gitdir: ../../.git/modules/libs/sub\n");
        let module = git_dir.join("modules/libs/sub");
        let inner = module.join("modules/inner");
        make_git_dir(&module);
        make_git_dir(&inner);
        write(
            module.join("config"),
            "[core]\n\tworktree = ../../../../libs/sub\n",
        );
        assert_eq!(
            naming_files(&root, &[]),
            [
                root.join("refs"),
                root.join("commondir"),
                module.join("config"),
                module.join("hooks"),
                module.join("commondir"),
                sub.join(".git"),
                inner.join("config"),
                inner.join("hooks"),
                inner.join("commondir"),
            ]
        );
        for number in 0..=MAX_MODULES {
            make_git_dir(&git_dir.join(format!("modules/m{number}")));
        }
        let files = naming_files(&root, &[]);
        assert_eq!(files.last(), Some(&git_dir.join("modules")));
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
        assert_eq!(
            naming_files(&tree, std::slice::from_ref(&main)),
            [
                tree.join(".git"),
                tree.join("refs"),
                tree.join("commondir"),
                linked.join("commondir")
            ]
        );
        write(
            main.join("config"),
            "[extensions]\n\tworktreeConfig = true\n",
        );
        assert_eq!(
            naming_files(&root.join("main"), &[]),
            [
                root.join("main/refs"),
                root.join("main/commondir"),
                linked.join("commondir"),
                main.join("config.worktree"),
                linked.join("config.worktree")
            ]
        );
        // A repository that names a directory of the user.
        write(tree.join(".git"), format!("gitdir: {}\n", root.display()));
        assert_eq!(find(&tree), Vec::<PathBuf>::new());
    }
}
