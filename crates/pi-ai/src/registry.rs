//! The collection of providers and models a program works with.
//!
//! Lookups are synchronous and return what is known; [`Models::refresh`] is the one asynchronous
//! verb. A provider id is a stack of layers: the built-in provider, one that a program registers in
//! its place, what `models.json` says, what an extension says. Each layer is registered and removed
//! by itself, and what is beneath shows again.

mod attribution;
mod builtin;
mod compose;
mod config;
mod dispatch;
mod faux;
mod layered;
mod llama;
mod overlay;
mod provider;
mod radius;
mod refresh;
mod remote_catalog;
mod request;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use attribution::Telemetry;
pub use compose::ConfigError;
pub use config::{ConfiguredOAuth, CostOverride, ModelConfig, ModelOverride, ProviderConfig};
pub use provider::{
    ExtensionProvider, HeaderTemplates, ModelList, Provider, ProviderDriver, RefreshContext,
};
pub use refresh::{NetworkAccess, RefreshOptions, RefreshReport};
pub use store::{InMemoryModelsStore, ModelsStore, ModelsStoreError, StoredModels};

use crate::credentials::{
    AuthStatus, Authenticator, Credential, CredentialStore, InMemoryCredentialStore,
};
use crate::env::Env;
use crate::model::Model;
use crate::providers::builtin_providers;
use crate::transport::HttpClient;
use builtin::BuiltinProvider;
use dispatch::WireApis;
use layered::LayeredProvider;
use llama::LlamaProvider;
pub use llama::router::{LlamaModel, LlamaProgress, LlamaRouter, LlamaState};
use radius::RadiusProvider;

/// What a collection works with; every field has a sensible default.
pub struct ModelsOptions {
    /// Where credentials live; in memory by default.
    pub credentials: Arc<dyn CredentialStore>,
    /// Where fetched catalogs live; in memory by default.
    pub store: Arc<dyn ModelsStore>,
    pub http: HttpClient,
    pub env: Env,
    /// Whether services learn which program asks, beyond the user agent; off by default.
    pub telemetry: Telemetry,
    /// Where newer catalogs are served.
    pub catalog_server: String,
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
        }
    }
}

/// Something to register under a provider's id.
#[non_exhaustive]
pub enum Registration {
    /// A provider of the program's own; it stands in for a built-in one of the same id.
    Provider(Arc<dyn Provider>),
    /// What `models.json` says of the provider.
    ModelsFile(ProviderConfig),
    /// What an extension says of the provider. It is laid over what was said before, and takes the
    /// place of a provider that was registered.
    Extension(ExtensionProvider),
}

/// The kinds of registrations, to remove one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderLayer {
    /// [`Registration::Provider`].
    Provider,
    /// [`Registration::ModelsFile`].
    ModelsFile,
    /// [`Registration::Extension`].
    Extension,
}

/// The providers and models a program works with; cheap to clone.
#[derive(Clone)]
pub struct Models(Arc<Shared>);

struct Shared {
    state: RwLock<State>,
    authenticator: Authenticator,
    store: Arc<dyn ModelsStore>,
    wire: WireApis,
    http: HttpClient,
    env: Env,
    telemetry: Telemetry,
    refreshes: refresh::Turns,
}

#[derive(Default)]
struct State {
    /// The built-in ones sorted by id, the user's own server, then the others as they came.
    slots: Vec<Slot>,
    /// What the last refresh found out about credentials, by provider.
    access: BTreeMap<String, Access>,
}

/// A provider id with its layers.
struct Slot {
    id: String,
    builtin: Option<Arc<dyn Provider>>,
    registered: Option<Arc<dyn Provider>>,
    /// The gateway that `models.json` makes of this id.
    gateway: Option<Arc<dyn Provider>>,
    file: Option<Arc<ProviderConfig>>,
    extension: Option<ExtensionProvider>,
    /// What the layers make together.
    active: Option<Arc<dyn Provider>>,
}

/// What is known of a provider's credential.
struct Access {
    status: AuthStatus,
    credential: Option<Credential>,
}

impl Models {
    /// Creates a collection of the built-in providers. Nothing is read before it is asked for.
    pub fn new(options: ModelsOptions) -> Self {
        let wire = WireApis::new(options.http.clone());
        let mut slots: Vec<Slot> = builtin_providers()
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
                Slot::builtin(builtin)
            })
            .collect();
        slots.sort_by(|left, right| left.id.cmp(&right.id));
        slots.push(Slot::builtin(Arc::new(LlamaProvider::new(wire.clone()))));
        Self(Arc::new(Shared {
            state: RwLock::new(State {
                slots,
                ..State::default()
            }),
            authenticator: Authenticator::new(options.credentials, options.http.clone()),
            store: options.store,
            wire,
            http: options.http,
            env: options.env,
            telemetry: options.telemetry,
            refreshes: refresh::Turns::default(),
        }))
    }

    /// Returns what providers reach their services with.
    fn connections(&self) -> (&HttpClient, &Env) {
        (&self.0.http, &self.0.env)
    }

    /// Returns all providers: the built-in ones by id, then the others as they came.
    pub fn providers(&self) -> Vec<Arc<dyn Provider>> {
        let state = self.state();
        let active = state.slots.iter().filter_map(|slot| slot.active.clone());
        active.collect()
    }

    /// Returns a provider, with all that is laid over it.
    pub fn provider(&self, id: &str) -> Option<Arc<dyn Provider>> {
        let state = self.state();
        state
            .slots
            .iter()
            .find(|slot| slot.id == id)?
            .active
            .clone()
    }

    /// Returns the models of a provider; none where there is no such provider.
    pub fn models(&self, provider: &str) -> ModelList {
        self.provider(provider)
            .map_or_else(ModelList::default, |provider| models_of(provider.as_ref()))
    }

    /// Returns the models of all providers.
    pub fn all(&self) -> Vec<Arc<Model>> {
        self.providers()
            .iter()
            .flat_map(|provider| models_of(provider.as_ref()).to_vec())
            .collect()
    }

    /// Returns a model.
    pub fn model(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        self.models(provider)
            .iter()
            .find(|model| model.id == id)
            .cloned()
    }

    /// Returns the models that can be used with the credentials the last refresh found.
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

    /// Returns where the credential of a provider comes from, as the last refresh found it.
    pub fn auth_status(&self, provider: &str) -> Option<AuthStatus> {
        let state = self.state();
        state
            .access
            .get(provider)
            .map(|access| access.status.clone())
    }

    /// Returns whether requests to a provider can authenticate: they need not, or the last refresh
    /// found a credential.
    pub fn is_authenticated(&self, provider: &str) -> bool {
        self.auth_status(provider).is_some()
            || self
                .provider(provider)
                .is_some_and(|provider| provider.auth().is_none())
    }

    /// Returns what resolves credentials, for signing in and out.
    pub fn authenticator(&self) -> &Authenticator {
        &self.0.authenticator
    }

    /// Registers a layer under a provider's id.
    ///
    /// On an error the layer is not there: an extension's earlier registration stays in force, an
    /// earlier entry of `models.json` does not, since the file no longer says so.
    pub fn register(&self, id: &str, registration: Registration) -> Result<(), ConfigError> {
        if id.trim().is_empty() {
            return Err(ConfigError::NoId);
        }
        let mut state = self.state_mut();
        let place = state.slots.iter().position(|slot| slot.id == id);
        let mut slot = match place {
            Some(place) => state.slots.remove(place),
            None => Slot::new(id),
        };
        let outcome = slot.lay(registration, &self.0.wire);
        if slot.active.is_some() {
            let place = place.unwrap_or(state.slots.len());
            state.slots.insert(place, slot);
        }
        outcome
    }

    /// Removes a layer; what is beneath shows again.
    pub fn unregister(&self, id: &str, layer: ProviderLayer) {
        let mut state = self.state_mut();
        let Some(place) = state.slots.iter().position(|slot| slot.id == id) else {
            return;
        };
        let mut slot = state.slots.remove(place);
        slot.lift(layer, &self.0.wire);
        if slot.active.is_some() {
            state.slots.insert(place, slot);
        } else {
            state.access.remove(id);
        }
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        let state = &self.0.state;
        state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        let state = &self.0.state;
        state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Models {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        let ids = state.slots.iter().map(|slot| &slot.id);
        formatter.debug_list().entries(ids).finish()
    }
}

impl Slot {
    fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            builtin: None,
            registered: None,
            gateway: None,
            file: None,
            extension: None,
            active: None,
        }
    }

    fn builtin(provider: Arc<dyn Provider>) -> Self {
        let mut slot = Self::new(provider.id());
        slot.active = Some(Arc::clone(&provider));
        slot.builtin = Some(provider);
        slot
    }

    fn lay(&mut self, registration: Registration, wire: &WireApis) -> Result<(), ConfigError> {
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
                    self.lift(ProviderLayer::ModelsFile, wire);
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
        }
    }

    fn lift(&mut self, layer: ProviderLayer, wire: &WireApis) {
        match layer {
            ProviderLayer::Provider => self.registered = None,
            ProviderLayer::ModelsFile => (self.file, self.gateway) = (None, None),
            ProviderLayer::Extension => self.extension = None,
        }
        self.recompose(wire);
    }

    /// Composes what was valid before; should it no longer be, the base alone remains.
    fn recompose(&mut self, wire: &WireApis) {
        if let Err(error) = self.compose(wire) {
            tracing::warn!(provider = self.id, %error, "configuration no longer applies");
            self.active = self.base();
        }
    }

    fn base(&self) -> Option<Arc<dyn Provider>> {
        let layers = [&self.registered, &self.gateway, &self.builtin];
        layers.into_iter().find_map(Clone::clone)
    }

    fn compose(&mut self, wire: &WireApis) -> Result<(), ConfigError> {
        let base = self.base();
        self.active = if self.file.is_none() && self.extension.is_none() {
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
        Ok(())
    }
}

/// Returns the gateway a configuration makes of its provider id.
fn gateway(id: &str, config: &ProviderConfig, wire: &WireApis) -> Option<Arc<dyn Provider>> {
    let ConfiguredOAuth::Radius = config.oauth?;
    let name = config.name.as_deref().unwrap_or(id);
    let address = config.base_url.as_deref()?;
    let gateway = RadiusProvider::new(id, name, address, wire.clone());
    Some(Arc::new(gateway))
}

/// Returns the models of a provider, none where it fails.
fn models_of(provider: &dyn Provider) -> ModelList {
    provider.models().unwrap_or_else(|error| {
        tracing::warn!(provider = provider.id(), %error, "a provider has no models");
        ModelList::default()
    })
}
