//! Errors of starting and replacing sessions, with hints for the user.

use std::path::PathBuf;
use std::sync::Arc;

use pi_config::InvalidRestriction;
use pi_permissions::InvalidRule;
use pi_protocol::ConfigDiagnostic;
use pi_sandbox::SandboxError;
use pi_session::SessionError;
use thiserror::Error;

use crate::model_choice::ModelChoiceError;
use crate::session_choice::SessionChoiceError;

/// Why the runtime cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    #[error(transparent)]
    Choice(#[from] SessionChoiceError),
    /// The working directory of the session does not exist.
    #[error(
        "working directory {} of session {} does not exist",
        cwd.display(), session_file.display()
    )]
    MissingCwd {
        cwd: PathBuf,
        session_file: PathBuf,
        /// Where the session could be continued ([`super::SessionOptions::cwd_override`]).
        instead: PathBuf,
    },
    #[error("--name must not be blank")]
    BlankName,
    #[error("{source}")]
    Model {
        #[source]
        source: ModelChoiceError,
        /// Problems in the user's files, which may be the cause.
        diagnostics: Vec<ConfigDiagnostic>,
    },
    #[error(transparent)]
    Restriction(#[from] InvalidRestriction),
    #[error(transparent)]
    PermissionRule(#[from] InvalidRule),
    #[error(transparent)]
    Sandbox(#[from] Arc<SandboxError>),
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The host shut down before or while the session was opened.
    #[error("the session was not opened because the program is shutting down")]
    HostShutDown,
}

impl From<ModelChoiceError> for StartError {
    fn from(source: ModelChoiceError) -> Self {
        Self::Model {
            source,
            diagnostics: Vec::new(),
        }
    }
}

impl StartError {
    /// Adds diagnostics found before the failure.
    pub(super) fn after(mut self, found: &[ConfigDiagnostic]) -> Self {
        if let Self::Model { diagnostics, .. } = &mut self {
            diagnostics.extend_from_slice(found);
        }
        self
    }

    /// Returns problems in the user's files that may be the cause.
    pub fn diagnostics(&self) -> &[ConfigDiagnostic] {
        match self {
            Self::Model { diagnostics, .. } => diagnostics,
            Self::Choice(_)
            | Self::MissingCwd { .. }
            | Self::BlankName
            | Self::Restriction(_)
            | Self::PermissionRule(_)
            | Self::Sandbox(_)
            | Self::Session(_)
            | Self::HostShutDown => &[],
        }
    }

    /// Returns what the user can do, one line per hint.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Choice(SessionChoiceError::NotFound(_)) => {
                vec!["pass --session a file, a session ID or the start of one, or use --resume to list sessions".to_owned()]
            }
            Self::Choice(SessionChoiceError::OtherProject { path, cwd }) => vec![
                format!("to continue it, start pi in {cwd}"),
                format!(
                    "to copy it into this project, run pi --fork {}",
                    path.display()
                ),
            ],
            Self::MissingCwd { cwd, .. } => vec![
                format!("create {} again, or", cwd.display()),
                "copy the session into this project with --fork".to_owned(),
            ],
            Self::Model {
                source: ModelChoiceError::Query(_),
                ..
            } => vec!["define custom models in models.json".to_owned()],
            Self::Restriction(_) => {
                vec!["correct the file; see pi docs sandbox and pi docs security".to_owned()]
            }
            Self::Sandbox(_) => vec!["see pi docs sandbox".to_owned()],
            Self::PermissionRule(_) => {
                vec!["correct it in settings.json; see pi docs security for the rules".to_owned()]
            }
            Self::Session(SessionError::Unwritable { .. }) => {
                vec!["store sessions elsewhere with --session-dir, or use --no-session".to_owned()]
            }
            Self::Choice(SessionChoiceError::Path(_) | SessionChoiceError::Session(_))
            | Self::BlankName
            | Self::Model {
                source: ModelChoiceError::KeyWithoutModel | ModelChoiceError::ProviderWithoutModel,
                ..
            }
            | Self::Session(_)
            | Self::HostShutDown => Vec::new(),
        }
    }
}

/// Why the session was not replaced.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplaceError {
    #[error("file not found: {}", .0.display())]
    MissingFile(PathBuf),
    /// The working directory of the session does not exist. The current session is unchanged.
    #[error(
        "working directory {} of session {} does not exist: create it, or continue the session in another directory",
        cwd.display(), session_file.display()
    )]
    MissingCwd { cwd: PathBuf, session_file: PathBuf },
    /// The session cannot be read, copied or written. The current session is unchanged.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The next session did not start. The previous one was started again.
    #[error("the next session could not be started: {0}")]
    NotStarted(#[source] Box<StartError>),
    /// The next session did not start, and the previous one could not be started again.
    #[error("the session was closed, but the next one could not be started: {0}")]
    Closed(#[source] Box<StartError>),
    #[error("pi is shutting down")]
    Ended,
}

/// Returns hints for a user without any credentials.
pub fn no_model_hints() -> [&'static str; 3] {
    [
        "set an API key, such as ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or start pi and run /login",
        "use a local server: LLAMA_BASE_URL=http://127.0.0.1:8080 pi",
        "try pi without either: pi --demo",
    ]
}
