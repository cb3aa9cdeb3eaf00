//! The files of a workspace that a task asks for. Its run may have put links in their place, and may still write to them.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use pi_protocol::matches_name_pattern;

use super::finish::write_private;
use crate::regular_file;
use crate::secrets::SecretMask;
use crate::workspace::is_disk_full;

/// Longest sum of the artifacts of a run.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Largest number of artifacts of a run. Their names are in its result, which must fit into one message of a server.
const MAX_FILES: usize = 1000;

/// Number of artifacts that an error names.
const MAX_PROBLEMS: usize = 5;

/// The artifacts of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CopiedArtifacts {
    /// Paths in the workspace.
    pub(super) names: Vec<String>,
    /// Why others could not be copied.
    pub(super) problems: Vec<String>,
}

/// Copies the files that match, with their secrets hidden. Fails only if the disk is full, which the task cannot change.
pub(super) fn copy(
    workspace: &Path,
    patterns: &[String],
    target: &Path,
    mask: &SecretMask,
) -> io::Result<CopiedArtifacts> {
    copy_up_to(MAX_BYTES, workspace, patterns, target, mask)
}

fn copy_up_to(
    limit: u64,
    workspace: &Path,
    patterns: &[String],
    target: &Path,
    mask: &SecretMask,
) -> io::Result<CopiedArtifacts> {
    let matching = patterns
        .iter()
        .flat_map(|pattern| matching_files(workspace, pattern));
    let mut names: Vec<String> = matching.collect();
    names.sort();
    names.dedup();
    let mut copied = CopiedArtifacts::default();
    if names.len() > MAX_FILES {
        let problem = format!(
            "the task has {} artifacts; only {MAX_FILES} were copied",
            names.len()
        );
        copied.problems.push(problem);
        names.truncate(MAX_FILES);
    }
    let mut left = limit;
    let mut failed = 0;
    for name in names {
        let copying = read_up_to(left, workspace, &name).and_then(|content| {
            let length = content.len() as u64;
            write_private(&target.join(&name), &mask.apply(content))?;
            Ok(length)
        });
        match copying {
            Ok(length) => {
                left -= length;
                copied.names.push(name);
            }
            Err(error) if is_disk_full(&error) => return Err(error),
            Err(error) => {
                failed += 1;
                if failed <= MAX_PROBLEMS {
                    let problem = format!("cannot copy the artifact {name}: {error}");
                    copied.problems.push(problem);
                }
            }
        }
    }
    if failed > MAX_PROBLEMS {
        let more = failed - MAX_PROBLEMS;
        copied
            .problems
            .push(format!("{more} more artifacts cannot be copied"));
    }
    Ok(copied)
}

fn read_up_to(limit: u64, workspace: &Path, name: &str) -> io::Result<Vec<u8>> {
    let file = regular_file::open_below(workspace, name)?;
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        let reason = format!("the artifacts have more than {MAX_BYTES} bytes");
        return Err(io::Error::other(reason));
    }
    Ok(content)
}

/// Returns the regular files that match, as paths in the directory. Links are not followed: they may leave it.
fn matching_files(directory: &Path, pattern: &str) -> Vec<String> {
    let (parent, name) = match pattern.rsplit_once('/') {
        Some((parent, name)) => (format!("{parent}/"), name),
        None => (String::new(), pattern),
    };
    let parent_path: PathBuf = directory.join(&parent);
    let is_inside = match (parent_path.canonicalize(), directory.canonicalize()) {
        (Ok(parent), Ok(directory)) => parent.starts_with(directory),
        _ => false,
    };
    if !is_inside {
        return Vec::new();
    }
    let files = std::fs::read_dir(&parent_path).into_iter().flatten();
    let names = files.filter_map(|file| {
        let file = file.ok()?;
        let is_file = file.file_type().ok()?.is_file();
        let file_name = file.file_name().into_string().ok()?;
        (is_file && matches_name_pattern(name, &file_name)).then(|| format!("{parent}{file_name}"))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn artifacts_that_cannot_be_copied_are_problems_of_their_run() {
        let directory = tempfile::tempdir().unwrap();
        let (workspace, target) = (directory.path().join("work"), directory.path().join("kept"));
        std::fs::create_dir(&workspace).unwrap();
        let long = "x".repeat(255);
        for name in ["a", "b", "c", &long] {
            std::fs::write(workspace.join(name), "secret-value").unwrap();
        }
        let mask = SecretMask::new(["secret-value"].into_iter());
        let copied = copy_up_to(30, &workspace, &["*".to_owned()], &target, &mask).unwrap();
        assert_eq!(copied.names, ["a", "b"]);
        let problems = copied.problems.join("\n");
        let reason = "cannot copy the artifact c: the artifacts have more than";
        assert!(problems.contains(reason), "{problems}");
        let copied = copy(&workspace, &["*".to_owned()], &target, &mask).unwrap();
        assert_eq!(copied.names, ["a", "b", "c"]);
        let problem = format!("cannot copy the artifact {long}: ");
        assert!(copied.problems[0].starts_with(&problem), "{copied:?}");
        assert_eq!(
            std::fs::read_to_string(target.join("c")).unwrap(),
            "*".repeat(12)
        );
    }

    #[test]
    fn artifacts_are_regular_files_inside_the_workspace() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().join("work");
        std::fs::create_dir_all(workspace.join("report/nested.json")).unwrap();
        for name in ["report/a.json", "report/b.json", "report/c.txt", "top.json"] {
            std::fs::write(workspace.join(name), "x").unwrap();
        }
        #[cfg(unix)]
        {
            std::fs::write(directory.path().join("secret.json"), "x").unwrap();
            std::os::unix::fs::symlink("../../secret.json", workspace.join("report/link.json"))
                .unwrap();
            std::os::unix::fs::symlink("..", workspace.join("out")).unwrap();
        }
        let found = |pattern: &str| {
            let mut found = matching_files(&workspace, pattern);
            found.sort();
            found
        };
        assert_eq!(found("report/*.json"), ["report/a.json", "report/b.json"]);
        assert_eq!(found("top.json"), ["top.json"]);
        assert_eq!(found("*p.*"), ["top.json"]);
        assert!(found("out/*.json").is_empty());
        assert!(found("missing/*").is_empty());
    }
}
