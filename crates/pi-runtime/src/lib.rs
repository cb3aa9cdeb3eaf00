//! Runs sessions independently of the front end.
//!
//! A [`SessionRuntime`] turns [`RuntimeOptions`] into an [`AgentSession`] that accepts prompts, and
//! can replace that session with another. Every component of a session can be substituted:
//! settings, credentials, models, tools, and hooks ([`SessionHooks`]).
//!
//! ```
//! use std::sync::Arc;
//!
//! use pi_env::Env;
//! use pi_providers::{FauxProvider, Models, ModelsOptions, Registration};
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
mod extensions;
mod hooks;
mod model_choice;
mod replay;
mod runtime;
mod services;
mod session;
mod session_choice;
mod summary_options;
mod toolset;

pub use attachments::{AttachmentError, Attachments, read_attachments};
pub use commands::{CommandInfo, CommandSource};
pub use error_text::describe_error;
pub use extensions::{
    ChosenCompletion, CompletionItem, ComponentId, ComponentPlacement, DialogPrompt,
    DialogResponse, EditorInfo, ExtensionCompletionRequest, ExtensionCompletions, ExtensionDialog,
    ExtensionFailure, ExtensionFlag, ExtensionHandle, ExtensionMode, ExtensionNotice,
    ExtensionOptions, ExtensionRenderError, ExtensionScreen, ExtensionShortcut, ExtensionUi,
    NoExtensionUi, OverlayExtent, OverlayMargin, OverlayPlacement, RenderedComponent,
    RenderedToolCall, ScreenChange, ScreenInfo, ThemeData, ThemeInfo, ToolRenderer,
};
pub use hooks::{
    AgentStart, AgentStartChanges, BoundaryContext, BoundaryDecision, CompactionCompleted,
    CompactionFailed, CompactionProposal, CompactionVerdict, CustomMessageDraft, EntryDraft,
    HookFailure, InputVerdict, ModelSelected, ModelSource, NoSessionHooks, SessionHooks,
    SessionShutdown, SessionStart, SessionSwitch, SettleBoundary, StartReason, TreeMoved,
    TreeProposal, TreeVerdict, TurnBoundary, UserBashVerdict, UserCommand, UserInput,
};
pub use model_choice::{ModelChoiceError, ModelFlags, fetch_local_models};
pub use pi_core::{
    ActivityOutcome, CompactionOutcome, Cursor, CustomDelivery, CustomMessageOptions, Delivery,
    Envelope, InputSource, Observed, Observer, Prompt, PromptOutcome, QueuedTexts, SessionEvent,
    SummarySource, UpdateFormat,
};
pub use pi_ext::{HostError, NativeWidget, TuiToolkit, WideEdge};
pub use replay::{ReplayError, replay};
pub use runtime::{
    ReplaceError, ReplaceOutcome, RuntimeOptions, SessionHooksFactory, SessionRuntime, StartError,
    StartNotification, no_model_hints,
};
pub use services::{
    MissingPackageInstaller, RuntimeKeys, ServiceOptions, Services, SharedConnections,
    TrustDecisions, TrustPrompt, TrustResolution, TrustResolver,
};
pub use session::{
    AgentSession, BashError, BashRequest, BoundaryView, CompactError, CycleDirection, EntriesSince,
    ForkMessage, ModelCycle, NavigateError, NavigateOptions, NavigateOutcome, NoExpansion, Persist,
    PromptError, PromptExpansion, SessionListener, SessionParts, SessionStats, SessionStatus,
    SessionSubscription, SetModelError, ToolInfo,
};
pub use session_choice::{SessionChoice, SessionChoiceError, SessionFlags, SessionFlagsError};
pub use toolset::{DefaultTools, PROCESS_MARKS, ToolSelection, Toolset, ToolsetOptions};

/// Compiles the examples of the manual as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sdk.md")]
mod manual {}
