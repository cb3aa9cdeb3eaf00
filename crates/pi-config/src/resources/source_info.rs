//! Where a resource came from, as extensions and clients of the line protocol are told.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// Where a resource came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceInfo {
    /// The file of the resource.
    pub path: PathBuf,
    /// How it was found: `auto` in a directory pi looks into, `local` by a path in the settings or on
    /// the command line, `cli` through `--extension`, or the source of its package.
    pub source: String,
    pub scope: SourceScope,
    /// Whether a package brought it.
    pub origin: SourceOrigin,
    /// The directory its relative paths and patterns start at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<PathBuf>,
}

/// Whose resource it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceScope {
    /// The user's, from the agent directory or the user's settings.
    User,
    /// The project's, from its `.pi` or `.agents` directory or its settings.
    Project,
    /// Named on the command line, for this run alone.
    Temporary,
}

/// Whether a package brought a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceOrigin {
    Package,
    /// It stands on its own.
    TopLevel,
}

/// What is known about a resource before its file is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provenance {
    pub(crate) source: String,
    pub(crate) scope: SourceScope,
    pub(crate) origin: SourceOrigin,
    pub(crate) base_dir: Option<PathBuf>,
}

impl Provenance {
    /// Describes a resource found in a directory pi looks into by itself.
    pub(crate) fn discovered(scope: SourceScope, base_dir: &Path) -> Self {
        Self {
            source: "auto".to_owned(),
            scope,
            origin: SourceOrigin::TopLevel,
            base_dir: Some(base_dir.to_owned()),
        }
    }

    /// Describes a resource named by a path in the settings.
    pub(crate) fn configured(scope: SourceScope) -> Self {
        Self {
            source: "local".to_owned(),
            scope,
            origin: SourceOrigin::TopLevel,
            base_dir: None,
        }
    }

    /// Describes a resource that `--extension` brought.
    pub(crate) fn command_line() -> Self {
        Self {
            source: "cli".to_owned(),
            scope: SourceScope::Temporary,
            origin: SourceOrigin::TopLevel,
            base_dir: None,
        }
    }

    /// Says the same of one file.
    pub(crate) fn of(&self, path: &Path) -> SourceInfo {
        SourceInfo {
            path: path.to_owned(),
            source: self.source.clone(),
            scope: self.scope,
            origin: self.origin,
            base_dir: self.base_dir.clone(),
        }
    }

    /// Orders resources for "the first one wins": lower goes first.
    pub(crate) fn rank(&self) -> u8 {
        match (self.origin, self.scope, self.source.as_str()) {
            (SourceOrigin::Package, ..) => 4,
            (SourceOrigin::TopLevel, SourceScope::Project, "local") => 0,
            (SourceOrigin::TopLevel, SourceScope::Project, _) => 1,
            (SourceOrigin::TopLevel, SourceScope::User | SourceScope::Temporary, "local") => 2,
            (SourceOrigin::TopLevel, SourceScope::User | SourceScope::Temporary, _) => 3,
        }
    }
}
