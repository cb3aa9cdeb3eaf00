//! Runs sessions independently of the front end.
//!
//! A [`Host`] turns [`SessionOptions`] into sessions that accept prompts; a [`SessionRuntime`] is one of
//! them and can replace it with another. Every component of a session can be substituted:
//! settings, credentials, models, tools, and participants ([`Participants`]).
//!
//! ```
//! use std::sync::Arc;
//!
//! use pi_config::{AgentDir, SettingsStore};
//! use pi_env::Env;
//! use pi_host::{Host, HostOptions, Prompt, SessionChoice, SessionOptions};
//! use pi_protocol::settings::Settings;
//! use pi_providers::{FauxProvider, Models, ModelsOptions, Registration};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let models = Models::new(ModelsOptions::default());
//! models.register("faux", Registration::Provider(Arc::new(FauxProvider::echo())))?;
//! let host = Host::new(HostOptions {
//!     settings: Some(SettingsStore::in_memory(Settings::default())),
//!     model_collection: Some(models),
//!     ..HostOptions::new(AgentDir::at("/tmp/agent"), Env::process())
//! });
//! let runtime = host
//!     .start(SessionOptions {
//!         session: SessionChoice::InMemory { id: None },
//!         ..SessionOptions::new("/tmp")
//!     })
//!     .await?;
//! let session = runtime.session();
//! session.prompt(Prompt::text("Hello")).await?;
//! session.wait_for_idle().await;
//! assert_eq!(session.history().messages()?.len(), 3);
//! runtime.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod bug_report;
mod commands;
mod connection;
mod exporter;
mod extension_adapter;
mod host;
mod live;
mod llama_command;
mod mcp;
mod mcp_completion;
mod model_catalog;
mod model_choice;
mod native_extensions;
mod participants;
mod permission_policy;
mod replay;
mod runtime;
mod script_models;
mod session;
mod session_catalog;
mod session_choice;
mod settings_editor;
mod sign_in;
mod toolset;
mod workspace;

pub use commands::{AcceptedCommand, CommandOrigin, HeldRun};
pub use connection::{
    ClientLine, ClientUi, ConnectionEnd, ConnectionOptions, DialogReply, EventLines,
    ExtensionErrorLine, ExtensionUiMethod, ExtensionUiRequest, ExtensionUiResponse, FeedLine,
    FeedOptions, FeedStart, LineSink, LineWriter, OutputClosed, RejectedLine, RpcRequest,
    SessionFeed, execute_line, failure_line, outcome_line, serve_connection, success_line,
};
pub use exporter::{Exporter, ExporterError, PreparedShare, redact_secrets};
pub use host::{
    AttachError, FileSearch, Host, HostOptions, RuntimeKeys, SessionHandle, TrustFlag, TrustPrompt,
    TrustResolution, TrustResolver,
};
pub use live::{
    GREETING_TIME, LinkStatus, LiveConnection, LiveDirectory, LiveLines, LiveSession,
    LiveSocketError, LiveWriter, RemoteError, RemoteSession, RemoteState,
};
#[cfg(unix)]
pub use live::{RefusedPeer, check_peer};
pub use mcp_completion::{McpCompleter, McpCompletion, McpSuggestions, mcp_completer};
pub use model_catalog::{fetch_models, matches_a_model};
pub use model_choice::{
    ModelChoiceError, ModelFlags, default_model_of_provider, fetch_local_models,
};
pub use native_extensions::{
    ConfinableEnvironment, KeptParts, NativeCommand, NativeContext, NativeExtension, NativeParts,
};
pub use participants::{
    AgentStart, AgentStartChanges, BoundaryContext, BoundaryDecision, CompactionCompleted,
    CompactionFailed, CompactionHook, CompactionProposal, CompactionVerdict, ContextHook,
    CustomMessageDraft, EntryDraft, EventHook, FailureReporter, HookFailure, InputHook,
    InputVerdict, LifecycleHook, ModelSelected, ModelSource, NavigationHook, Participants,
    ParticipantsBuilder, PromptHook, SessionShutdown, SessionStart, SessionSwitch, SettleBoundary,
    StartReason, ToolPolicy, TreeMoved, TreeProposal, TreeVerdict, TurnBoundary, TurnHook,
    UserBashVerdict, UserCommand, UserInput,
};
pub use pi_auth::{LoginInteraction, OAuthError};
pub use pi_config::{
    AgentDir, ListedResource, ProjectOverride, ResourceKind, ResourceRequest, ResourceToggles,
    Resources, SettingsOverrides, parse_mcp_server, read_keybindings,
};
pub use pi_context::{
    CacheMiss, CacheReporter, TurnCost, cache_text, context_text, cost_text, extension_costs_text,
    preview_text,
};
pub use pi_core::{
    ActivityOutcome, CustomDelivery, CustomMessageOptions, ExecutionMode, InputSource, Observed,
    Observer, Progress, Prompt, PromptOutcome, RegisteredTool, StartOrder, Tool, ToolContext,
    ToolError, ToolOrigin, ToolRegistry, ToolSource,
};
pub use pi_export::{
    BugReport, EntryRange, ExportColor, ExportTheme, Gist, ListingError, WrittenReport,
};
pub use pi_extensions::{
    BlockedReason, BlockedStatus, ChosenCompletion, ClientScreen, CompletionItem, ComponentId,
    ComponentPlacement, DialogPrompt, DialogResponse, EditorInfo, ExtensionCompletionRequest,
    ExtensionCompletions, ExtensionDialog, ExtensionFailure, ExtensionFlag, ExtensionHandle,
    ExtensionMode, ExtensionNotice, ExtensionOptions, ExtensionRenderError, ExtensionScreen,
    ExtensionShortcut, ExtensionUi, HookInterrupt, HostError, MountSerial, NativeWidget,
    NoExtensionUi, OverlayExtent, OverlayMargin, OverlayPlacement, RemoteDrawing,
    RenderedComponent, RenderedToolCall, ScreenChange, ScreenFeed, ScreenInfo, ThemeData,
    ThemeInfo, ToolRenderer, TuiToolkit, WideEdge,
};
pub use pi_http::ResponseHead;
pub use pi_lines::{COMMAND_LINE_LIMIT, LineDecoder, LineFrame, LineReader};
pub use pi_model_patterns::{
    ModelPool, ModelQuery, ModelQueryError, ModelScope, ModelWarning, ResolvedModel,
    UnlistedModels, compare_ids, resolve_model, resolve_scope,
};
pub use pi_permissions::{Effect, PermissionRules, ToolUse};
pub use pi_protocol::describe_error;
pub use pi_providers::{LlamaRouter, Models, RequestHooks, rate_limit_of};
pub use pi_sandbox::{
    Attempt, Denial, DeniedAccess, KeptChanges, Sandbox, SandboxError, TriedChange, TriedChangeKind,
};
pub use pi_search::{
    BackgroundIndexing, IndexFreshness, SessionSearch, SessionSearchError, SessionSearchOptions,
};
pub use pi_session::ForkPosition;
pub use pi_tools::{AttachmentError, Attachments, OpenBuffers, read_attachments};
pub use replay::{ReplayError, replay};
pub use runtime::{
    ParticipantsFactory, ReplaceError, ReplaceOutcome, SessionOptions, SessionRuntime, StartError,
    StartNotification, extension_costs, no_model_hints, sandbox_modes, session_search,
    set_sandbox_mode,
};
pub use session::{
    AgentSession, Barrier, BashError, BashRequest, BoundaryView, CompactError, Compaction,
    CycleDirection, EntriesSince, ForkMessage, Handover, History, LiveClients, ModelCycle,
    ModelSelection, NavigateError, NavigateOptions, NavigateOutcome, NoExpansion, PendingRequests,
    Persist, PromptError, PromptExpansion, Retries, SessionListener, SessionOutline, SessionParts,
    SessionQueue, SessionStatus, SessionSubscription, SetModelError, ToolInfo, ToolsAndPrompt,
    TreeNavigation, UndoCompactionError, UndoneCompaction, UserCommands, cache_misses,
};
pub use session_catalog::SessionCatalog;
pub use session_choice::{
    OpenedSession, SessionChoice, SessionChoiceError, SessionFlags, SessionFlagsError,
};
pub use settings_editor::SettingsEditor;
pub use sign_in::{SignIn, SignInError};
pub use toolset::{
    DefaultTools, PROCESS_MARKS, ToolListError, ToolSelection, Toolset, ToolsetOptions,
};
pub use workspace::{MissingPackageInstaller, Workspace, WorkspaceOptions, settings_before_trust};

/// Compiles the examples of the manual as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sdk.md")]
mod manual {}
