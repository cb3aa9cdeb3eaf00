//! The seam of everything that serves models: built-in services, gateways, the scripted provider,
//! and whatever an extension brings.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::config::{ModelConfig, ProviderConfig};
use super::store::ModelsStore;
use crate::credentials::{Credential, ProviderAuth, ValueTemplate};
use crate::env::Env;
use crate::error::ProviderError;
use crate::model::Model;
use crate::oauth::OAuthFlow;
use crate::options::ModelRequest;
use crate::stream::AssistantStream;
use crate::transport::HttpClient;

/// Models as a provider hands them out: shared, and cheap to keep.
pub type ModelList = Arc<[Arc<Model>]>;

/// Headers whose values say where to find them.
pub type HeaderTemplates = BTreeMap<String, ValueTemplate>;

/// A service that serves models.
///
/// The synchronous methods tell what is known; they must not wait, and must not call back into the
/// collection the provider is registered in.
pub trait Provider: Send + Sync {
    /// Returns the id its models name.
    fn id(&self) -> &str;

    /// Returns the name people know.
    fn name(&self) -> &str {
        self.id()
    }

    /// Describes how requests authenticate; `None` where they need not.
    fn auth(&self) -> Option<ProviderAuth> {
        None
    }

    /// Returns the models that are known at the moment, without waiting for anything.
    ///
    /// An error means no models; it is logged and never breaks a lookup.
    fn models(&self) -> Result<ModelList, ProviderError>;

    /// Returns those of the models that a credential opens.
    fn accessible_models(&self, models: ModelList, credential: Option<&Credential>) -> ModelList {
        let _ = credential;
        models
    }

    /// Restores stored models and, where the context allows it, asks the service for new ones.
    fn refresh<'a>(
        &'a self,
        context: &'a RefreshContext,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        let _ = context;
        std::future::ready(Ok(())).boxed()
    }

    /// Returns the headers configured for one of its models, for each request to resolve.
    fn configured_headers(&self, model: &str) -> HeaderTemplates {
        let _ = model;
        HeaderTemplates::new()
    }

    /// Answers a request whose credential, headers and address are resolved.
    fn stream(&self, request: ModelRequest) -> AssistantStream;
}

/// What a refresh works with.
#[derive(Clone)]
#[non_exhaustive]
pub struct RefreshContext {
    /// Where fetched models are kept between runs.
    pub store: Arc<dyn ModelsStore>,
    /// The stored credential, as it is.
    pub credential: Option<Credential>,
    /// The resolved key or token; only there when the network may be used.
    pub api_key: Option<SecretString>,
    /// The connections, unless the network must not be used.
    pub network: Option<HttpClient>,
    /// Whether to ask even if the last answer is recent.
    pub force: bool,
    pub env: Env,
    pub cancel: CancellationToken,
}

/// What an extension registers under a provider's id.
#[derive(Clone, Default)]
pub struct ExtensionProvider {
    /// What it says about provider and models.
    pub config: ProviderConfig,
    /// How one signs in.
    pub oauth: Option<Arc<dyn OAuthFlow>>,
    /// The code behind it, if it brings any.
    pub driver: Option<Arc<dyn ProviderDriver>>,
}

impl ExtensionProvider {
    /// Returns this registration laid over an earlier one: what this one names wins.
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

/// The code an extension brings for its provider.
pub trait ProviderDriver: Send + Sync {
    /// Answers a request of a model with the API the extension's configuration names. `None` leaves
    /// it to the wire protocols.
    fn stream(&self, request: ModelRequest) -> Option<AssistantStream> {
        let _ = request;
        None
    }

    /// Looks up the models anew. `None` keeps those that are known.
    fn refresh<'a>(
        &'a self,
        context: &'a RefreshContext,
    ) -> BoxFuture<'a, Result<Option<Vec<ModelConfig>>, ProviderError>> {
        let _ = context;
        std::future::ready(Ok(None)).boxed()
    }
}
