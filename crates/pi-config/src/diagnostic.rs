//! Something a user should know about their files: what is wrong, where, and how much it matters.

use std::path::PathBuf;

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosticLevel {
    Info,
    /// Something was ignored or replaced.
    Warning,
    /// Something the user asked for does not work.
    Error,
}

/// One finding about a user's files. It never stops the program by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigDiagnostic {
    /// How much it matters.
    pub level: DiagnosticLevel,
    /// What is wrong and what to do, on one line.
    pub message: String,
    /// The file or directory it is about.
    pub path: Option<PathBuf>,
}

impl ConfigDiagnostic {
    /// Creates a warning about a file.
    pub fn warning(message: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            level: DiagnosticLevel::Warning,
            message: message.into(),
            path: Some(path.into()),
        }
    }

    /// Returns the message, after the file it is about unless it names that. Both may hold foreign text.
    pub fn message_with_path(&self) -> String {
        match &self.path {
            Some(path) if !self.message.contains(&*path.to_string_lossy()) => {
                format!("{}: {}", path.display(), self.message)
            }
            _ => self.message.clone(),
        }
    }

    /// Creates an error about a file.
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
    fn a_file_is_named_once() {
        let without = ConfigDiagnostic::warning("it is empty", "a.json");
        assert_eq!(without.message_with_path(), "a.json: it is empty");
        let with = ConfigDiagnostic::warning("a.json is empty", "a.json");
        assert_eq!(with.message_with_path(), "a.json is empty");
    }
}
