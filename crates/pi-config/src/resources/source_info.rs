//! The provenance of a resource, as reported to extensions and RPC clients.

use std::path::{Path, PathBuf};

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceInfo {
    pub path: PathBuf,
    /// How it was found: `auto` in a default directory, `local` by a path in the settings or on
    /// the command line, `cli` through `--extension`, or the source of its package.
    pub source: String,
    pub scope: SourceScope,
    pub origin: SourceOrigin,
    /// Base directory of relative paths and patterns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceScope {
    /// From the agent directory or the user's settings.
    User,
    /// From the project's `.pi` or `.agents` directory or its settings.
    Project,
    /// Named on the command line, for this run only.
    Temporary,
}

/// Whether a resource is part of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceOrigin {
    Package,
    /// Not part of a package.
    TopLevel,
}

/// The provenance of a resource, known before its file is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provenance {
    pub(crate) source: String,
    pub(crate) scope: SourceScope,
    pub(crate) origin: SourceOrigin,
    pub(crate) base_dir: Option<PathBuf>,
}

impl Provenance {
    /// For a resource found in a default directory.
    pub(crate) fn discovered(scope: SourceScope, base_dir: &Path) -> Self {
        Self {
            source: "auto".to_owned(),
            scope,
            origin: SourceOrigin::TopLevel,
            base_dir: Some(base_dir.to_owned()),
        }
    }

    /// For a resource named by a path in the settings.
    pub(crate) fn configured(scope: SourceScope) -> Self {
        Self {
            source: "local".to_owned(),
            scope,
            origin: SourceOrigin::TopLevel,
            base_dir: None,
        }
    }

    /// For a resource named by `--extension`.
    pub(crate) fn command_line() -> Self {
        Self {
            source: "cli".to_owned(),
            scope: SourceScope::Temporary,
            origin: SourceOrigin::TopLevel,
            base_dir: None,
        }
    }

    /// Returns the provenance of one file.
    pub(crate) fn of(&self, path: &Path) -> SourceInfo {
        SourceInfo {
            path: path.to_owned(),
            source: self.source.clone(),
            scope: self.scope,
            origin: self.origin,
            base_dir: self.base_dir.clone(),
        }
    }

    /// Precedence of the source; lower ranks win.
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
