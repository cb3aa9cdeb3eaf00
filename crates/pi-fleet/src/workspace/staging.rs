//! Adds the files of a workspace to the index of its snapshots.
//!
//! `git add` would run Git in nested repositories, whose configuration can name programs. These commands do not, and they
//! leave nested repositories out, except submodules that the commit of the run has.

use super::WorkspaceError;
use super::git::Git;

/// The mode of submodules in an index.
const SUBMODULE: &[u8] = b"160000 ";

/// Makes the index contain the tracked files that exist, and all files that are not ignored.
pub(super) async fn add_all(git: &Git) -> Result<(), WorkspaceError> {
    let status = [
        "diff-files",
        "-z",
        "--name-status",
        "--ignore-submodules=all",
    ];
    let (removed, mut changed) = tracked_changes(&git.bytes(&status).await?);
    let others = ["ls-files", "-z", "--others", "--exclude-standard"];
    changed.extend(other_files(&git.bytes(&others).await?));
    changed.extend(submodules(
        &git.bytes(&["ls-files", "-z", "--stage"]).await?,
    ));
    update(git, &["--force-remove"], removed).await?;
    update(git, &["--add", "--remove", "--replace"], changed).await
}

async fn update(git: &Git, options: &[&str], paths: Vec<u8>) -> Result<(), WorkspaceError> {
    if paths.is_empty() {
        return Ok(());
    }
    let arguments = [&["update-index", "-z"], options, &["--stdin"]].concat();
    git.clone().with_input(paths).run(&arguments).await
}

/// Returns the removed and the changed files of `diff-files`, each with a zero byte at its end.
fn tracked_changes(status: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut removed, mut changed) = (Vec::new(), Vec::new());
    let mut fields = status.split(|byte| *byte == 0);
    while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
        let list = if status == b"D" {
            &mut removed
        } else {
            &mut changed
        };
        push(list, path);
    }
    (removed, changed)
}

/// Leaves out nested repositories, which end with a slash.
fn other_files(others: &[u8]) -> Vec<u8> {
    let mut files = Vec::new();
    for path in others.split(|byte| *byte == 0) {
        if !path.is_empty() && path.last() != Some(&b'/') {
            push(&mut files, path);
        }
    }
    files
}

/// Returns the submodules of an index. Only the commit that is checked out is read from them.
fn submodules(stage: &[u8]) -> Vec<u8> {
    let mut submodules = Vec::new();
    let entries = stage.split(|byte| *byte == 0);
    for entry in entries.filter(|entry| entry.starts_with(SUBMODULE)) {
        if let Some(tab) = entry.iter().position(|byte| *byte == b'\t') {
            push(&mut submodules, entry.get(tab + 1..).unwrap_or_default());
        }
    }
    submodules
}

fn push(list: &mut Vec<u8>, path: &[u8]) {
    list.extend_from_slice(path);
    list.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_sorted_by_what_happens_to_them() {
        let (removed, changed) = tracked_changes(b"M\0a b\0D\0gone\0T\0link\0");
        assert_eq!(removed, b"gone\0");
        assert_eq!(changed, b"a b\0link\0");
        assert_eq!(other_files(b"file\0nested/\0d/e\0"), b"file\0d/e\0");
        let stage = b"100644 1 0\tfile\x00160000 2 0\tsub module\0";
        assert_eq!(submodules(stage), b"sub module\0");
    }
}
