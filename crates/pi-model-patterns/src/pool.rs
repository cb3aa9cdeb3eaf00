//! The models that a pattern is matched against.

use std::sync::Arc;

use pi_protocol::Model;
use pi_providers::Models;

/// The models to search. Access is per provider, so naming a provider loads no other.
pub trait ModelPool {
    fn provider_ids(&self) -> Vec<String>;

    fn provider_models(&self, provider: &str) -> Vec<Arc<Model>>;

    fn is_authenticated(&self, provider: &str) -> bool;

    fn all_models(&self) -> Vec<Arc<Model>> {
        let ids = self.provider_ids();
        ids.iter().flat_map(|id| self.provider_models(id)).collect()
    }
}

impl ModelPool for Models {
    fn provider_ids(&self) -> Vec<String> {
        let providers = self.providers();
        providers
            .iter()
            .map(|provider| provider.id().to_owned())
            .collect()
    }

    fn provider_models(&self, provider: &str) -> Vec<Arc<Model>> {
        self.models(provider).to_vec()
    }

    fn is_authenticated(&self, provider: &str) -> bool {
        Self::is_authenticated(self, provider)
    }
}

/// A pool in which no provider has a credential.
pub(super) struct WithoutCredentials<'a, P>(pub(super) &'a P);

impl<P: ModelPool> ModelPool for WithoutCredentials<'_, P> {
    fn provider_ids(&self) -> Vec<String> {
        self.0.provider_ids()
    }

    fn provider_models(&self, provider: &str) -> Vec<Arc<Model>> {
        self.0.provider_models(provider)
    }

    fn is_authenticated(&self, _provider: &str) -> bool {
        false
    }
}

/// A list of models that can all be used.
pub(super) struct ModelSlice<'a>(pub(super) &'a [Arc<Model>]);

impl ModelPool for ModelSlice<'_> {
    fn provider_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for model in self.0 {
            if !ids.contains(&model.provider) {
                ids.push(model.provider.clone());
            }
        }
        ids
    }

    fn provider_models(&self, provider: &str) -> Vec<Arc<Model>> {
        let models = self.0.iter();
        models
            .filter(|model| model.provider == provider)
            .cloned()
            .collect()
    }

    fn is_authenticated(&self, _provider: &str) -> bool {
        true
    }

    fn all_models(&self) -> Vec<Arc<Model>> {
        self.0.to_vec()
    }
}
