//! Errors of hooks.

use thiserror::Error;

/// A failed hook. The run ends with a message that contains the error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct HookError(pub String);

impl HookError {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
