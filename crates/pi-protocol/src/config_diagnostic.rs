//! Diagnostics about the user's configuration files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DiagnosticLevel {
    Info,
    /// Something was ignored or replaced.
    Warning,
    /// Something the user requested does not work.
    Error,
}

/// A problem with a configuration file. Callers decide whether it is fatal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigDiagnostic {
    pub level: DiagnosticLevel,
    /// What is wrong and what to do, on one line.
    pub message: String,
    /// The affected file or directory.
    pub path: Option<PathBuf>,
}

impl ConfigDiagnostic {
    pub fn warning(message: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            level: DiagnosticLevel::Warning,
            message: message.into(),
            path: Some(path.into()),
        }
    }

    /// Returns the message, prefixed with the path unless it already contains it. Both may contain untrusted text.
    pub fn message_with_path(&self) -> String {
        match &self.path {
            Some(path) if !self.message.contains(&*path.to_string_lossy()) => {
                format!("{}: {}", path.display(), self.message)
            }
            _ => self.message.clone(),
        }
    }

    pub fn error(message: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            level: DiagnosticLevel::Error,
            ..Self::warning(message, path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_shown_once() {
        let without = ConfigDiagnostic::warning("it is empty", "a.json");
        assert_eq!(without.message_with_path(), "a.json: it is empty");
        let with = ConfigDiagnostic::warning("a.json is empty", "a.json");
        assert_eq!(with.message_with_path(), "a.json is empty");
    }
}
