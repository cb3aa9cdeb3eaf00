//! Why a session does not start or does not take another's place, and what the user can do.

use std::path::PathBuf;

use pi_config::ConfigDiagnostic;
use pi_session::SessionError;
use thiserror::Error;

use crate::model_choice::ModelChoiceError;
use crate::session_choice::SessionChoiceError;

/// Why a program cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The chosen session is not there.
    #[error(transparent)]
    Choice(#[from] SessionChoiceError),
    /// The directory the session works in does not exist.
    #[error(
        "the working directory {} of the session {} does not exist",
        cwd.display(), session_file.display()
    )]
    MissingCwd {
        cwd: PathBuf,
        session_file: PathBuf,
        /// Where the session could be continued ([`super::RuntimeOptions::cwd_override`]).
        instead: PathBuf,
    },
    /// The name says nothing.
    #[error("--name needs a name that is not blank")]
    BlankName,
    /// There is no such model.
    #[error("{source}")]
    Model {
        #[source]
        source: ModelChoiceError,
        /// What is wrong with the user's files, which may be why.
        diagnostics: Vec<ConfigDiagnostic>,
    },
    /// The session cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
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
    /// Adds what was found before the failure.
    pub(super) fn after(mut self, found: &[ConfigDiagnostic]) -> Self {
        if let Self::Model { diagnostics, .. } = &mut self {
            diagnostics.extend_from_slice(found);
        }
        self
    }

    /// Returns what is wrong with the user's files, where that may be the cause.
    pub fn diagnostics(&self) -> &[ConfigDiagnostic] {
        match self {
            Self::Model { diagnostics, .. } => diagnostics,
            Self::Choice(_) | Self::MissingCwd { .. } | Self::BlankName | Self::Session(_) => &[],
        }
    }

    /// Returns what the user can do, a line each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Choice(SessionChoiceError::NotFound(_)) => {
                vec!["--session takes a file, an id or the beginning of an id; --resume lists sessions".to_owned()]
            }
            Self::Choice(SessionChoiceError::OtherProject { path, cwd }) => vec![
                format!("go on there: start pi in {cwd}"),
                format!("copy it into this project: pi --fork {}", path.display()),
            ],
            Self::MissingCwd { cwd, .. } => vec![
                format!("create {} again, or", cwd.display()),
                "copy the session into this project with --fork".to_owned(),
            ],
            Self::Model {
                source: ModelChoiceError::Query(_),
                ..
            } => vec!["models of your own are described in models.json".to_owned()],
            Self::Session(SessionError::Unwritable { .. }) => vec![
                "keep sessions elsewhere with --session-dir, or none with --no-session".to_owned(),
            ],
            Self::Choice(SessionChoiceError::Path(_) | SessionChoiceError::Session(_))
            | Self::BlankName
            | Self::Model {
                source: ModelChoiceError::KeyWithoutModel,
                ..
            }
            | Self::Session(_) => Vec::new(),
        }
    }
}

/// Why another session did not take the live one's place.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// The file to import is not there.
    #[error("there is no file {}", .0.display())]
    MissingFile(PathBuf),
    /// The directory the session works in does not exist. Nothing has changed.
    #[error(
        "the working directory {} of the session {} does not exist: create it, or continue the session in another directory",
        cwd.display(), session_file.display()
    )]
    MissingCwd { cwd: PathBuf, session_file: PathBuf },
    /// The session cannot be read, copied or written. Nothing has changed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The old session has ended and the new one does not start.
    #[error("the session was closed, but the next one does not start: {0}")]
    NotStarted(#[source] Box<StartError>),
    /// The program is ending.
    #[error("the program is ending")]
    Ended,
}

/// Returns what somebody without any credential can do to get a model.
pub fn no_model_hints() -> [&'static str; 3] {
    [
        "set a key, such as ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or start pi and sign in with /login",
        "use a server of your own: LLAMA_BASE_URL=http://127.0.0.1:8080 pi",
        "see it work without either: pi --demo",
    ]
}
