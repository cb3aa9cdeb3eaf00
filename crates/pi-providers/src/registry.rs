//! The registry of providers and models.
//!
//! Lookups are synchronous and return what is known; only [`Models::refresh`] is asynchronous. Each
//! provider ID has a stack of layers: the built-in provider, a provider registered by the program,
//! the `models.json` entry and the extension's registration. Layers are added and removed
//! independently; removing one exposes those below it.

mod attribution;
mod builtin;
mod compose;
mod config;
mod dispatch;
mod faux;
mod layered;
mod llama;
mod openrouter;
mod overlay;
mod provider;
mod radius;
mod refresh;
mod remote_catalog;
mod request;
mod routing;
mod store;
#[cfg(test)]
mod tests;
mod virtual_models;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use pi_auth::{Authenticator, Credential, CredentialStore, InMemoryCredentialStore};
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{AuthStatus, Model, provider_id};

pub use attribution::Telemetry;
pub use compose::ConfigError;
pub use config::{ConfiguredOAuth, CostOverride, ModelConfig, ModelOverride, ProviderConfig};
pub use provider::{
    ExtensionProvider, HeaderTemplates, ModelList, Provider, ProviderDriver, RefreshContext,
};
pub use refresh::{NetworkAccess, RefreshOptions, RefreshReport};
pub use routing::{
    ResolvedRoute, RouteError, RouteQuery, last_successful_response, physical_model, route_request,
};
pub use store::{InMemoryModelsStore, ModelsStore, ModelsStoreError, StoredModels};

use crate::providers::builtin_providers;
use crate::wire::WireApi;
use builtin::BuiltinProvider;
use dispatch::WireApis;
use layered::LayeredProvider;
use llama::LlamaProvider;
pub use llama::router::LlamaRouter;
use radius::RadiusProvider;
use virtual_models::VirtualProvider;
pub use virtual_models::{ModelRouter, VirtualModel};

/// Dependencies and settings of [`Models`]. All fields have defaults.
pub struct ModelsOptions {
    /// Credential store; in memory by default.
    pub credentials: Arc<dyn CredentialStore>,
    /// Store for fetched catalogs; in memory by default.
    pub store: Arc<dyn ModelsStore>,
    pub http: HttpClient,
    pub env: Env,
    /// Whether to send attribution headers in addition to the user agent; off by default.
    pub telemetry: Telemetry,
    /// Server for remote catalogs.
    pub catalog_server: String,
    /// Wire APIs in addition to those of this crate.
    pub wire_apis: Vec<WireApi>,
    /// Whether the provider of a local or self-hosted server exists; on by default.
    pub has_local_server: bool,
    /// Definitions of image models, read when one is first needed.
    pub image_models_file: Option<PathBuf>,
}

impl Default for ModelsOptions {
    fn default() -> Self {
        Self {
            credentials: Arc::new(InMemoryCredentialStore::default()),
            store: Arc::new(InMemoryModelsStore::default()),
            http: HttpClient::new(),
            env: Env::process(),
            telemetry: Telemetry::default(),
            catalog_server: remote_catalog::SERVER.to_owned(),
            wire_apis: Vec::new(),
            has_local_server: true,
            image_models_file: None,
        }
    }
}

/// A layer to register for a provider ID.
#[non_exhaustive]
pub enum Registration {
    /// A provider implemented by the program; replaces a built-in provider with the same ID.
    Provider(Arc<dyn Provider>),
    /// The provider's `models.json` entry.
    ModelsFile(ProviderConfig),
    /// An extension's registration. It is merged over an earlier one and replaces a registered
    /// [`Registration::Provider`].
    Extension(ExtensionProvider),
    /// A model that chooses another one for each request. It replaces one with the same ID.
    Virtual(VirtualModel),
}

/// Identifies the layer to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderLayer {
    Provider,
    ModelsFile,
    Extension,
}

/// The providers and models available to the program. Cheap to clone.
#[derive(Clone)]
pub struct Models(Arc<ModelsInner>);

struct ModelsInner {
    state: RwLock<RegistryState>,
    authenticator: Authenticator,
    store: Arc<dyn ModelsStore>,
    wire: WireApis,
    http: HttpClient,
    env: Env,
    telemetry: Telemetry,
    image_models_file: Option<PathBuf>,
    refreshes: refresh::RefreshLocks,
}

#[derive(Default)]
struct RegistryState {
    /// The built-in providers sorted by ID, then llama.cpp, then the others in registration order.
    entries: Vec<ProviderEntry>,
    /// Credential status by provider, as of the last refresh.
    access: BTreeMap<String, ProviderAccess>,
}

/// A provider ID with its layers.
struct ProviderEntry {
    id: String,
    builtin: Option<Arc<dyn Provider>>,
    registered: Option<Arc<dyn Provider>>,
    /// The gateway defined by the `models.json` entry.
    gateway: Option<Arc<dyn Provider>>,
    file: Option<Arc<ProviderConfig>>,
    extension: Option<ExtensionProvider>,
    virtual_models: Vec<VirtualModel>,
    /// The composition of all layers.
    active: Option<Arc<dyn Provider>>,
}

struct ProviderAccess {
    status: AuthStatus,
    credential: Option<Credential>,
}

impl Models {
    /// Creates a registry with the built-in providers. Nothing is loaded until needed.
    pub fn new(options: ModelsOptions) -> Self {
        let wire = WireApis::new(options.http.clone(), options.wire_apis);
        let mut entries: Vec<ProviderEntry> = builtin_providers()
            .iter()
            .map(|info| {
                let builtin: Arc<dyn Provider> = match info.id {
                    radius::PROVIDER => {
                        Arc::new(RadiusProvider::builtin(wire.clone(), &options.env))
                    }
                    _ => Arc::new(BuiltinProvider::new(
                        info,
                        wire.clone(),
                        options.env.clone(),
                        options.catalog_server.clone(),
                    )),
                };
                ProviderEntry::builtin(builtin)
            })
            .collect();
        pi_protocol::sort_by(&mut entries, |left, right| left.id.cmp(&right.id));
        if options.has_local_server {
            let local_server = LlamaProvider::new(wire.clone());
            entries.push(ProviderEntry::builtin(Arc::new(local_server)));
        }
        Self(Arc::new(ModelsInner {
            state: RwLock::new(RegistryState {
                entries,
                ..RegistryState::default()
            }),
            authenticator: Authenticator::new(options.credentials, options.http.clone()),
            store: options.store,
            wire,
            http: options.http,
            env: options.env,
            telemetry: options.telemetry,
            image_models_file: options.image_models_file,
            refreshes: refresh::RefreshLocks::default(),
        }))
    }

    /// Returns the HTTP client for requests to providers.
    pub fn http(&self) -> &HttpClient {
        &self.0.http
    }

    /// Returns the file with definitions of image models.
    pub fn image_models_file(&self) -> Option<&Path> {
        self.0.image_models_file.as_deref()
    }

    pub fn env(&self) -> &Env {
        &self.0.env
    }

    /// Returns the `models.json` entry of a provider.
    pub fn file_config(&self, provider: &str) -> Option<Arc<ProviderConfig>> {
        let state = self.state();
        let mut entries = state.entries.iter();
        entries.find(|entry| entry.id == provider)?.file.clone()
    }

    /// Returns all providers: the built-in ones by ID, then the others in registration order.
    pub fn providers(&self) -> Vec<Arc<dyn Provider>> {
        let state = self.state();
        let active = state
            .entries
            .iter()
            .filter_map(|entry| entry.active.clone());
        active.collect()
    }

    /// Returns a provider with all its layers applied. A former ID finds the renamed provider.
    pub fn provider(&self, id: &str) -> Option<Arc<dyn Provider>> {
        let state = self.state();
        let find = |id: &str| state.entries.iter().find(|entry| entry.id == id);
        find(id)
            .or_else(|| find(provider_id::current(id)))?
            .active
            .clone()
    }

    /// Returns a provider's models; empty for an unknown provider.
    pub fn models(&self, provider: &str) -> ModelList {
        self.provider(provider)
            .map_or_else(ModelList::default, |provider| models_of(provider.as_ref()))
    }

    pub fn all(&self) -> Vec<Arc<Model>> {
        self.providers()
            .iter()
            .flat_map(|provider| models_of(provider.as_ref()).to_vec())
            .collect()
    }

    pub fn model(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        self.models(provider)
            .iter()
            .find(|model| model.id == id)
            .cloned()
    }

    /// Returns the models that are usable with the credentials found by the last refresh.
    pub fn available(&self) -> Vec<Arc<Model>> {
        let mut available = Vec::new();
        for provider in self.providers() {
            if !self.is_authenticated(provider.id()) {
                continue;
            }
            let credential = {
                let state = self.state();
                let access = state.access.get(provider.id());
                access.and_then(|access| access.credential.clone())
            };
            let models = models_of(provider.as_ref());
            let open = provider.accessible_models(models, credential.as_ref());
            available.extend(open.iter().cloned());
        }
        available
    }

    /// Returns the source of a provider's credential, as of the last refresh.
    pub fn auth_status(&self, provider: &str) -> Option<AuthStatus> {
        let state = self.state();
        state
            .access
            .get(provider)
            .map(|access| access.status.clone())
    }

    /// Returns whether requests to a provider can authenticate: it needs no credential, or the last
    /// refresh found one.
    pub fn is_authenticated(&self, provider: &str) -> bool {
        self.auth_status(provider).is_some()
            || self
                .provider(provider)
                .is_some_and(|provider| provider.auth().is_none())
    }

    pub fn authenticator(&self) -> &Authenticator {
        &self.0.authenticator
    }

    /// Registers a layer for a provider ID.
    ///
    /// On error the layer is not added. An extension's earlier registration then stays active, but
    /// an earlier `models.json` entry does not, because the file no longer contains it.
    pub fn register(&self, id: &str, registration: Registration) -> Result<(), ConfigError> {
        if id.trim().is_empty() {
            return Err(ConfigError::NoId);
        }
        let mut state = self.state_mut();
        let index = state.entries.iter().position(|entry| entry.id == id);
        let mut entry = match index {
            Some(index) => state.entries.remove(index),
            None => ProviderEntry::new(id),
        };
        let outcome = entry.insert_layer(registration, &self.0.wire);
        if entry.active.is_some() {
            let index = index.unwrap_or(state.entries.len());
            state.entries.insert(index, entry);
        }
        outcome
    }

    /// Removes a layer, exposing those below it.
    pub fn unregister(&self, id: &str, layer: ProviderLayer) {
        self.change_entry(id, |entry| entry.remove_layer(layer, &self.0.wire));
    }

    /// Removes a virtual model.
    pub fn unregister_virtual(&self, provider: &str, model: &str) {
        self.change_entry(provider, |entry| {
            entry.virtual_models.retain(|known| known.model.id != model);
            entry.recompose(&self.0.wire);
        });
    }

    /// Returns whether any virtual model is registered.
    pub fn has_virtual_models(&self) -> bool {
        let state = self.state();
        let mut entries = state.entries.iter();
        entries.any(|entry| !entry.virtual_models.is_empty())
    }

    fn change_entry(&self, id: &str, change: impl FnOnce(&mut ProviderEntry)) {
        let mut state = self.state_mut();
        let Some(index) = state.entries.iter().position(|entry| entry.id == id) else {
            return;
        };
        let mut entry = state.entries.remove(index);
        change(&mut entry);
        if entry.active.is_some() {
            state.entries.insert(index, entry);
        } else {
            state.access.remove(id);
        }
    }

    fn state(&self) -> RwLockReadGuard<'_, RegistryState> {
        self.0.state.read()
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, RegistryState> {
        self.0.state.write()
    }
}

impl std::fmt::Debug for Models {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        let ids = state.entries.iter().map(|entry| &entry.id);
        formatter.debug_list().entries(ids).finish()
    }
}

impl ProviderEntry {
    fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            builtin: None,
            registered: None,
            gateway: None,
            file: None,
            extension: None,
            virtual_models: Vec::new(),
            active: None,
        }
    }

    fn builtin(provider: Arc<dyn Provider>) -> Self {
        let mut entry = Self::new(provider.id());
        entry.active = Some(Arc::clone(&provider));
        entry.builtin = Some(provider);
        entry
    }

    fn insert_layer(
        &mut self,
        registration: Registration,
        wire: &WireApis,
    ) -> Result<(), ConfigError> {
        match registration {
            Registration::Provider(provider) => {
                self.registered = Some(provider);
                self.extension = None;
                self.compose(wire)
            }
            Registration::ModelsFile(config) => {
                self.gateway = gateway(&self.id, &config, wire);
                self.file = Some(Arc::new(config));
                let outcome = self.compose(wire);
                if outcome.is_err() {
                    self.remove_layer(ProviderLayer::ModelsFile, wire);
                }
                outcome
            }
            Registration::Extension(extension) => {
                let earlier = (self.extension.take(), self.registered.take());
                let extension = match earlier.0.clone() {
                    Some(earlier) => extension.merged_over(earlier),
                    None => extension,
                };
                self.extension = Some(extension);
                let outcome = self.compose(wire);
                if outcome.is_err() {
                    (self.extension, self.registered) = earlier;
                    self.recompose(wire);
                }
                outcome
            }
            Registration::Virtual(added) => {
                let id = &added.model.id;
                if id.trim().is_empty() {
                    return Err(ConfigError::NoVirtualId);
                }
                let has_id = |model: &Arc<Model>| model.id == *id && !model.is_virtual();
                let active = self.active.as_deref();
                if active.is_some_and(|active| models_of(active).iter().any(has_id)) {
                    let (provider, model) = (self.id.clone(), id.clone());
                    return Err(ConfigError::NotVirtual { provider, model });
                }
                let own = &mut self.virtual_models;
                match own.iter_mut().find(|known| known.model.id == *id) {
                    Some(known) => *known = added,
                    None => own.push(added),
                }
                self.compose(wire)
            }
        }
    }

    fn remove_layer(&mut self, layer: ProviderLayer, wire: &WireApis) {
        match layer {
            ProviderLayer::Provider => self.registered = None,
            ProviderLayer::ModelsFile => (self.file, self.gateway) = (None, None),
            ProviderLayer::Extension => self.extension = None,
        }
        self.recompose(wire);
    }

    /// Composes layers that were valid before. If they no longer are, only the base provider
    /// remains.
    fn recompose(&mut self, wire: &WireApis) {
        if let Err(error) = self.compose(wire) {
            tracing::warn!(provider = self.id, %error, "provider configuration is no longer valid");
            self.active = self.with_virtual_models(self.base());
        }
    }

    fn with_virtual_models(&self, base: Option<Arc<dyn Provider>>) -> Option<Arc<dyn Provider>> {
        if self.virtual_models.is_empty() {
            return base;
        }
        let models = self.virtual_models.clone();
        Some(Arc::new(VirtualProvider::new(&self.id, base, models)))
    }

    fn base(&self) -> Option<Arc<dyn Provider>> {
        let layers = [&self.registered, &self.gateway, &self.builtin];
        layers.into_iter().find_map(Clone::clone)
    }

    fn compose(&mut self, wire: &WireApis) -> Result<(), ConfigError> {
        let base = self.base();
        let composed: Option<Arc<dyn Provider>> = if self.file.is_none() && self.extension.is_none()
        {
            base
        } else {
            Some(Arc::new(LayeredProvider::new(
                &self.id,
                base,
                self.file.clone(),
                self.extension.clone(),
                wire.clone(),
            )?))
        };
        self.active = self.with_virtual_models(composed);
        Ok(())
    }
}

/// Returns the gateway that a configuration defines for its provider ID.
fn gateway(id: &str, config: &ProviderConfig, wire: &WireApis) -> Option<Arc<dyn Provider>> {
    let ConfiguredOAuth::Radius = config.oauth?;
    let name = config.name.as_deref().unwrap_or(id);
    let address = config.base_url.as_deref()?;
    let gateway = RadiusProvider::new(id, name, address, wire.clone());
    Some(Arc::new(gateway))
}

/// Returns a provider's models; empty if the provider fails.
fn models_of(provider: &dyn Provider) -> ModelList {
    provider.models().unwrap_or_else(|error| {
        tracing::warn!(provider = provider.id(), %error, "cannot list the provider's models");
        ModelList::default()
    })
}
