//! Which context files are read without asking the user.
//!
//! They are sent to the model before the project is trusted, and they are found in every directory above the working
//! directory. Neither a repository with a link to a private file nor another user of the machine may use that.

use std::fs::File;
use std::path::{Path, PathBuf};

use pi_protocol::ProjectAccess;

use super::super::location::canonical;
use super::NAMES;
use super::worktree::{linked_worktree, repository_root};
use crate::regular_file::ReadFileError;

/// Name suffixes of text written for models and people, including `.cursorrules` and similar files.
const TEXT_SUFFIXES: [&str; 5] = [".md", ".mdc", ".markdown", ".txt", "rules"];

/// What a working directory gives access to.
pub(super) struct ContextAccess {
    cwd: PathBuf,
    is_trusted: bool,
    /// The user that owns the working directory.
    #[cfg(unix)]
    owner: Option<u32>,
}

impl ContextAccess {
    pub(super) fn new(cwd: &Path, project: ProjectAccess) -> Self {
        Self {
            #[cfg(unix)]
            owner: {
                use std::os::unix::fs::MetadataExt as _;
                cwd.metadata().ok().map(|metadata| metadata.uid())
            },
            cwd: cwd.to_owned(),
            is_trusted: project.is_trusted(),
        }
    }

    /// Checks an open context file.
    pub(super) fn check(&self, file: &File, path: &Path) -> Result<(), ReadFileError> {
        self.check_link(file, path)?;
        #[cfg(unix)]
        self.check_owner(file, path)?;
        Ok(())
    }

    /// Rejects links to what is not text for the model: files that are named otherwise, and, unless the user trusts the
    /// project, files outside of it.
    fn check_link(&self, file: &File, path: &Path) -> Result<(), ReadFileError> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(());
        };
        let directory = canonical(directory);
        let target = pi_fs::opened_path(file, path)?;
        if target == directory.join(name) {
            return Ok(());
        }
        let shown = target.display();
        let target_name = target.file_name().unwrap_or_default().to_string_lossy();
        let lowercase = target_name.to_ascii_lowercase();
        if !TEXT_SUFFIXES.iter().any(|end| lowercase.ends_with(end)) {
            let message = format!("symlink to {shown}, which is not a text file");
            return Err(ReadFileError::Denied(message));
        }
        // Other projects' context files are no secret, and many users share one by a link.
        let is_context_file = NAMES.contains(&&*target_name);
        if self.is_trusted || is_context_file || is_in_project(&target, &directory) {
            return Ok(());
        }
        Err(ReadFileError::Denied(format!(
            "symlink to {shown}, outside of the project; trust the project to follow it"
        )))
    }

    /// Rejects files above the working directory that another user may have written.
    #[cfg(unix)]
    fn check_owner(&self, file: &File, path: &Path) -> Result<(), ReadFileError> {
        use std::os::unix::fs::MetadataExt as _;

        let Some(directory) = path.parent().filter(|directory| *directory != self.cwd) else {
            return Ok(());
        };
        let (file, directory) = (file.metadata()?, directory.metadata()?);
        let file = Permissions {
            owner: file.uid(),
            mode: file.mode(),
        };
        let directory = Permissions {
            owner: directory.uid(),
            mode: directory.mode(),
        };
        let user = rustix::process::geteuid().as_raw();
        match untrusted_writer(file, directory, user, self.owner) {
            Some(reason) => Err(ReadFileError::Denied(format!(
                "{reason}; start pi in its directory to use it"
            ))),
            None => Ok(()),
        }
    }
}

/// Whether a file is in the repository that contains a directory, or in the directory if there is none. A linked
/// worktree includes its main repository.
fn is_in_project(file: &Path, directory: &Path) -> bool {
    let root = repository_root(directory).unwrap_or(directory);
    file.starts_with(root)
        || linked_worktree(directory).is_some_and(|linked| file.starts_with(linked.main))
}

#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
struct Permissions {
    owner: u32,
    mode: u32,
}

/// Returns why a file could have been written by a user that was not chosen. `chosen` is the owner of the working
/// directory: the user has chosen to work with that owner's files.
#[cfg(unix)]
fn untrusted_writer(
    file: Permissions,
    directory: Permissions,
    user: u32,
    chosen: Option<u32>,
) -> Option<&'static str> {
    const ROOT: u32 = 0;
    const WRITABLE_BY_OTHERS: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    if file.mode & WRITABLE_BY_OTHERS != 0 {
        return Some("everyone can write to it");
    }
    let is_shared = directory.mode & WRITABLE_BY_OTHERS != 0;
    if is_shared && directory.mode & STICKY == 0 {
        return Some("everyone can replace it");
    }
    let is_known = |owner| owner == user || owner == ROOT || chosen == Some(owner);
    // In containers root often works in directories of other users, but a shared directory is not such a place.
    let accepts_all = user == ROOT && !is_shared;
    if accepts_all || (is_known(file.owner) && (is_shared || is_known(directory.owner))) {
        return None;
    }
    Some("it belongs to another user")
}

#[cfg(all(test, unix))]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn files_that_others_can_write_above_the_working_directory_are_rejected() {
        const ME: u32 = 1000;
        const COLLEAGUE: u32 = 1001;
        const STRANGER: u32 = 1002;
        let of_another = Some("it belongs to another user");
        let replaceable = Some("everyone can replace it");
        for (file, directory, user, expected) in [
            ((ME, 0o644), (ME, 0o755), ME, None),
            ((0, 0o644), (0, 0o755), ME, None),
            ((COLLEAGUE, 0o644), (COLLEAGUE, 0o755), ME, None),
            ((STRANGER, 0o644), (STRANGER, 0o755), ME, of_another),
            ((ME, 0o644), (STRANGER, 0o755), ME, of_another),
            (
                (ME, 0o666),
                (ME, 0o755),
                ME,
                Some("everyone can write to it"),
            ),
            // Like `/tmp`: only the owner of a file can replace it.
            ((ME, 0o644), (0, 0o1777), ME, None),
            ((STRANGER, 0o644), (0, 0o1777), ME, of_another),
            ((STRANGER, 0o644), (0, 0o1777), 0, of_another),
            ((ME, 0o644), (ME, 0o777), ME, replaceable),
            ((STRANGER, 0o644), (STRANGER, 0o755), 0, None),
        ] {
            let [file, directory] =
                [file, directory].map(|(owner, mode)| Permissions { owner, mode });
            assert_eq!(
                untrusted_writer(file, directory, user, Some(COLLEAGUE)),
                expected,
                "{file:?} in {directory:?} as {user}"
            );
        }
    }
}
