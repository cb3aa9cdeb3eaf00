//! A provider with configuration applied to it, or a provider defined by configuration alone.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use parking_lot::{Mutex, RwLock};
use pi_auth::{Credential, KeySource, ProviderAuth};
use pi_protocol::ProviderError;

use super::compose::{self, ConfigError, compose};
use super::config::{ModelConfig, ProviderConfig};
use super::dispatch::WireApis;
use super::provider::{ExtensionProvider, HeaderTemplates, ModelList, Provider, RefreshContext};
use crate::options::ModelRequest;
use pi_stream::AssistantStream;

pub(super) struct LayeredProvider {
    id: String,
    name: String,
    base: Option<Arc<dyn Provider>>,
    file: Option<Arc<ProviderConfig>>,
    extension: Option<ExtensionProvider>,
    /// Models fetched by the extension; they replace those it registered.
    fetched_models: RwLock<Option<Vec<ModelConfig>>>,
    /// The last composition and the base models it was built from.
    composed: Mutex<Option<(ModelList, ModelList)>>,
    wire: WireApis,
}

impl LayeredProvider {
    /// Applies configuration to a provider; fails if the configuration is invalid.
    pub(super) fn new(
        id: &str,
        base: Option<Arc<dyn Provider>>,
        file: Option<Arc<ProviderConfig>>,
        extension: Option<ExtensionProvider>,
        wire: WireApis,
    ) -> Result<Self, ConfigError> {
        let configured_name = |config: &ProviderConfig| config.name.clone();
        let name = extension
            .as_ref()
            .and_then(|extension| configured_name(&extension.config))
            .or_else(|| file.as_deref().and_then(configured_name))
            .or_else(|| base.as_ref().map(|base| base.name().to_owned()))
            .or_else(|| {
                let oauth = extension.as_ref()?.oauth.as_ref()?;
                Some(oauth.name().to_owned())
            })
            .unwrap_or_else(|| id.to_owned());
        let layered = Self {
            id: id.to_owned(),
            name,
            base,
            file,
            extension,
            fetched_models: RwLock::new(None),
            composed: Mutex::new(None),
            wire,
        };
        layered.compose()?;
        Ok(layered)
    }

    fn base_models(&self) -> ModelList {
        self.base
            .as_ref()
            .map_or_else(ModelList::default, |base| super::models_of(base.as_ref()))
    }

    fn compose(&self) -> Result<ModelList, ConfigError> {
        let own = self.base_models();
        let mut composed = self.composed.lock();
        if let Some((built_from, models)) = &*composed
            && Arc::ptr_eq(built_from, &own)
        {
            return Ok(Arc::clone(models));
        }
        let fetched_models = self.fetched_models.read();
        let extension = self.extension.as_ref().map(|extension| {
            let mut config = extension.config.clone();
            if fetched_models.is_some() {
                config.models.clone_from(&fetched_models);
            }
            config
        });
        let models: ModelList =
            compose(&self.id, &own, self.file.as_deref(), extension.as_ref())?.into();
        *composed = Some((own, Arc::clone(&models)));
        Ok(models)
    }

    fn extension_config(&self) -> Option<&ProviderConfig> {
        self.extension.as_ref().map(|extension| &extension.config)
    }

    async fn fetch_models(&self, context: &RefreshContext) -> Result<(), ProviderError> {
        if let Some(base) = &self.base {
            let layers = [self.extension_config(), self.file.as_deref()];
            let context = RefreshContext {
                base_url: layers
                    .into_iter()
                    .flatten()
                    .find_map(|layer| layer.base_url.clone()),
                ..context.clone()
            };
            base.refresh(&context).await?;
        }
        let driver = self.extension.as_ref().and_then(|it| it.driver.as_ref());
        let Some(driver) = driver else { return Ok(()) };
        let Some(models) = driver.refresh(context).await? else {
            return Ok(());
        };
        let earlier = self.replace_fetched_models(Some(models));
        if let Err(error) = self.compose() {
            self.replace_fetched_models(earlier);
            return Err(ProviderError::invalid(error.to_string()));
        }
        Ok(())
    }

    fn replace_fetched_models(&self, models: Option<Vec<ModelConfig>>) -> Option<Vec<ModelConfig>> {
        let mut composed = self.composed.lock();
        *composed = None;
        let mut fetched_models = self.fetched_models.write();
        std::mem::replace(&mut *fetched_models, models)
    }
}

impl Provider for LayeredProvider {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn auth(&self) -> Option<ProviderAuth> {
        let configured = compose::configured_auth(self.file.as_deref(), self.extension_config());
        let oauth = self.extension.as_ref().and_then(|it| it.oauth.clone());
        let base = match &self.base {
            // A provider that needs no credential needs none with additional headers either, unless
            // a key is configured for it.
            Some(base) => match base.auth() {
                None if configured.api_key.is_none() && oauth.is_none() => return None,
                auth => auth,
            },
            None => None,
        };
        let mut auth = base.unwrap_or_else(|| {
            ProviderAuth::from_key_source(&self.id, "API key", KeySource::Variables(&[]))
        });
        auth.oauth = oauth.or(auth.oauth);
        auth.configured = configured;
        Some(auth)
    }

    fn models(&self) -> Result<ModelList, ProviderError> {
        self.compose()
            .map_err(|error| ProviderError::invalid(error.to_string()))
    }

    fn accessible_models(&self, models: ModelList, credential: Option<&Credential>) -> ModelList {
        match &self.base {
            Some(base) => base.accessible_models(models, credential),
            None => models,
        }
    }

    fn refresh<'a>(
        &'a self,
        context: &'a RefreshContext,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        self.fetch_models(context).boxed()
    }

    fn configured_headers(&self, model: &str) -> HeaderTemplates {
        compose::configured_headers(model, self.file.as_deref(), self.extension_config())
    }

    fn stream(&self, request: ModelRequest) -> AssistantStream {
        if let Some(extension) = &self.extension
            && let Some(driver) = &extension.driver
            && extension.config.api.as_ref() == Some(&request.model.api)
            && let Some(stream) = driver.stream(request.clone())
        {
            return stream;
        }
        let uses_api = |base: &&Arc<dyn Provider>| {
            let models = super::models_of(base.as_ref());
            models.iter().any(|model| model.api == request.model.api)
        };
        match self.base.as_ref().filter(uses_api) {
            Some(base) => base.stream(request),
            None => self.wire.stream(request),
        }
    }
}
