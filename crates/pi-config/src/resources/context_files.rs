//! Context files, such as `AGENTS.md`: text that is sent to the model with every request.
//!
//! At most one file per directory: first the agent directory's, then from the root down to the working
//! directory. They are plain text and need no trust, but are excluded if the user has denied trust, and files that
//! another user of the machine could have written, or that are links to private files, are skipped with a warning; see [`access`].

mod access;
mod worktree;

use std::path::{Path, PathBuf};

use pi_protocol::{ConfigDiagnostic, ProjectAccess};

use super::location::canonical;
use crate::regular_file::{self, MAX_BYTES, ReadFileError, decode_prose, read_up_to};
use access::ContextAccess;

/// Names of context files; the first that exists is used.
const NAMES: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "AGENTS.MD",
    "CLAUDE.md",
    "CLAUDE.MD",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    pub content: String,
}

/// Loads the context files of the agent directory, and of the working directory and its
/// ancestors.
pub(super) fn load(
    agent_dir: &Path,
    cwd: &Path,
    project: ProjectAccess,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Vec<ContextFile> {
    let own = in_dir(agent_dir, None, diagnostics);
    let mut files: Vec<ContextFile> = own.into_iter().collect();
    if project.is_denied() {
        return files;
    }
    let access = ContextAccess::new(cwd, project);
    let mut above: Vec<ContextFile> = cwd
        .ancestors()
        .filter_map(|dir| in_dir(dir, Some(&access), diagnostics))
        .collect();
    // Only computed if there is something to hide.
    if above.len() > 1
        && let Some(shadowed) = shadowed_by_worktree(cwd, &access)
    {
        above.retain(|file| in_real_dir(&file.path) != shadowed);
    }
    for file in above.into_iter().rev() {
        if files.iter().all(|known| known.path != file.path) {
            files.push(file);
        }
    }
    files
}

/// Resolves the directory of a file, but not the file: that of a worktree may be a link to the one of its main
/// repository.
fn in_real_dir(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => canonical(dir).join(name),
        _ => path.to_owned(),
    }
}

/// Reads the context file of a directory. Without `access` the files belong to the user, and any may be read.
fn in_dir(
    dir: &Path,
    access: Option<&ContextAccess>,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Option<ContextFile> {
    for name in NAMES {
        let path = dir.join(name);
        match read(&path, access) {
            Ok(Some(content)) => return Some(ContextFile { path, content }),
            Ok(None) => {}
            // Ignore directories that cannot be entered.
            Err(_) if !path.exists() => {}
            Err(error) => {
                let message = format!("skipped context file: {error}");
                diagnostics.push(ConfigDiagnostic::warning(message, path));
            }
        }
    }
    None
}

/// Reads a context file; `None` if it does not exist. Access is checked on the open file, which cannot be exchanged for
/// another one before it is read.
fn read(path: &Path, access: Option<&ContextAccess>) -> Result<Option<String>, ReadFileError> {
    let Some(file) = regular_file::open(path)? else {
        return Ok(None);
    };
    if let Some(access) = access {
        access.check(&file, path)?;
    }
    read_up_to(file, MAX_BYTES, Vec::new()).map(|bytes| Some(decode_prose(bytes)))
}

/// Finds the context file of a main repository that is shadowed by the worktree's own copy.
///
/// A linked worktree inside its main repository would contribute the same project twice: if both
/// have a file of the same name, only the worktree's is used.
fn shadowed_by_worktree(cwd: &Path, access: &ContextAccess) -> Option<PathBuf> {
    let linked = worktree::linked_worktree(cwd)?;
    // A worktree outside the main repository inherits nothing.
    if linked.worktree == linked.main || !linked.worktree.starts_with(&linked.main) {
        return None;
    }
    let own = in_dir(&linked.worktree, Some(access), &mut Vec::new())?;
    Some(linked.main.join(own.path.file_name()?))
}
