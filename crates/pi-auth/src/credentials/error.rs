//! Errors of credential lookup, storage and refresh. Messages name the file, the field and the fix.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pi_protocol::{AuthKind, ErrorClass, ProviderError};

use crate::oauth::OAuthError;

/// Why a credential could not be found, read, stored or refreshed.
///
/// Cheap to clone, because one failed refresh is returned to every request that waited for it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AuthError {
    #[error("no credentials for {provider}: {hint}")]
    Missing {
        provider: String,
        /// How to configure one.
        hint: String,
    },
    /// A file is malformed; it was left unchanged.
    #[error(
        "{}{position}: {}{problem}; the file was left unchanged, fix it by hand",
        file.display(),
        field.as_ref().map(|field| format!("{field}: ")).unwrap_or_default()
    )]
    Malformed {
        file: PathBuf,
        /// Position in the file, if known.
        position: FilePosition,
        /// Path of the field, such as `anthropic.expires`.
        field: Option<String>,
        /// What is wrong; never contains a value.
        problem: String,
    },
    /// A file system operation failed.
    #[error("cannot {action} {}: {source}", file.display())]
    File {
        /// Attempted operation: `read`, `write`, `lock`, ...
        action: &'static str,
        file: PathBuf,
        #[source]
        source: Arc<io::Error>,
    },
    /// Another process holds the lock and does not release it.
    #[error(
        "{} is locked by another process; if none is running, remove the directory {}.lock",
        file.display(), file.display()
    )]
    Locked { file: PathBuf },
    /// The lock was taken over by another process, and the entry has changed since.
    #[error(
        "another process changed the entry {provider} in {}; try again",
        file.display()
    )]
    Conflict { file: PathBuf, provider: String },
    /// The stored credential is of a kind the provider does not accept.
    #[error(
        "the stored credential for {provider} has type {}, which this provider does not accept; sign in again",
        kind.as_str()
    )]
    Unsupported {
        provider: String,
        /// Kind of the stored credential.
        kind: AuthKind,
    },
    /// A configured value could not be resolved.
    #[error("cannot resolve {what}: {reason}")]
    Unresolved {
        /// The value and its location, such as `anthropic.key in auth.json`.
        what: String,
        reason: ValueTemplateError,
    },
    /// The OAuth tokens could not be refreshed. They are still stored.
    #[error("cannot refresh the OAuth token for {provider}: {source}{}", advice(source, *interrupted))]
    Refresh {
        provider: String,
        #[source]
        source: OAuthError,
        /// Whether an earlier refresh was interrupted before its result was stored, so the stored
        /// refresh token may already be spent.
        interrupted: bool,
    },
    /// The refreshed token expires sooner than the caller requires.
    #[error("the refreshed token for {provider} expires too soon")]
    ExpiresTooSoon { provider: String },
    /// The provider does not support the requested kind of sign-in.
    #[error("{provider} does not support this kind of sign-in")]
    NoSignIn { provider: String },
    /// The sign-in failed.
    #[error("cannot sign in to {provider}: {source}")]
    SignIn {
        provider: String,
        #[source]
        source: OAuthError,
    },
}

fn advice(source: &OAuthError, interrupted: bool) -> &'static str {
    if !source.is_rejection() {
        ""
    } else if interrupted {
        "; an earlier refresh was interrupted before its result was saved, sign in again"
    } else {
        "; sign in again"
    }
}

/// A position in a text file, starting at 1; unknown if both fields are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilePosition {
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl fmt::Display for FilePosition {
    /// Writes `:line:column`, or nothing if the position is unknown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return Ok(());
        }
        write!(formatter, ":{}:{}", self.line, self.column)
    }
}

/// Why a value template could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueTemplateError {
    /// Referenced variables are not set.
    #[error("set {}", names.iter().map(|name| format!("${name}")).collect::<Vec<_>>().join(", "))]
    MissingVariables { names: Vec<String> },
    /// The command failed to start, failed, printed nothing or printed too much.
    #[error("the command {problem}")]
    Command {
        /// What happened; never contains command output.
        problem: String,
    },
    #[error("the value is empty")]
    Empty,
}

impl AuthError {
    /// Wraps a file system error.
    pub fn file(action: &'static str, file: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File {
            action,
            file: file.into(),
            source: Arc::new(source),
        }
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::SignIn { source, .. } | Self::Refresh { source, .. } if source.is_cancelled()
        )
    }
}

impl From<AuthError> for ProviderError {
    fn from(error: AuthError) -> Self {
        let class = match &error {
            AuthError::Refresh { source, .. } if source.is_network() => ErrorClass::Network,
            _ if error.is_cancelled() => ErrorClass::Aborted,
            _ => ErrorClass::Auth,
        };
        Self::new(class, error.to_string())
    }
}
