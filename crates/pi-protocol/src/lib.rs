//! Messages, entries, events and models: the data that all other crates exchange.
//!
//! Data only: types with their JSON, and pure functions over them. [`Message`] is what a model
//! reads and writes, [`AgentMessage`] what a session contains, [`Entry`] what it stores. Clients
//! send a [`Command`], read a [`Snapshot`], receive each [`SessionEvent`] in its [`Envelope`] and answer
//! a [`Request`] with an [`Answer`]. [`LiveMessage`] is a message that is
//! still being written, and [`AssistantMessageEvent`] describes each change to it. Everything that
//! leaves the process as JSON goes through [`json`].
//!
//! ```
//! use pi_protocol::{AgentMessage, json};
//!
//! let line = r#"{"role":"user","content":"hi","timestamp":1}"#;
//! let message: AgentMessage = serde_json::from_str(line)?;
//! let AgentMessage::User(user) = &message else {
//!     panic!("not a user message");
//! };
//! assert_eq!(user.content.joined_text(), "hi");
//! assert_eq!(json::to_string(&message)?, line);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod agent_event;
mod app_message;
mod assistant_event;
mod barrier;
mod cache_report;
mod command;
mod compaction_decision;
mod config_diagnostic;
mod config_scope;
mod content;
mod context_report;
mod entry;
mod envelope;
mod error;
mod error_text;
pub mod estimate;
mod extension_cost;
mod extension_ui_response;
mod hex;
mod id;
mod interaction;
pub mod json;
mod json_rpc;
mod live_message;
mod llama;
mod lossy_path;
mod mcp;
mod message;
mod model;
mod model_glob;
mod model_password;
mod model_route;
mod name_pattern;
mod nested_calls;
pub mod overflow;
pub mod partial_json;
pub mod provider_id;
mod queue;
mod request_choice;
mod resource;
pub mod retry;
mod scoped_model;
mod screen_event;
mod session_event;
mod session_header;
mod session_listing;
mod session_search;
mod session_stats;
mod session_tree;
pub mod settings;
mod sign_in;
mod snapshot;
mod sort;
mod stop_reason;
mod stream_phase;
mod task;
mod text_pattern;
mod thinking;
pub mod timestamp;
pub mod tool_call_id;
mod tool_output;
mod tool_schema;
pub mod transcript;
mod trust;
mod usage;

pub use agent_event::{AgentEvent, SharedMessage};
pub use app_message::{
    AgentMessage, BashExecutionMessage, BranchSummaryMessage, CompactionSummaryMessage,
    CustomMessage,
};
pub use assistant_event::AssistantMessageEvent;
pub use barrier::{
    BarrierLine, BarrierResponse, BarrierStop, RateLimitLine, ReplayPolicy, RequestEstimate,
    SessionUsage, SupervisedCall, SupervisedPoint,
};
pub use cache_report::{CacheMissCause, CacheMissReport};
pub use command::{
    Ack, ClientHello, ClientRight, Command, NavigateStep, Rejected, RejectionCode, ScreenSize,
};
pub use compaction_decision::{CompactionDecision, RecoveryFailure, RecoveryState};
pub use config_diagnostic::{ConfigDiagnostic, DiagnosticLevel};
pub use config_scope::{ConfigScope, ProjectAccess};
pub use content::{
    AssistantBlock, ImageContent, InputBlock, MessageContent, TextContent, ThinkingContent,
    ToolCall, join_text,
};
pub use context_report::{
    CompactionPreview, ContextItem, ContextPart, ContextReport, ContextShare,
};
pub use entry::{
    BranchSummaryEntry, CompactionEntry, ContextEditEntry, ContextReplacement, CustomEntry,
    CustomMessageEntry, Entry, EntryBody, EntryKind, LabelEntry, MessageRole, ModelChangeEntry,
    SessionInfoEntry, ThinkingLevelChangeEntry, UnknownEntry, UsageEntry,
};
pub use envelope::{Cursor, Envelope, InvalidCursor};
pub use error::{ErrorClass, ProviderError};
pub use error_text::describe_error;
pub use extension_cost::ExtensionCost;
pub use extension_ui_response::{DialogReply, ExtensionUiResponse};
pub use hex::hex;
pub use id::{EntryId, SessionId};
pub use interaction::{
    Answer, FormAnswer, QuestionForm, Request, RequestId, RequestKind, single_line,
};
pub use json_rpc::{InvalidJsonRpc, JsonRpcError, JsonRpcMessage, json_object};
pub use live_message::{LiveMessage, MessageBuilder};
pub use llama::{LlamaModel, LlamaProgress, LlamaState};
pub use mcp::{
    MCP_RESOURCE_TOOLS, McpAction, McpClientRegistration, McpCommand, McpEndpoint, McpExposure,
    McpLifecycle, McpOAuthSpec, McpProtocol, McpScope, McpServerSpec, McpServerStatus, McpState,
    McpTransport, is_mcp_tool, mcp_namespace,
};
pub use message::{
    AssistantMessage, DeferredHandle, Diagnostic, DiagnosticError, MISSING_RESULT, Message,
    SystemMessage, ToolResultMessage, UserMessage,
};
pub use model::{
    CostTier, ImageLimits, ImageResize, InputLimits, Modality, Model, ModelCost, ModelKind,
    PromptCacheLifetimes, TokenRates, api,
};
pub use model_glob::ModelGlob;
pub use model_route::{
    FailedRoute, ModelRoute, RouteReason, RouteRequest, RouteTarget, RoutedModel,
    VIRTUAL_MODEL_STATE_ENTRY, VirtualModelState,
};
pub use name_pattern::matches_name_pattern;
pub use nested_calls::{NestedCall, NestedCallStatus, NestedCalls};
pub use queue::{Delivery, QueueId, QueueMode, QueuedTexts};
pub use request_choice::{CacheRetention, ToolChoice, TransportPreference};
pub use resource::{CommandInfo, CommandSource, SourceInfo, SourceOrigin, SourceScope, ThemeFile};
pub use scoped_model::ScopedModel;
pub use screen_event::{ScreenCursor, ScreenEvent, ScreenLine, ScreenPlace, ScreenRow};
pub use session_event::{
    CompactionOutcome, CompactionReason, ReplacementReason, SessionEvent, SummarySource,
    UpdateFormat,
};
pub use session_header::SessionHeader;
pub use session_listing::{ListProgress, SessionInfo, SessionScope};
pub use session_search::{
    IndexingProgress, SearchRole, SessionSearchHit, SessionSearchResults, SnippetPart,
};
pub use session_stats::{SessionStats, TokenTotals};
pub use session_tree::{NodeLabel, SessionTree, TreeNode};
pub use sign_in::{
    AuthKind, AuthSource, AuthStatus, DeviceCodeActions, LoginChoice, LoginEvent, LoginLink,
    LoginOption, LoginPrompt,
};
pub use snapshot::{ActivityKind, ContextUsage, QueuedMessage, SessionActivity, Snapshot};
pub use sort::{sort_by, sort_by_key};
pub use stop_reason::StopReason;
pub use stream_phase::StreamPhase;
pub use task::{TaskState, TaskStatus};
pub use thinking::{ThinkingBudgets, ThinkingLevel};
pub use tool_output::ToolOutput;
pub use tool_schema::{ConstrainedSampling, GrammarVariants, Strictness, Tool, ToolReference};
pub use trust::{SavedTrust, TrustChoice, TrustState};
pub use usage::{Cost, Usage};
