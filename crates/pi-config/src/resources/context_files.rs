//! Context files: `AGENTS.md` and its kin, text that goes to the model with every request.
//!
//! One file per directory, the agent directory's first, then from the root down to the working
//! directory. They are text and need no trust, but stay out of a project the user has refused.

use std::path::{Path, PathBuf};

use super::location::{canonical, normalize};
use crate::ConfigDiagnostic;
use crate::regular_file::{MAX_BYTES, read_prose};

/// The names a context file may have; the first that is there counts.
const NAMES: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "AGENTS.MD",
    "CLAUDE.md",
    "CLAUDE.MD",
];
/// How names of files end that are written for models and people; `.cursorrules` and its kin are.
const PROSE: [&str; 5] = [".md", ".mdc", ".markdown", ".txt", "rules"];
/// The largest pointer file of git that is read.
const MAX_POINTER_BYTES: u64 = 16 * 1024;

/// A context file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    pub content: String,
}

/// Whether the directories above the working directory count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProjectContext {
    Read,
    LeaveOut,
}

/// Loads the context files of the agent directory and of the working directory with the directories
/// above it.
pub(super) fn load(
    agent_dir: &Path,
    cwd: &Path,
    project: ProjectContext,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Vec<ContextFile> {
    let own = in_dir(agent_dir, Links::Followed, diagnostics);
    let mut files: Vec<ContextFile> = own.into_iter().collect();
    if project == ProjectContext::LeaveOut {
        return files;
    }
    let mut above: Vec<ContextFile> = cwd
        .ancestors()
        .filter_map(|dir| in_dir(dir, Links::ToProse, diagnostics))
        .collect();
    // Looked up only when there is something to hide.
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

/// Where links may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    /// Anywhere: they are the user's.
    Followed,
    /// To files that are written for models and people. A repository may call a link to the user's keys
    /// `AGENTS.md`, and context files are read before anybody is asked.
    ToProse,
}

/// Returns where a file is a link to, if that is no prose.
fn misleading_link(path: &Path) -> Option<PathBuf> {
    if !path.symlink_metadata().ok()?.is_symlink() {
        return None;
    }
    let target = path.canonicalize().ok()?;
    let name = target.file_name()?.to_string_lossy().to_ascii_lowercase();
    let is_prose = PROSE.iter().any(|ending| name.ends_with(ending));
    (!is_prose).then_some(target)
}

fn in_dir(
    dir: &Path,
    links: Links,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Option<ContextFile> {
    for name in NAMES {
        let path = dir.join(name);
        if links == Links::ToProse
            && let Some(target) = misleading_link(&path)
        {
            let target = target.display();
            let message =
                format!("context file is left out: it is a link to {target}, which is no prose");
            diagnostics.push(ConfigDiagnostic::warning(message, path));
            continue;
        }
        match read_prose(&path, MAX_BYTES) {
            Ok(Some(content)) => return Some(ContextFile { path, content }),
            Ok(None) => {}
            // A directory that may not be entered has nothing to say.
            Err(_) if !path.exists() => {}
            Err(error) => {
                let message = format!("context file is left out: {error}");
                diagnostics.push(ConfigDiagnostic::warning(message, path));
            }
        }
    }
    None
}

/// Finds the context file of a main repository that the working directory's own copy stands for.
///
/// A linked worktree that lies inside its main repository is the same project twice: where both
/// have a file of one name, only the worktree's counts.
fn shadowed_by_worktree(cwd: &Path) -> Option<PathBuf> {
    let (dir, git_dir) = cwd.ancestors().find_map(|dir| {
        let pointer = dir.join(".git");
        if pointer.is_dir() {
            // The nearest repository is a main one.
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
    // A sibling worktree inherits nothing to hide, and the directory around a bare repository is not
    // a checkout of it.
    if worktree == main || !worktree.starts_with(main) || canonical(&main.join(".git")) != common {
        return None;
    }
    let own = in_dir(&worktree, Links::ToProse, &mut Vec::new())?;
    Some(main.join(own.path.file_name()?))
}
