//! Messages, model catalog, wire protocols and authentication for LLM providers.
//!
//! [`Models`] is the entry point: it holds the providers and their models, resolves the credentials
//! of a request and sends it. A request returns an [`AssistantStream`], which never fails midway:
//! it ends with the complete message, or with an error that includes everything received so far.
//! Running tools and continuing the conversation is the job of `pi-agent`; file access is left to
//! the crates above.
//!
//! ```
//! use std::sync::Arc;
//! use pi_ai::{FauxProvider, Models, ModelsOptions, Registration, StreamOptions, UserMessage};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let faux = FauxProvider::new();
//! faux.push("hello");
//! let models = Models::new(ModelsOptions::default());
//! models.register("faux", Registration::Provider(Arc::new(faux))).unwrap();
//! let model = models.model("faux", "faux-1").unwrap();
//! let prompt = UserMessage { content: "hi".into(), ..UserMessage::default() };
//! let response = models.stream(&model, [prompt.into()], StreamOptions::default());
//! assert_eq!(response.result().await.text(), "hello");
//! # });
//! ```

mod app_message;
#[doc(hidden)]
pub mod bench_support;
mod catalog;
mod constrained_sampling;
mod content;
mod credentials;
mod env;
pub mod env_vars;
mod error;
pub mod estimate;
mod event;
mod faux;
mod google_credentials;
pub mod json;
mod live_message;
mod message;
mod model;
mod model_pattern;
mod oauth;
mod options;
pub mod overflow;
pub mod partial_json;
mod providers;
mod proxy_stream;
mod registry;
pub mod retry;
mod stop_reason;
mod stream;
mod text_pattern;
mod thinking;
mod token_limits;
mod tool_schema;
pub mod transcript;
mod transform;
mod transport;
mod usage;
mod wire;

pub use app_message::{
    AgentMessage, BashExecutionMessage, BranchSummaryMessage, CompactionSummaryMessage,
    CustomMessage,
};
pub use catalog::{builtin_model, builtin_models};
#[doc(hidden)]
pub use catalog::{is_client_identity_header, parse_builtin_models};
pub use content::{
    AssistantBlock, ImageContent, InputBlock, MessageContent, TextContent, ThinkingContent,
    ToolCall, join_text,
};
pub use credentials::{
    AllCredentials, ApiKeyAuth, ApiKeyCredential, AuthError, AuthKind, AuthOverrides, AuthSource,
    AuthStatus, Authenticator, CommandCache, CommandReuse, ConfiguredAuth, Credential,
    CredentialInfo, CredentialShapeError, CredentialStore, FilePosition, InMemoryCredentialStore,
    KeySource, LockedCredential, OAuthCredential, ProviderAuth, ResolvedAuth, ValueTemplate,
    ValueTemplateError,
};
pub use env::Env;
pub use error::{ErrorClass, ProviderError};
pub use event::AssistantMessageEvent;
pub use faux::{FauxCall, FauxGate, FauxModel, FauxProvider, FauxResponse};
pub use live_message::{LiveMessage, MessageBuilder};
pub use message::{
    AssistantMessage, DeferredHandle, Diagnostic, DiagnosticError, Message, SystemMessage,
    ToolResultMessage, UserMessage,
};
pub use model::{
    CostTier, ImageLimits, ImageResize, InputLimits, Modality, Model, ModelCost,
    PromptCacheLifetimes, TokenRates, api,
};
pub use model_pattern::{
    ModelPool, ModelQuery, ModelQueryError, ModelScope, ModelWarning, ResolvedModel, ScopedModel,
    compare_ids, resolve_model, resolve_scope,
};
pub use oauth::{
    AnthropicOAuth, GithubCopilotOAuth, KimiCodingOAuth, LoginChoice, LoginEvent, LoginInteraction,
    LoginLink, LoginPrompt, MetaOAuth, OAuthContext, OAuthError, OAuthFlow, OAuthRequestAuth,
    OpenAiCodexOAuth, OpenRouterOAuth, RadiusOAuth, XaiOAuth, builtin_oauth_flow,
};
pub use options::{
    CacheRetention, HeaderOverrides, ModelRequest, RequestHooks, ResponseHead, StreamOptions,
    Timeouts, ToolChoice, TransportPreference,
};
pub use providers::{KeyInfo, ProviderInfo, builtin_provider, builtin_providers};
pub use proxy_stream::{ProxyServer, stream_through_proxy};
pub use registry::{
    ConfigError, ConfiguredOAuth, CostOverride, ExtensionProvider, HeaderTemplates,
    InMemoryModelsStore, LlamaModel, LlamaProgress, LlamaRouter, LlamaState, ModelConfig,
    ModelList, ModelOverride, Models, ModelsOptions, ModelsStore, ModelsStoreError, NetworkAccess,
    Provider, ProviderConfig, ProviderDriver, ProviderLayer, RefreshContext, RefreshOptions,
    RefreshReport, Registration, StoredModels, Telemetry,
};
pub use stop_reason::StopReason;
pub use stream::{AssistantStream, StreamPhase, StreamWriter};
pub use thinking::{ThinkingBudgets, ThinkingLevel};
pub use tool_schema::{ConstrainedSampling, GrammarVariants, Strictness, Tool, ToolReference};
pub use transport::{Download, HttpClient, HttpSettings};
pub use usage::{Cost, Usage};
