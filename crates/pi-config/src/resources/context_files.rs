//! Context files, such as `AGENTS.md`: text that is sent to the model with every request.
//!
//! At most one file per directory: first the agent directory's, then from the root down to the working
//! directory. They are plain text and need no trust, but are excluded if the user has denied trust.

use std::path::{Path, PathBuf};

use pi_protocol::ConfigDiagnostic;

use super::location::{canonical, normalize};
use crate::regular_file::{MAX_BYTES, read_prose};

/// Names of context files; the first that exists is used.
const NAMES: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "AGENTS.MD",
    "CLAUDE.md",
    "CLAUDE.MD",
];
/// Name suffixes of text written for models and people, including `.cursorrules` and similar files.
const TEXT_SUFFIXES: [&str; 5] = [".md", ".mdc", ".markdown", ".txt", "rules"];
/// Maximum size of a `.git` file or `commondir` file.
const MAX_POINTER_BYTES: u64 = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    pub content: String,
}

/// Whether the working directory and its ancestors are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProjectContext {
    Read,
    LeaveOut,
}

/// Loads the context files of the agent directory, and of the working directory and its
/// ancestors.
pub(super) fn load(
    agent_dir: &Path,
    cwd: &Path,
    project: ProjectContext,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Vec<ContextFile> {
    let own = in_dir(agent_dir, LinkPolicy::FollowAll, diagnostics);
    let mut files: Vec<ContextFile> = own.into_iter().collect();
    if project == ProjectContext::LeaveOut {
        return files;
    }
    let mut above: Vec<ContextFile> = cwd
        .ancestors()
        .filter_map(|dir| in_dir(dir, LinkPolicy::TextFilesOnly, diagnostics))
        .collect();
    // Only computed if there is something to hide.
    if above.len() > 1
        && let Some(shadowed) = shadowed_by_worktree(cwd)
    {
        above.retain(|file| canonical(&file.path) != shadowed);
    }
    for file in above.into_iter().rev() {
        if files.iter().all(|known| known.path != file.path) {
            files.push(file);
        }
    }
    files
}

/// Which symlink targets are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkPolicy {
    /// Any target: the files belong to the user.
    FollowAll,
    /// Only text files. A repository could contain a symlink to the user's keys named
    /// `AGENTS.md`, and context files are read before the user is prompted for trust.
    TextFilesOnly,
}

/// Returns the target of a symlink, if that is not a text file.
fn misleading_link(path: &Path) -> Option<PathBuf> {
    if !path.symlink_metadata().ok()?.is_symlink() {
        return None;
    }
    let target = path.canonicalize().ok()?;
    let name = target.file_name()?.to_string_lossy().to_ascii_lowercase();
    let is_prose = TEXT_SUFFIXES.iter().any(|ending| name.ends_with(ending));
    (!is_prose).then_some(target)
}

fn in_dir(
    dir: &Path,
    links: LinkPolicy,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Option<ContextFile> {
    for name in NAMES {
        let path = dir.join(name);
        if links == LinkPolicy::TextFilesOnly
            && let Some(target) = misleading_link(&path)
        {
            let target = target.display();
            let message =
                format!("skipped context file: symlink to {target}, which is not a text file");
            diagnostics.push(ConfigDiagnostic::warning(message, path));
            continue;
        }
        match read_prose(&path, MAX_BYTES) {
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

/// Finds the context file of a main repository that is shadowed by the worktree's own copy.
///
/// A linked worktree inside its main repository would contribute the same project twice: if both
/// have a file of the same name, only the worktree's is used.
fn shadowed_by_worktree(cwd: &Path) -> Option<PathBuf> {
    let (dir, git_dir) = cwd.ancestors().find_map(|dir| {
        let pointer = dir.join(".git");
        if pointer.is_dir() {
            // The nearest repository is not a linked worktree.
            return Some((dir, None));
        }
        let text = read_prose(&pointer, MAX_POINTER_BYTES).ok()??;
        let target = text.trim().strip_prefix("gitdir: ")?.trim();
        Some((dir, Some(normalize(&dir.join(target)))))
    })?;
    let git_dir = git_dir?;
    if !git_dir.join("HEAD").exists() {
        return None;
    }
    let common = read_prose(&git_dir.join("commondir"), MAX_POINTER_BYTES).ok()??;
    let common = canonical(&normalize(&git_dir.join(common.trim())));
    let main = common.parent()?;
    let worktree = canonical(dir);
    // A worktree outside the main repository inherits nothing, and the parent of a bare repository is not
    // a checkout.
    if worktree == main || !worktree.starts_with(main) || canonical(&main.join(".git")) != common {
        return None;
    }
    let own = in_dir(&worktree, LinkPolicy::TextFilesOnly, &mut Vec::new())?;
    Some(main.join(own.path.file_name()?))
}
