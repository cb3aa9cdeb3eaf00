//! One live session, whatever the front end.
//!
//! A [`SessionRuntime`] goes from what a program was told ([`RuntimeOptions`]) to an
//! [`AgentSession`] that can be prompted, and lets another take its place. Everything a session is
//! made of can be replaced: settings, credentials, models, tools, and whoever takes part in it
//! ([`SessionHooks`]).
//!
//! ```
//! use std::sync::Arc;
//!
//! use pi_ai::{Env, FauxProvider, Models, ModelsOptions, Registration};
//! use pi_config::{AgentDir, Settings, SettingsStore};
//! use pi_runtime::{Prompt, RuntimeOptions, SessionChoice, SessionRuntime};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let models = Models::new(ModelsOptions::default());
//! models.register("faux", Registration::Provider(Arc::new(FauxProvider::echo())))?;
//! let runtime = SessionRuntime::start(RuntimeOptions {
//!     session: SessionChoice::InMemory { id: None },
//!     settings: Some(SettingsStore::in_memory(Settings::default())),
//!     model_collection: Some(models),
//!     ..RuntimeOptions::new(AgentDir::at("/tmp/agent"), "/tmp", Env::process())
//! })
//! .await?;
//! let session = runtime.session();
//! session.prompt(Prompt::text("Hello")).await?;
//! session.wait_for_idle().await;
//! assert_eq!(session.messages()?.len(), 3);
//! runtime.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod attachments;
mod bug_report;
mod commands;
mod error_text;
mod event;
mod export;
mod extensions;
mod hooks;
mod model_choice;
mod private_directory;
mod redaction;
mod replay;
mod runtime;
mod services;
mod session;
mod session_choice;
mod share;
mod system_prompt;
mod toolset;

pub use attachments::{AttachmentError, Attachments, read_attachments};
pub use bug_report::{BugReport, BugReportError, WrittenReport};
pub use commands::{CommandInfo, CommandSource};
pub use error_text::describe_error;
pub use event::{CompactionOutcome, SessionEvent, SummarySource, UpdateForm};
pub use export::{
    ExportColor, ExportError, ExportTheme, HtmlOptions, JsonlOptions, PageLook, export_html,
    export_html_file, export_jsonl,
};
pub use extensions::{
    ChosenCompletion, CompletionAnswer, CompletionItem, CompletionQuestion, ComponentId,
    DialogAnswer, DialogQuestion, DrawError, Drawn, DrawnCall, EditorFacts, ExtensionDialog,
    ExtensionFailure, ExtensionLink, ExtensionMode, ExtensionNotice, ExtensionOptions,
    ExtensionScreen, ExtensionShortcut, ExtensionUi, Extent, ForeignFlag, NoExtensionUi,
    OverlayMargin, OverlayPlace, ScreenChange, ScreenFacts, ScreenPlace, ThemeData, ThemeInfo,
    ToolRenderer,
};
pub use hooks::{
    ActivityOutcome, AgentStart, AgentStartChanges, BoundaryContext, BoundaryDecision, Compacted,
    CompactionFailed, CompactionProposal, CompactionVerdict, CustomDraft, EntryDraft, HookProblem,
    InputVerdict, ModelSelected, ModelSource, NoSessionHooks, SessionHooks, SessionShutdown,
    SessionStart, SessionSwitch, SettleBoundary, StartReason, TreeMoved, TreeProposal, TreeVerdict,
    TurnBoundary, UserBashVerdict, UserCommand, UserInput,
};
pub use model_choice::{ModelChoiceError, ModelFlags, ask_local_server};
pub use pi_ext::{HostError, NativeWidget, TuiToolkit, WideEdge};
pub use redaction::{Redaction, environment_secrets, secrets_in_use, stored_secrets};
pub use replay::{RecordError, ReplayDifference, ReplayError, ReplayReport, replay};
pub use runtime::{
    HooksSource, ReplaceError, Replacement, RuntimeOptions, SessionRuntime, SessionStartTold,
    StartError, no_model_hints,
};
pub use services::{
    PackageSupplier, RuntimeKeys, ServiceOptions, Services, SharedConnections, TrustMemory,
    TrustPrompt, TrustVote, TrustVoter,
};
pub use session::{
    AgentSession, BashError, BashRequest, BoundaryView, CompactError, CustomDelivery,
    CustomSending, CycleDirection, Delivery, EntriesSince, ForkMessage, InputSource, ModelCycle,
    NavigateError, NavigateOptions, Navigated, NoExpansion, Persist, Prompt, PromptExpansion,
    PromptRefused, QueuedTexts, RETRY_CANCELLED, Run, SessionListener, SessionParts, SessionState,
    SessionStats, SessionSubscription, SetModelError, ToolInfo,
};
pub use session_choice::{SessionChoice, SessionChoiceError, SessionFlags, SessionFlagsError};
pub use share::{Gist, GistProgram, ShareError, SharePage};
pub use system_prompt::{DocsPlaces, Instructions, SystemPromptParts};
pub use toolset::{
    DefaultTools, PROCESS_MARKS, RegisteredTool, ToolOrigin, ToolSelection, Toolset, ToolsetOptions,
};

/// The examples of the manual, compiled as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sdk.md")]
mod manual {}
