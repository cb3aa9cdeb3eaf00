//! What front ends ask of a collection of models.

use std::sync::Arc;

use pi_model_patterns::resolve_scope;
use pi_protocol::Model;
use pi_providers::{Models, NetworkAccess, RefreshOptions};

/// Fetches the models of one provider, or of all. Returns the providers that failed, which keep their models.
pub async fn fetch_models(models: &Models, provider: Option<&str>) -> Vec<String> {
    let report = models.refresh(from_network(provider)).await;
    for (provider, error) in &report.errors {
        tracing::warn!(provider, %error, "cannot list models");
    }
    report.errors.into_keys().collect()
}

/// Returns whether a pattern of the settings matches one of the models.
pub fn matches_a_model(pattern: &str, available: &[Arc<Model>]) -> bool {
    !resolve_scope([pattern], available).models.is_empty()
}

pub(crate) fn from_network(provider: Option<&str>) -> RefreshOptions {
    RefreshOptions {
        providers: provider.map(|provider| vec![provider.to_owned()]),
        network: NetworkAccess::Allowed,
        ..RefreshOptions::default()
    }
}
