//! A built-in provider: a row of the provider table with its catalog and the wire protocols.

use futures_util::future::{BoxFuture, FutureExt};
use pi_auth::{Credential, ProviderAuth};
use pi_env::Env;
use pi_protocol::ProviderError;
use serde_json::Value;

use super::dispatch::WireApis;
use super::overlay::ModelOverlay;
use super::provider::{ModelList, Provider, RefreshContext};
use super::{openrouter, remote_catalog};
use crate::options::ModelRequest;
use crate::providers::ProviderInfo;
use pi_stream::AssistantStream;

pub(super) struct BuiltinProvider {
    info: &'static ProviderInfo,
    overlay: ModelOverlay,
    wire: WireApis,
    env: Env,
    catalog_server: String,
}

impl BuiltinProvider {
    pub(super) fn new(
        info: &'static ProviderInfo,
        wire: WireApis,
        env: Env,
        catalog_server: String,
    ) -> Self {
        Self {
            info,
            overlay: ModelOverlay::over_builtin(info.id),
            wire,
            env,
            catalog_server,
        }
    }
}

impl Provider for BuiltinProvider {
    fn id(&self) -> &str {
        self.info.id
    }

    fn name(&self) -> &str {
        self.info.name
    }

    fn auth(&self) -> Option<ProviderAuth> {
        Some(self.info.auth(&self.env))
    }

    fn models(&self) -> Result<ModelList, ProviderError> {
        Ok(self.overlay.models())
    }

    fn accessible_models(&self, models: ModelList, credential: Option<&Credential>) -> ModelList {
        match accessible_ids(credential) {
            Some(ids) => models
                .iter()
                .filter(|model| ids.contains(&model.id.as_str()))
                .cloned()
                .collect(),
            None => models,
        }
    }

    fn refresh<'a>(
        &'a self,
        context: &'a RefreshContext,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        let server = &self.catalog_server;
        match self.info.id {
            openrouter::PROVIDER => openrouter::refresh(server, &self.overlay, context).boxed(),
            id => remote_catalog::refresh(id, server, &self.overlay, context).boxed(),
        }
    }

    fn stream(&self, request: ModelRequest) -> AssistantStream {
        self.wire.stream(request)
    }
}

/// Returns the model IDs that an OAuth credential gives access to, if it lists them, as GitHub
/// Copilot's does.
fn accessible_ids(credential: Option<&Credential>) -> Option<Vec<&str>> {
    let listed = credential?.as_oauth()?.extra.get("availableModelIds")?;
    listed.as_array()?.iter().map(Value::as_str).collect()
}
