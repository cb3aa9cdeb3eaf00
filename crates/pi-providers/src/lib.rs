//! Providers, models and the wire protocols that reach them.
//!
//! [`Models`] is the entry point: it holds the providers and their models, resolves the credentials
//! of a request and sends it. A request returns an [`AssistantStream`](pi_stream::AssistantStream), which never fails midway:
//! it ends with the complete message, or with an error that includes everything received so far.
//! Running tools and continuing the conversation is the job of the crates above. [`wire`] is for
//! crates that add a wire API.
//!
//! ```
//! use std::sync::Arc;
//! use pi_protocol::UserMessage;
//! use pi_providers::{FauxProvider, Models, ModelsOptions, Registration, StreamOptions};
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

#[doc(hidden)]
pub mod bench_support;
mod catalog;
mod constrained_sampling;
mod faux;
mod oauth_flows;
mod options;
mod providers;
mod proxy_stream;
mod rate_limit;
mod registry;
mod request_secrets;
mod response_budget;
mod run;
pub mod token_limits;
pub mod transform;
pub mod wire;

pub use catalog::{builtin_model, builtin_models};
#[doc(hidden)]
pub use catalog::{is_client_identity_header, parse_builtin_models};
pub use constrained_sampling::{strict_parameters, strict_tools_fallback};
pub use faux::{FauxCall, FauxGate, FauxModel, FauxProvider, FauxResponse};
pub use oauth_flows::builtin_oauth_flow;
pub use options::{ModelRequest, RequestHooks, StreamOptions, Timeouts};
pub use providers::{KeyInfo, ProviderInfo, builtin_provider, builtin_providers};
pub use proxy_stream::{ProxyServer, stream_through_proxy};
pub use rate_limit::rate_limit_of;
pub use registry::{
    ConfigError, ConfiguredOAuth, CostOverride, ExtensionProvider, HeaderTemplates,
    InMemoryModelsStore, LlamaRouter, ModelConfig, ModelList, ModelOverride, ModelRouter, Models,
    ModelsOptions, ModelsStore, ModelsStoreError, NetworkAccess, Provider, ProviderConfig,
    ProviderDriver, ProviderLayer, RefreshContext, RefreshOptions, RefreshReport, Registration,
    ResolvedRoute, RouteError, RouteQuery, StoredModels, Telemetry, VirtualModel,
    last_successful_response, physical_model, route_request,
};
