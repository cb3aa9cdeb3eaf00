//! A Radius gateway: the public one, or one configured in `models.json`. Its model list comes from
//! `/v1/config` and replaces the built-in one, since the owner of an account can disable models.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use pi_auth::{Credential, KeySource, ProviderAuth, RadiusOAuth};
use pi_env::Env;
use pi_protocol::{Model, ProviderError, api};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::Value;

use super::dispatch::WireApis;
use super::overlay::ModelOverlay;
use super::provider::{ModelList, Provider, RefreshContext};
use super::remote_catalog::{get, store_failed};
use super::store::StoredModels;
use crate::options::ModelRequest;
use pi_stream::AssistantStream;

/// ID of the public gateway.
pub(super) const PROVIDER: &str = "radius";

pub(super) struct RadiusProvider {
    id: String,
    name: String,
    oauth: RadiusOAuth,
    overlay: ModelOverlay,
    wire: WireApis,
}

impl RadiusProvider {
    /// Creates the provider for a gateway, given as a URL or host, with or without `/v1`.
    pub(super) fn new(id: &str, name: &str, gateway: &str, wire: WireApis) -> Self {
        let oauth = RadiusOAuth::new(name, gateway);
        let overlay = if oauth.gateway() == RadiusOAuth::PUBLIC_GATEWAY && id == PROVIDER {
            ModelOverlay::over_builtin(PROVIDER)
        } else {
            ModelOverlay::empty()
        };
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            oauth,
            overlay,
            wire,
        }
    }

    /// Creates the built-in provider: the gateway from the environment, or the public one.
    pub(super) fn builtin(wire: WireApis, env: &Env) -> Self {
        let oauth = RadiusOAuth::from_env(env);
        Self::new(PROVIDER, "Radius", oauth.gateway(), wire)
    }

    async fn update(&self, context: &RefreshContext) -> Result<(), ProviderError> {
        let stored = context.store.read(&self.id).await.map_err(store_failed)?;
        match stored {
            Some(stored) => {
                let ours = |model: &Model| model.provider == self.id;
                self.overlay
                    .replace(stored.models.into_iter().filter(ours).collect());
            }
            // Earlier versions stored the gateway's response with the tokens.
            None => {
                let stored_config = context.credential.as_ref().and_then(Credential::as_oauth);
                let stored_config =
                    stored_config.and_then(|credential| credential.extra.get("gatewayConfig"));
                if let Some(config) = stored_config
                    .and_then(|stored_config| GatewayConfig::deserialize(stored_config).ok())
                {
                    self.store_models(config, context).await?;
                }
            }
        }
        let Some(http) = &context.network else {
            return Ok(());
        };
        let gateway = self.oauth.gateway();
        let url = format!("{gateway}/v1/config");
        let bearer = context.api_key.as_ref().map(ExposeSecret::expose_secret);
        let response = get(http, &url, None, bearer, context).await?;
        if !(200..300).contains(&response.status) {
            let error = ProviderError::network(format!(
                "cannot list models: {gateway}: HTTP {}",
                response.status
            ));
            return Err(error.with_status(response.status));
        }
        let config = serde_json::from_slice(&response.body).map_err(|error| {
            ProviderError::protocol(format!("invalid gateway configuration: {url}: {error}"))
        })?;
        self.store_models(config, context).await
    }

    async fn store_models(
        &self,
        config: GatewayConfig,
        context: &RefreshContext,
    ) -> Result<(), ProviderError> {
        let models: Vec<Model> = config
            .models
            .into_iter()
            .filter_map(|record| gateway_model(&self.id, &config.base_url, record))
            .collect();
        self.overlay.replace(models.clone());
        let entry = StoredModels {
            models,
            checked_at: Some(context.env.now_ms()),
            ..StoredModels::default()
        };
        context
            .store
            .write(&self.id, entry)
            .await
            .map_err(store_failed)
    }
}

impl Provider for RadiusProvider {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn auth(&self) -> Option<ProviderAuth> {
        let key = KeySource::Variables(&["RADIUS_API_KEY"]);
        let mut auth = ProviderAuth::from_key_source(&self.id, "Radius API key", key);
        auth.oauth = Some(Arc::new(self.oauth.clone()));
        Some(auth)
    }

    fn models(&self) -> Result<ModelList, ProviderError> {
        Ok(self.overlay.models())
    }

    fn refresh<'a>(
        &'a self,
        context: &'a RefreshContext,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        self.update(context).boxed()
    }

    fn stream(&self, request: ModelRequest) -> AssistantStream {
        self.wire.stream(request)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GatewayConfig {
    base_url: String,
    models: Vec<Value>,
}

/// Converts a gateway's record to a model; `None` if it is invalid.
fn gateway_model(provider: &str, base_url: &str, record: Value) -> Option<Model> {
    let Value::Object(mut fields) = record else {
        return None;
    };
    fields.extend([
        ("api".to_owned(), api::PI_MESSAGES.into()),
        ("provider".to_owned(), provider.into()),
        ("baseUrl".to_owned(), base_url.into()),
    ]);
    pi_protocol::json::from_value(&Value::Object(fields)).ok()
}
