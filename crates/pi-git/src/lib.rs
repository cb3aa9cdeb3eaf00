//! Runs git on repositories that pi does not trust.
//!
//! The settings of a repository name programs that git starts: hooks, file monitors, transports. Packages, sub-agents and
//! runs of a fleet leave repositories behind, and git is not confined when pi runs it. Commands that compare the contents of
//! files can also start filters, so callers must avoid them where files are not trusted.

use std::process::Command;

/// Settings that override those of a repository.
const SETTINGS: [&str; 6] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    // A submodule is another repository, with other settings.
    "submodule.recurse=false",
    // Nothing is a repository only because of what it contains.
    "safe.bareRepository=explicit",
    "advice.detachedHead=false",
];

/// Variables that would make git use another repository, as in a hook that starts pi, or another program.
pub const REPOSITORY_VARIABLES: [&str; 8] = [
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_EXTERNAL_DIFF",
];

/// Returns the options that precede the name of a git command.
pub fn options() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().flat_map(|setting| ["-c", setting])
}

/// Returns git with the [options] and without the [variables](REPOSITORY_VARIABLES).
pub fn command() -> Command {
    let mut command = Command::new("git");
    command.args(options());
    for name in REPOSITORY_VARIABLES {
        command.env_remove(name);
    }
    command
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_repository_starts_no_program() {
        let directory = tempfile::tempdir().unwrap();
        let [repository, marker] = ["repository", "marker"].map(|name| directory.path().join(name));
        fs::create_dir(&repository).unwrap();
        let script = format!(
            "git init -q . && git config core.fsmonitor 'touch {0}; false' && mkdir hooks && \
             git config core.hooksPath hooks && printf '#!/bin/sh\\ntouch {0}' > hooks/pre-commit && chmod +x hooks/*",
            marker.display()
        );
        let prepared = Command::new("sh")
            .args(["-ec", &script])
            .current_dir(&repository)
            .status();
        assert!(prepared.unwrap().success());
        File::create(repository.join("file")).unwrap();
        let author = ["-c", "user.name=me", "-c", "user.email=me@example.com"];
        for arguments in [
            &["add", "."][..],
            &["commit", "--quiet", "-m", "x"],
            &["status"],
        ] {
            let mut git = command();
            let output = git.args(author).args(arguments).current_dir(&repository);
            let output = output.output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        assert!(!marker.exists());
        // The repository would have started them.
        let plain = Command::new("git")
            .arg("status")
            .current_dir(&repository)
            .output();
        assert!(plain.unwrap().status.success());
        assert!(marker.exists());
    }

    #[test]
    fn a_directory_with_the_contents_of_a_bare_repository_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let mut create = command();
        create.args(["init", "--quiet", "--bare", "."]);
        assert!(
            create
                .current_dir(directory.path())
                .status()
                .unwrap()
                .success()
        );
        let mut read = command();
        read.args(["rev-parse", "--git-dir"]);
        assert!(
            !read
                .current_dir(directory.path())
                .output()
                .unwrap()
                .status
                .success()
        );
        let explicit = read.env("GIT_DIR", directory.path()).output().unwrap();
        assert!(explicit.status.success());
    }
}
