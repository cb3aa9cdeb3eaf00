//! Completion of a path by listing its directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::prefix::PathPrefix;
use crate::components::SelectItem;

/// Larger directories are listed only partially.
const MAX_ENTRIES: usize = 10_000;

/// The directories that relative paths and `~` resolve to.
#[derive(Clone, Debug)]
pub(super) struct PathRoots {
    pub(super) base: PathBuf,
    pub(super) home: Option<PathBuf>,
}

impl PathRoots {
    /// Resolves a typed directory path.
    pub(super) fn resolve(&self, directory: &str) -> PathBuf {
        if let Some(rest) = directory.strip_prefix('~')
            && let Some(home) = &self.home
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return home.join(rest.trim_start_matches('/'));
        }
        self.base.join(directory)
    }
}

/// Returns the entries that start with the typed name, directories first.
pub(super) fn list(roots: &PathRoots, prefix: &str) -> Vec<SelectItem> {
    let prefix = PathPrefix::parse(prefix);
    let typed = if prefix.path == "~" {
        "~/"
    } else {
        prefix.path
    };
    let (directory, name) = match typed.rfind('/') {
        Some(slash) => typed.split_at_checked(slash + 1).unwrap_or((typed, "")),
        None => ("", typed),
    };
    let name = name.to_lowercase();
    let searched = roots.resolve(directory);
    let mut found: Vec<(bool, String)> = entries(&searched)
        .filter(|(_, entry)| entry.to_lowercase().starts_with(&name))
        .collect();
    found.sort_by(|(a_directory, a), (b_directory, b)| {
        b_directory
            .cmp(a_directory)
            .then_with(|| a.to_lowercase().cmp(&b.to_lowercase()))
            .then_with(|| a.cmp(b))
    });
    found
        .into_iter()
        .map(|(is_directory, entry)| {
            let slash = if is_directory { "/" } else { "" };
            SelectItem {
                value: prefix.decorate(&format!("{directory}{entry}{slash}")),
                label: format!("{entry}{slash}"),
                description: None,
            }
        })
        .collect()
}

/// Returns the names in a directory and whether each is a directory; empty if it cannot be read.
fn entries(directory: &Path) -> impl Iterator<Item = (bool, String)> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .take(MAX_ENTRIES)
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let kind = entry.file_type().ok()?;
            let is_directory = kind.is_dir()
                || (kind.is_symlink() && fs::metadata(entry.path()).is_ok_and(|it| it.is_dir()));
            Some((is_directory, name)).filter(|(_, name)| !name.contains(char::is_control))
        })
}
