//! What can go wrong with credentials: one error, naming the file, the field and the hint.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::credential::AuthKind;
use crate::error::{ErrorClass, ProviderError};
use crate::oauth::OAuthError;

/// Why a credential could not be found, read, stored or renewed.
///
/// It is cheap to clone because one failed refresh answers every request that waited for it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AuthError {
    /// Nothing is configured for the provider.
    #[error("no credentials for {provider}: {hint}")]
    Missing {
        provider: String,
        /// What the user can do.
        hint: String,
    },
    /// A file is not what it should be; it was left as it is.
    #[error(
        "{}{position}: {}{problem}; correct the file by hand, it was left untouched",
        file.display(),
        field.as_ref().map(|field| format!("{field}: ")).unwrap_or_default()
    )]
    Malformed {
        file: PathBuf,
        /// Where in the file, as far as it is known.
        position: FilePosition,
        /// The path of the field, such as `anthropic.expires`.
        field: Option<String>,
        /// What is wrong; never a value.
        problem: String,
    },
    /// The file system refused.
    #[error("cannot {action} {}: {source}", file.display())]
    File {
        /// What was tried: `read`, `write`, `lock`, ...
        action: &'static str,
        file: PathBuf,
        #[source]
        source: Arc<io::Error>,
    },
    /// Another process holds the lock and does not let go.
    #[error(
        "{} is locked by another program; if none is running, remove the directory {}.lock",
        file.display(), file.display()
    )]
    Locked { file: PathBuf },
    /// Our lock was taken over while we worked, and the entry has changed since.
    #[error(
        "the entry {provider} of {} was changed by another program meanwhile; try again",
        file.display()
    )]
    Conflict { file: PathBuf, provider: String },
    /// The credential that is stored is not of a kind the provider takes.
    #[error(
        "the stored credential of {provider} is of type {}, which this provider does not take; sign in again",
        kind.as_str()
    )]
    Unsupported {
        provider: String,
        /// The kind that is stored.
        kind: AuthKind,
    },
    /// A configured value could not be turned into text.
    #[error("cannot resolve {what}: {reason}")]
    Unresolved {
        /// Which value, with its place: `anthropic.key in auth.json`.
        what: String,
        reason: ValueTemplateError,
    },
    /// The tokens of a sign-in could not be renewed. They are still stored.
    #[error("cannot renew the sign-in of {provider}: {source}{}", advice(source, *interrupted))]
    Refresh {
        provider: String,
        #[source]
        source: OAuthError,
        /// Whether an earlier renewal was cut off before its result could be stored, so that the
        /// stored refresh token may already be spent.
        interrupted: bool,
    },
    /// The renewed token does not live as long as the caller needs.
    #[error("the renewed token of {provider} expires sooner than asked for")]
    ExpiresTooSoon { provider: String },
    /// The provider has no sign-in of the kind asked for.
    #[error("{provider} has no such way to sign in")]
    NoSignIn { provider: String },
    /// The sign-in did not complete.
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
        "; an earlier renewal was interrupted before its result could be saved, sign in again"
    } else {
        "; sign in again"
    }
}

/// A place in a text file, counted from one; unknown when both are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilePosition {
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for FilePosition {
    /// Writes `:line:column`, or nothing when the place is not known.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return Ok(());
        }
        write!(formatter, ":{}:{}", self.line, self.column)
    }
}

/// Why a value template has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueTemplateError {
    /// Variables it names are not set.
    #[error("set {}", names.iter().map(|name| format!("${name}")).collect::<Vec<_>>().join(", "))]
    MissingVariables { names: Vec<String> },
    /// Its command could not be run, failed, printed nothing or too much.
    #[error("its command {problem}")]
    Command {
        /// What happened; never what the command printed.
        problem: String,
    },
    #[error("it is empty")]
    Empty,
}

impl AuthError {
    /// Wraps a refusal of the file system.
    pub fn file(action: &'static str, file: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File {
            action,
            file: file.into(),
            source: Arc::new(source),
        }
    }

    /// Returns whether the user cancelled.
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
