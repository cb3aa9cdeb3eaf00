//! What the application asks of a session.

use std::path::PathBuf;
use std::sync::Arc;

use pi_host::{
    BugReport, CycleDirection, ExportTheme, LlamaRouter, LoginInteraction, NavigateOptions,
    Persist, Prompt,
};
use pi_protocol::settings::SettingChange;
use pi_protocol::{
    Answer, AuthKind, Delivery, EntryId, ListProgress, Model, RequestId, ScopedModel, SessionScope,
    ThinkingLevel, TrustChoice,
};
use pi_views::dialogs::intent::SecretText;
use tokio_util::sync::CancellationToken;

/// A change that takes effect before the next command; it returns nothing but an error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SessionChange {
    AbortRetry,
    /// Also cancels a branch summary.
    AbortCompaction,
    AbortShell,
    /// Stops waiting for handlers of extensions.
    InterruptHooks,
    /// Models to cycle through; empty for all.
    SetScope(Vec<ScopedModel>),
    SetLabel {
        entry: EntryId,
        label: Option<String>,
    },
    Setting(SettingChange),
    /// Fetches current model catalogs in the background.
    RefreshCatalogs,
}

/// Another session to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Replacement {
    New,
    Clone,
    Reload,
    Resume(PathBuf),
    /// Scrolls to this entry.
    ResumeAt(PathBuf, EntryId),
    /// Starts from the entries before this one.
    Fork(EntryId),
    Import(PathBuf),
}

/// Receives sessions while they are being listed.
pub(crate) type ListObserver = Box<dyn FnMut(ListProgress) + Send>;

/// A request with a [`SessionOutcome`](super::outcome::SessionOutcome).
pub(crate) enum SessionCommand {
    Prompt {
        text: String,
        delivery: Delivery,
    },
    /// Sends prompts one after another, each after the previous run has finished.
    PromptInTurn(Vec<Prompt>),
    /// Sends messages held back during a compaction: the first starts a run, the rest are queued.
    SendHeld(Vec<(String, Delivery)>),
    /// Empties the queue. `held` is added to what it contained.
    TakeQueue {
        interrupt: bool,
        held: Vec<String>,
    },
    RunShell {
        command: String,
        excluded: bool,
    },
    /// Answers a question of the session.
    Answer {
        request: RequestId,
        answer: Answer,
    },
    Compact {
        instructions: Option<String>,
    },
    SetModel {
        model: Arc<Model>,
        persist: Persist,
    },
    CycleModel(CycleDirection),
    SetThinking {
        level: ThinkingLevel,
        persist: Persist,
    },
    CycleThinking,
    SetName(String),
    Replace(Replacement),
    /// Interrupts the current run first.
    Navigate {
        target: EntryId,
        options: NavigateOptions,
    },
    ListSessions {
        scope: SessionScope,
        observer: ListObserver,
        cancel: CancellationToken,
    },
    /// Names a session file, which may be the current one.
    RenameFile {
        path: PathBuf,
        name: String,
    },
    DeleteFile(PathBuf),
    SaveTrust(TrustChoice),
    ListForkPoints,
    ReadLastResponse,
    CountUsage,
    ReadInsight(SessionInsight),
    /// Describes what each extension costs.
    DescribeExtensions,
    /// Searches the text of all stored sessions.
    SearchSessions {
        /// The last word may be incomplete.
        query: String,
        scope: SessionScope,
        /// Whether the same was searched before, while sessions are being indexed.
        is_repeated: bool,
    },
    /// Describes what a compaction would do.
    PreviewCompaction {
        instructions: Option<String>,
    },
    UndoCompaction,
    DescribeSession {
        version: String,
    },
    Export {
        /// The path as typed; `None` for a generated name.
        output: Option<String>,
        theme: ExportTheme,
    },
    /// Writes a redacted page, after checking that `gh` can upload it.
    PrepareShare {
        theme: ExportTheme,
    },
    WriteReport(Box<BugReport>),
    WriteDebugRecord {
        /// Size and lines of the screen.
        screen: String,
    },
    /// Ends the run after its current turn, so that another process can continue it.
    Pause,
    /// Runs the hooks of a session start.
    NotifyStart,
    /// Looks for changes to a trusted project since it was last trusted.
    CheckProject,
    SignIn {
        provider: String,
        kind: AuthKind,
        interaction: Box<dyn LoginInteraction>,
        cancel: CancellationToken,
    },
    StoreKey {
        provider: String,
        key: SecretText,
    },
    SignOut {
        provider: String,
    },
    ListLogins,
    /// Fetches the catalog of one provider, or all.
    RefreshModels {
        provider: Option<String>,
    },
    FindLlamaRouter,
    /// Lists the models of a llama.cpp router, and makes the loaded ones available.
    ListLlama(LlamaRouter),
}

/// A report about what the session costs and contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionInsight {
    CacheMisses,
    Context,
    Cost,
}

impl std::fmt::Debug for SessionCommand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

impl SessionCommand {
    /// The name of the variant, for logs and tests.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Prompt { .. } => "Prompt",
            Self::Answer { .. } => "Answer",
            Self::PromptInTurn(_) => "PromptInTurn",
            Self::SendHeld(_) => "SendHeld",
            Self::TakeQueue { .. } => "TakeQueue",
            Self::RunShell { .. } => "RunShell",
            Self::Compact { .. } => "Compact",
            Self::SetModel { .. } => "SetModel",
            Self::CycleModel(_) => "CycleModel",
            Self::SetThinking { .. } => "SetThinking",
            Self::CycleThinking => "CycleThinking",
            Self::SetName(_) => "SetName",
            Self::Replace(_) => "Replace",
            Self::Navigate { .. } => "Navigate",
            Self::ListSessions { .. } => "ListSessions",
            Self::RenameFile { .. } => "RenameFile",
            Self::DeleteFile(_) => "DeleteFile",
            Self::SaveTrust(_) => "SaveTrust",
            Self::ListForkPoints => "ListForkPoints",
            Self::ReadLastResponse => "ReadLastResponse",
            Self::CountUsage => "CountUsage",
            Self::ReadInsight(_) => "ReadInsight",
            Self::DescribeExtensions => "DescribeExtensions",
            Self::SearchSessions { .. } => "SearchSessions",
            Self::PreviewCompaction { .. } => "PreviewCompaction",
            Self::UndoCompaction => "UndoCompaction",
            Self::DescribeSession { .. } => "DescribeSession",
            Self::Export { .. } => "Export",
            Self::PrepareShare { .. } => "PrepareShare",
            Self::WriteReport(_) => "WriteReport",
            Self::WriteDebugRecord { .. } => "WriteDebugRecord",
            Self::Pause => "Pause",
            Self::NotifyStart => "NotifyStart",
            Self::CheckProject => "CheckProject",
            Self::SignIn { .. } => "SignIn",
            Self::StoreKey { .. } => "StoreKey",
            Self::SignOut { .. } => "SignOut",
            Self::ListLogins => "ListLogins",
            Self::RefreshModels { .. } => "RefreshModels",
            Self::FindLlamaRouter => "FindLlamaRouter",
            Self::ListLlama(_) => "ListLlama",
        }
    }
}
