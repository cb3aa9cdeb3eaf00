//! Paths and globs of the `denyRead` setting.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::roots::Roots;

/// Directories that are not searched for globs when a command starts: large, and without secrets of the user.
const SKIPPED_DIRECTORIES: [&str; 2] = [".git", "node_modules"];

#[derive(Debug, Error)]
#[error("invalid glob: {0}")]
pub struct InvalidGlob(#[source] globset::Error);

/// Paths, with everything below them, and globs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "Names", into = "Names")]
pub struct PathPatterns {
    names: Names,
    globs: GlobSet,
}

/// The serialized form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Names {
    paths: Vec<PathBuf>,
    globs: Vec<String>,
}

impl PartialEq for PathPatterns {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl Eq for PathPatterns {}

impl From<PathPatterns> for Names {
    fn from(patterns: PathPatterns) -> Self {
        patterns.names
    }
}

impl TryFrom<Names> for PathPatterns {
    type Error = InvalidGlob;

    fn try_from(names: Names) -> Result<Self, InvalidGlob> {
        let mut globs = GlobSetBuilder::new();
        for glob in &names.globs {
            globs.add(compile(glob).map_err(InvalidGlob)?);
        }
        let globs = globs.build().map_err(InvalidGlob)?;
        Ok(Self { names, globs })
    }
}

fn compile(glob: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .case_insensitive(cfg!(not(target_os = "linux")))
        .build()
}

impl PathPatterns {
    /// Relative paths are below the workspace. `~` is the home directory.
    pub(crate) fn new(patterns: &[impl AsRef<str>], roots: &Roots) -> Result<Self, InvalidGlob> {
        let mut names = Names::default();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            if !pattern.contains(['*', '?', '[', '{']) {
                names.paths.push(roots.resolve(pattern));
            } else if pattern.starts_with("**/") {
                names.globs.push(pattern.to_owned());
            } else {
                let absolute = roots.resolve(pattern);
                names.globs.push(absolute.to_string_lossy().into_owned());
            }
        }
        names.try_into()
    }

    pub(crate) fn with_path(mut self, path: PathBuf) -> Self {
        self.names.paths.push(path);
        self
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.names.paths
    }

    pub(crate) fn globs(&self) -> &[String] {
        &self.names.globs
    }

    /// Whether a path or one of its parents is denied.
    pub fn matches(&self, path: &Path) -> bool {
        self.names
            .paths
            .iter()
            .any(|denied| path.starts_with(denied))
            || (!self.globs.is_empty()
                && path
                    .ancestors()
                    .any(|ancestor| self.globs.is_match(ancestor)))
    }

    /// Returns the paths, and what the globs match below some directories now.
    pub(crate) fn expand(&self, directories: &[PathBuf]) -> Vec<PathBuf> {
        let mut found = self.names.paths.clone();
        if !self.globs.is_empty() {
            for directory in directories {
                self.find(directory, &mut found);
            }
        }
        found
    }

    fn find(&self, directory: &Path, found: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(directory) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if self.globs.is_match(&path) {
                found.push(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && !SKIPPED_DIRECTORIES
                    .iter()
                    .any(|name| entry.file_name() == *name)
            {
                self.find(&path, found);
            }
        }
    }
}
