//! The provider interface, implemented by built-in services, gateways, the scripted provider and
//! extensions.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use pi_auth::{Credential, OAuthFlow, ProviderAuth, ValueTemplate};
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{Model, ProviderError};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::config::{ModelConfig, ProviderConfig};
use super::store::ModelsStore;
use crate::options::ModelRequest;
use pi_stream::AssistantStream;

/// A provider's models; shared and cheap to clone.
pub type ModelList = Arc<[Arc<Model>]>;

/// Headers with template values.
pub type HeaderTemplates = BTreeMap<String, ValueTemplate>;

/// A service that serves models.
///
/// The synchronous methods return what is known. They must not block and must not call back into
/// the registry in which the provider is registered.
pub trait Provider: Send + Sync {
    fn id(&self) -> &str;

    /// Returns the display name.
    fn name(&self) -> &str {
        self.id()
    }

    /// Returns how requests authenticate; `None` if they need no credential.
    fn auth(&self) -> Option<ProviderAuth> {
        None
    }

    /// Returns the currently known models without blocking.
    ///
    /// An error means no models; it is logged and does not fail the lookup.
    fn models(&self) -> Result<ModelList, ProviderError>;

    /// Returns the subset of `models` that a credential gives access to.
    fn accessible_models(&self, models: ModelList, credential: Option<&Credential>) -> ModelList {
        let _ = credential;
        models
    }

    /// Restores stored models and, if the context allows it, fetches new ones.
    fn refresh<'a>(
        &'a self,
        context: &'a RefreshContext,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        let _ = context;
        std::future::ready(Ok(())).boxed()
    }

    /// Returns the header templates configured for a model; each request resolves them.
    fn configured_headers(&self, model: &str) -> HeaderTemplates {
        let _ = model;
        HeaderTemplates::new()
    }

    /// Responds to a request with resolved credential, headers and base URL.
    fn stream(&self, request: ModelRequest) -> AssistantStream;
}

/// Inputs of a refresh.
#[derive(Clone)]
#[non_exhaustive]
pub struct RefreshContext {
    /// Where fetched models are stored between runs.
    pub store: Arc<dyn ModelsStore>,
    /// The stored credential, unresolved.
    pub credential: Option<Credential>,
    /// The resolved key or token; only set if network access is allowed.
    pub api_key: Option<SecretString>,
    /// HTTP client; `None` if network access is not allowed.
    pub network: Option<HttpClient>,
    /// The provider's base URL, if configuration changes it.
    pub base_url: Option<String>,
    /// Whether to fetch even if the last response is recent.
    pub force: bool,
    pub env: Env,
    pub cancel: CancellationToken,
}

/// An extension's registration for a provider ID.
#[derive(Clone, Default)]
pub struct ExtensionProvider {
    pub config: ProviderConfig,
    pub oauth: Option<Arc<dyn OAuthFlow>>,
    /// Code that implements the provider, if any.
    pub driver: Option<Arc<dyn ProviderDriver>>,
}

impl ExtensionProvider {
    /// Merges this registration over an earlier one; fields set here take precedence.
    #[must_use]
    pub(super) fn merged_over(self, earlier: Self) -> Self {
        Self {
            config: self.config.merged_over(earlier.config),
            oauth: self.oauth.or(earlier.oauth),
            driver: self.driver.or(earlier.driver),
        }
    }
}

impl std::fmt::Debug for ExtensionProvider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ExtensionProvider")
            .field("config", &self.config)
            .field("oauth", &self.oauth.as_ref().map(|flow| flow.name()))
            .field("has_driver", &self.driver.is_some())
            .finish()
    }
}

/// Extension code that implements a provider.
pub trait ProviderDriver: Send + Sync {
    /// Responds to a request for a model with the API that the extension's configuration names.
    /// `None` falls back to the wire protocols.
    fn stream(&self, request: ModelRequest) -> Option<AssistantStream> {
        let _ = request;
        None
    }

    /// Fetches the models. `None` keeps the known ones.
    fn refresh<'a>(
        &'a self,
        context: &'a RefreshContext,
    ) -> BoxFuture<'a, Result<Option<Vec<ModelConfig>>, ProviderError>> {
        let _ = context;
        std::future::ready(Ok(None)).boxed()
    }
}
