//! Virtual models: listed like other models, but each request goes to a model that a router chooses.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_auth::{Credential, ProviderAuth};
use pi_protocol::{Model, ModelRoute, ProviderError, RouteRequest};
use pi_stream::AssistantStream;
use tokio_util::sync::CancellationToken;

use super::provider::{HeaderTemplates, ModelList, Provider, RefreshContext};
use crate::options::ModelRequest;

/// Chooses the models that answer the requests of a virtual model.
pub trait ModelRouter: Send + Sync {
    /// Chooses the model of a request; an error message ends the request.
    fn route(
        &self,
        request: RouteRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ModelRoute, String>>;
}

/// A virtual model and its router.
#[derive(Clone)]
pub struct VirtualModel {
    pub model: Arc<Model>,
    pub router: Arc<dyn ModelRouter>,
}

/// Adds virtual models to a provider. Without a provider, they need no credential.
pub(super) struct VirtualProvider {
    id: String,
    base: Option<Arc<dyn Provider>>,
    models: Vec<VirtualModel>,
}

impl VirtualProvider {
    pub(super) fn new(
        id: &str,
        base: Option<Arc<dyn Provider>>,
        models: Vec<VirtualModel>,
    ) -> Self {
        let id = id.to_owned();
        Self { id, base, models }
    }

    fn find(&self, id: &str) -> Option<&VirtualModel> {
        self.models.iter().find(|known| known.model.id == id)
    }

    /// Appends the virtual models to the models they do not hide.
    fn extended(&self, physical: &[Arc<Model>]) -> ModelList {
        let shown = physical
            .iter()
            .filter(|model| self.find(&model.id).is_none());
        let own = self.models.iter().map(|known| &known.model);
        shown.chain(own).cloned().collect()
    }
}

impl Provider for VirtualProvider {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        self.base.as_ref().map_or(&self.id, |base| base.name())
    }

    fn auth(&self) -> Option<ProviderAuth> {
        self.base.as_ref().and_then(|base| base.auth())
    }

    fn models(&self) -> Result<ModelList, ProviderError> {
        let physical = self.base.as_ref().map(|base| base.models()).transpose()?;
        Ok(self.extended(&physical.unwrap_or_default()))
    }

    fn accessible_models(&self, models: ModelList, credential: Option<&Credential>) -> ModelList {
        let Some(base) = &self.base else {
            return models;
        };
        let physical = models.iter().filter(|model| !model.is_virtual()).cloned();
        self.extended(&base.accessible_models(physical.collect(), credential))
    }

    fn refresh<'a>(
        &'a self,
        context: &'a RefreshContext,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        match &self.base {
            Some(base) => base.refresh(context),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }

    fn configured_headers(&self, model: &str) -> HeaderTemplates {
        let base = self.base.as_ref();
        base.map_or_else(HeaderTemplates::new, |base| base.configured_headers(model))
    }

    fn router(&self, model: &str) -> Option<Arc<dyn ModelRouter>> {
        self.find(model).map(|known| Arc::clone(&known.router))
    }

    fn stream(&self, request: ModelRequest) -> AssistantStream {
        match &self.base {
            Some(base) if !request.model.is_virtual() => base.stream(request),
            _ => {
                let message = "a virtual model must be routed before a request is sent";
                let cause = ProviderError::invalid(message);
                AssistantStream::failed(&request.model, request.env.now_ms(), cause)
            }
        }
    }
}
