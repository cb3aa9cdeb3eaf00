//! Where resources come from, and which source wins.

use std::path::{Path, PathBuf};

use pi_protocol::{SourceInfo, SourceOrigin, SourceScope};

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
