//! Virtual models of extensions, and the router that calls them.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use pi_protocol::{Model, ModelRoute, RouteRequest, ThinkingLevel, api};
use pi_providers::{ConfigError, ModelRouter, Models, Registration, VirtualModel};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::ExtensionsInner;
use crate::registration::VirtualModelData;
use crate::tool::error_message;

/// Calls the `route` function of an extension.
struct ExtensionRouter {
    /// Weak, since models outlive sessions.
    shared: Weak<ExtensionsInner>,
    extension: String,
    provider: String,
    id: String,
}

impl ModelRouter for ExtensionRouter {
    fn route(
        &self,
        request: RouteRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ModelRoute, String>> {
        Box::pin(async move {
            let shared = self.shared.upgrade();
            let shared = shared.ok_or("the extension of this virtual model was unloaded")?;
            let signal = shared.bridge.new_signal();
            let name = (self.provider.as_str(), self.id.as_str());
            let engine = &shared.engine;
            let routing = engine.route(&self.extension, name, json!(request), signal);
            let routed = shared.until_cancelled(routing, signal, &cancel).await;
            let routed = routed.map_err(error_message)?;
            pi_protocol::json::from_value(&routed).map_err(|error| {
                format!(
                    "{}/{} returned an invalid route: {error}",
                    self.provider, self.id
                )
            })
        })
    }
}

/// Adds a virtual model of an extension to the models.
pub(crate) fn register(
    shared: &Arc<ExtensionsInner>,
    models: &Models,
    extension: String,
    data: VirtualModelData,
) -> Result<(), ConfigError> {
    let router = ExtensionRouter {
        shared: Arc::downgrade(shared),
        extension,
        provider: data.provider.clone(),
        id: data.id.clone(),
    };
    let provider = data.provider.clone();
    let virtual_model = VirtualModel {
        model: Arc::new(catalog_entry(data)),
        router: Arc::new(router),
    };
    models.register(&provider, Registration::Virtual(virtual_model))
}

fn catalog_entry(data: VirtualModelData) -> Model {
    let levels = ThinkingLevel::ALL.into_iter().map(|level| {
        let is_offered = data.thinking_levels.contains(&level);
        (level, is_offered.then(|| level.as_str().to_owned()))
    });
    let is_thinking = |level: &ThinkingLevel| *level != ThinkingLevel::Off;
    Model {
        thinking_level_map: Some(levels.collect()),
        reasoning: data.thinking_levels.iter().any(is_thinking),
        id: data.id,
        name: data.name,
        api: api::PI_VIRTUAL.to_owned(),
        provider: data.provider,
        input: data.input,
        context_window: data.context_window,
        max_tokens: data.max_tokens,
        ..Model::unknown()
    }
}
