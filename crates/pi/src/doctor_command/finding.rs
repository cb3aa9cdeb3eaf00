//! A result of a check.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Severity {
    Ok,
    Warning,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) area: String,
    pub(super) message: String,
    /// What to do, one line each: commands or lines of configuration files.
    pub(super) fixes: Vec<String>,
}

impl Finding {
    fn new(severity: Severity, area: &str, message: impl Into<String>) -> Self {
        Self {
            severity,
            area: area.to_owned(),
            message: message.into(),
            fixes: Vec::new(),
        }
    }

    pub(super) fn ok(area: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Ok, area, message)
    }

    pub(super) fn warning(area: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, area, message)
    }

    pub(super) fn error(area: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, area, message)
    }

    #[must_use]
    pub(super) fn fix(mut self, line: impl Into<String>) -> Self {
        self.fixes.push(line.into());
        self
    }
}
