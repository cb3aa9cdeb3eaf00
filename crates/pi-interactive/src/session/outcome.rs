//! What became of a session command.

use std::path::PathBuf;
use std::sync::Arc;

use pi_host::{
    LlamaRouter, NavigateOutcome, Persist, PreparedShare, PromptError, ReplaceOutcome,
    WrittenReport,
};
use pi_protocol::{
    ConfigDiagnostic, Delivery, EntryId, LlamaModel, LoginOption, Model, SessionInfo, SessionScope,
    SessionSearchResults, ThinkingLevel,
};
use pi_views::dialogs::ForkPoint;

use super::command::Replacement;
use crate::transcript::BashOutcome;

/// Why a prompt was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptRefusal {
    pub(crate) reason: RefusalReason,
    pub(crate) message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    /// A compaction is in progress.
    Compacting,
    /// No model, or none with credentials.
    NoModel,
    Other,
}

impl From<PromptError> for PromptRefusal {
    fn from(error: PromptError) -> Self {
        let reason = match error {
            PromptError::Compacting => RefusalReason::Compacting,
            PromptError::NoModel
            | PromptError::UnknownProvider { .. }
            | PromptError::NoCredential { .. }
            | PromptError::Auth(_) => RefusalReason::NoModel,
            _ => RefusalReason::Other,
        };
        Self {
            reason,
            message: error.to_string(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompactFailure {
    Canceled,
    Failed(String),
}

/// The outcome of a [`SessionCommand`](super::command::SessionCommand). Errors are messages for the user.
#[derive(Debug)]
pub(crate) enum SessionOutcome {
    Prompted {
        text: String,
        delivery: Delivery,
        refusal: Option<PromptRefusal>,
    },
    /// The first prompt that was refused; the ones after it were not sent.
    PromptedInTurn {
        refused: Option<(String, PromptRefusal)>,
    },
    HeldSent {
        refused: Vec<(String, PromptRefusal)>,
    },
    QueueTaken {
        texts: Vec<String>,
        interrupted: bool,
    },
    ShellEnded(BashOutcome),
    /// A question was answered, or why it was not.
    Answered(Result<(), String>),
    Compacted(Result<(), CompactFailure>),
    ModelSet {
        name: String,
        persist: Persist,
        result: Result<(), String>,
    },
    /// The name of the next model; `None` if there is no other.
    ModelCycled(Result<Option<String>, String>),
    ThinkingSet {
        persist: Persist,
        result: Result<(), String>,
    },
    /// `None` if the model has no levels.
    ThinkingCycled(Result<Option<ThinkingLevel>, String>),
    NameSet {
        name: String,
        result: Result<(), String>,
    },
    Replaced {
        request: Replacement,
        result: Result<ReplaceOutcome, String>,
    },
    Navigated {
        target: EntryId,
        result: Result<NavigateOutcome, String>,
    },
    /// `None` if the listing was canceled or failed.
    SessionsListed {
        scope: SessionScope,
        sessions: Option<Vec<Arc<SessionInfo>>>,
    },
    FileRenamed(Result<(), String>),
    FileDeleted(Result<PathBuf, String>),
    TrustSaved(Result<(), String>),
    ForkPoints(Result<Vec<ForkPoint>, String>),
    LastResponse(Result<Option<String>, String>),
    UsageCounted {
        session: String,
        is_counted: bool,
    },
    SessionDescribed(Result<String, String>),
    SessionsFound {
        query: String,
        result: Result<SessionSearchResults, String>,
    },
    CompactionPreviewed {
        instructions: Option<String>,
        result: Result<String, String>,
    },
    Exported(Result<PathBuf, String>),
    SharePrepared(Result<PreparedShare, String>),
    ReportWritten(Result<WrittenReport, String>),
    DebugRecordWritten(Result<PathBuf, String>),
    /// Whether a run was in progress.
    Paused {
        was_running: bool,
    },
    StartNotified,
    ProjectChecked(Option<ConfigDiagnostic>),
    SignedIn {
        provider: String,
        result: Result<(), String>,
    },
    KeyStored {
        provider: String,
        result: Result<(), String>,
    },
    SignedOut {
        provider: String,
        result: Result<(), String>,
    },
    LoginsListed(Result<Vec<LoginOption>, String>),
    ModelsRefreshed {
        /// `None` for all providers.
        provider: Option<String>,
        available: Vec<Arc<Model>>,
        /// The providers whose models could not be fetched.
        failed: Vec<String>,
    },
    LlamaRouterFound(Result<Option<LlamaRouter>, String>),
    LlamaListed(Result<Vec<LlamaModel>, String>),
}
