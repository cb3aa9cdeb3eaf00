//! Applies configuration to a provider's models. Pure functions from models to models.
//!
//! Three layers apply to the provider's own list, in this order: `models.json` (base URL and compat
//! for all models, then models added or replaced by ID), the extension (if it defines models, they
//! replace the list), and finally the per-model overrides from `models.json`.

use std::sync::Arc;

use pi_auth::ConfiguredAuth;
use pi_protocol::json::JsonObject;
use pi_protocol::{
    ImageLimits, ImageResize, InputLimits, Modality, Model, ModelCost, PromptCacheLifetimes, api,
};
use serde_json::Value;

use super::config::{ConfiguredOAuth, CostOverride, ModelConfig, ModelOverride, ProviderConfig};
use super::provider::HeaderTemplates;

const DEFAULT_CONTEXT_WINDOW: u64 = 128_000;
const DEFAULT_MAX_TOKENS: u64 = 16_384;

/// Compat values that are objects and are merged key by key.
const NESTED_COMPAT: [&str; 4] = [
    "openRouterRouting",
    "vercelGatewayRouting",
    "chatTemplateKwargs",
    "chatTemplateArgs",
];

/// An invalid provider configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("the provider ID must not be empty")]
    NoId,
    #[error("the ID of a virtual model must not be empty")]
    NoVirtualId,
    #[error("{provider}/{model} is not a virtual model: choose another ID")]
    NotVirtual { provider: String, model: String },
    #[error(
        "providers.{provider} has no effect: set baseUrl, apiKey, headers, compat, \
         models or modelOverrides"
    )]
    Empty { provider: String },
    #[error("providers.{provider}.oauth requires providers.{provider}.baseUrl")]
    OAuthWithoutBaseUrl { provider: String },
    #[error("providers.{provider}.models has an entry without an id")]
    NoModelId { provider: String },
    #[error(
        "providers.{provider}.models: \"{model}\" has no api; set it on the model or the provider to \
         one of {}",
        api::ALL.join(", ")
    )]
    NoApi { provider: String, model: String },
    #[error(
        "providers.{provider}.models: \"{model}\" has no baseUrl; set it on the model or the provider"
    )]
    NoBaseUrl { provider: String, model: String },
    #[error("providers.{provider}.models: {field} of \"{model}\" must be a positive number")]
    BadLimit {
        provider: String,
        model: String,
        field: &'static str,
    },
}

/// Applies the layers to a provider's own models.
pub(super) fn compose(
    provider: &str,
    own: &[Arc<Model>],
    file: Option<&ProviderConfig>,
    extension: Option<&ProviderConfig>,
) -> Result<Vec<Arc<Model>>, ConfigError> {
    let mut models = match file {
        Some(config) => apply_file(provider, own, config)?,
        None => own.to_vec(),
    };
    if let Some(config) = extension {
        models = apply_extension(provider, models, config)?;
    }
    if let Some(config) = file {
        for model in &mut models {
            if let Some(changes) = config.model_overrides.get(&model.id) {
                changes.apply(Arc::make_mut(model));
            }
        }
    }
    Ok(models)
}

fn apply_file(
    provider: &str,
    own: &[Arc<Model>],
    config: &ProviderConfig,
) -> Result<Vec<Arc<Model>>, ConfigError> {
    if config.oauth.is_some() && config.base_url.is_none() {
        return Err(ConfigError::OAuthWithoutBaseUrl {
            provider: provider.to_owned(),
        });
    }
    if !config.has_effect() {
        return Err(ConfigError::Empty {
            provider: provider.to_owned(),
        });
    }
    let mut models = own.to_vec();
    // A gateway's models already have the base URL that the gateway reported.
    let base_url = match config.oauth {
        Some(ConfiguredOAuth::Radius) => None,
        None => config.base_url.as_ref(),
    };
    if base_url.is_some() || config.compat.is_some() {
        for model in &mut models {
            let model = Arc::make_mut(model);
            if let Some(base_url) = base_url {
                model.base_url.clone_from(base_url);
            }
            merge_compat(&mut model.compat, config.compat.as_ref());
        }
    }
    for definition in config.models.iter().flatten() {
        let model = Arc::new(definition.to_model(provider, config, &models)?);
        match models.iter_mut().find(|known| known.id == model.id) {
            Some(known) => *known = model,
            None => models.push(model),
        }
    }
    Ok(models)
}

fn apply_extension(
    provider: &str,
    mut models: Vec<Arc<Model>>,
    config: &ProviderConfig,
) -> Result<Vec<Arc<Model>>, ConfigError> {
    let Some(definitions) = &config.models else {
        if let Some(base_url) = &config.base_url {
            for model in &mut models {
                Arc::make_mut(model).base_url.clone_from(base_url);
            }
        }
        return Ok(models);
    };
    definitions
        .iter()
        .map(|definition| definition.to_model(provider, config, &models).map(Arc::new))
        .collect()
}

impl ModelConfig {
    /// Builds the model, taking unset fields from its provider and from similar models.
    fn to_model(
        &self,
        provider: &str,
        config: &ProviderConfig,
        siblings: &[Arc<Model>],
    ) -> Result<Model, ConfigError> {
        self.check(provider)?;
        let requested_api = self.api.as_ref().or(config.api.as_ref());
        let similar = find_similar_model(siblings, &self.id, requested_api);
        let api = requested_api
            .or(similar.map(|model| &model.api))
            .ok_or_else(|| ConfigError::NoApi {
                provider: provider.to_owned(),
                model: self.id.clone(),
            })?;
        let base_url = self
            .base_url
            .as_ref()
            .or(config.base_url.as_ref())
            .or(similar.map(|model| &model.base_url))
            .ok_or_else(|| ConfigError::NoBaseUrl {
                provider: provider.to_owned(),
                model: self.id.clone(),
            })?;
        let mut compat = config.compat.clone();
        merge_compat(&mut compat, self.compat.as_ref());
        Ok(Model {
            id: self.id.clone(),
            name: self.name.clone().unwrap_or_else(|| self.id.clone()),
            api: api.clone(),
            provider: provider.to_owned(),
            base_url: base_url.clone(),
            reasoning: self.reasoning.unwrap_or(false),
            thinking_level_map: self.thinking_level_map.clone(),
            input: self.input.clone().unwrap_or_else(|| vec![Modality::Text]),
            input_limits: self.input_limits.clone(),
            cost: self.cost.clone().unwrap_or_default(),
            prompt_cache: self.prompt_cache,
            context_window: self.context_window.unwrap_or(DEFAULT_CONTEXT_WINDOW),
            max_tokens: self.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
            sampling_params: self.sampling_params.clone(),
            sampling_params_by_thinking_level: self.sampling_params_by_thinking_level.clone(),
            // Configured headers are templates; each request resolves them.
            headers: None,
            compat,
            kind: None,
            extra: JsonObject::new(),
        })
    }

    fn check(&self, provider: &str) -> Result<(), ConfigError> {
        if self.id.trim().is_empty() {
            return Err(ConfigError::NoModelId {
                provider: provider.to_owned(),
            });
        }
        let limits = [
            ("contextWindow", self.context_window),
            ("maxTokens", self.max_tokens),
        ];
        match limits.into_iter().find(|(_, limit)| *limit == Some(0)) {
            Some((field, _)) => Err(ConfigError::BadLimit {
                provider: provider.to_owned(),
                model: self.id.clone(),
                field,
            }),
            None => Ok(()),
        }
    }
}

/// Finds the model whose API and base URL a new one most likely shares.
fn find_similar_model<'models>(
    models: &'models [Arc<Model>],
    id: &str,
    requested_api: Option<&String>,
) -> Option<&'models Model> {
    let by_id = models.iter().find(|model| model.id == id);
    let by_api = || {
        models
            .iter()
            .find(|model| Some(&model.api) == requested_api)
    };
    let default_api = || {
        models
            .iter()
            .find(|model| model.api == api::OPENAI_COMPLETIONS)
    };
    by_id
        .or_else(by_api)
        .or_else(default_api)
        .or_else(|| models.first())
        .map(Arc::as_ref)
}

impl ModelOverride {
    fn apply(&self, model: &mut Model) {
        set(&mut model.name, self.name.as_ref());
        set(&mut model.reasoning, self.reasoning.as_ref());
        set(&mut model.input, self.input.as_ref());
        set(&mut model.context_window, self.context_window.as_ref());
        set(&mut model.max_tokens, self.max_tokens.as_ref());
        if let Some(names) = &self.thinking_level_map {
            let map = model.thinking_level_map.get_or_insert_default();
            map.extend(names.iter().map(|(level, name)| (*level, name.clone())));
        }
        if let Some(limits) = &self.input_limits {
            merge_limits(model.input_limits.get_or_insert_default(), limits);
        }
        if let Some(cost) = &self.cost {
            cost.apply(&mut model.cost);
        }
        if let Some(lifetimes) = &self.prompt_cache {
            let cache = model.prompt_cache.get_or_insert_default();
            *cache = PromptCacheLifetimes {
                short: lifetimes.short.or(cache.short),
                long: lifetimes.long.or(cache.long),
            };
        }
        if let Some(parameters) = &self.sampling_params {
            let all = model.sampling_params.get_or_insert_default();
            all.extend(parameters.clone());
        }
        for (level, parameters) in self.sampling_params_by_thinking_level.iter().flatten() {
            let levels = model
                .sampling_params_by_thinking_level
                .get_or_insert_default();
            levels.entry(*level).or_default().extend(parameters.clone());
        }
        merge_compat(&mut model.compat, self.compat.as_ref());
    }
}

impl CostOverride {
    fn apply(&self, cost: &mut ModelCost) {
        set(&mut cost.rates.input, self.input.as_ref());
        set(&mut cost.rates.output, self.output.as_ref());
        set(&mut cost.rates.cache_read, self.cache_read.as_ref());
        set(&mut cost.rates.cache_write, self.cache_write.as_ref());
        set(&mut cost.tiers, self.tiers.as_ref());
    }
}

fn set<T: Clone>(index: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        index.clone_from(value);
    }
}

fn merge_limits(limits: &mut InputLimits, over: &InputLimits) {
    limits.max_request_bytes = over.max_request_bytes.or(limits.max_request_bytes);
    limits.extra.extend(over.extra.clone());
    if let Some(over) = &over.images {
        let images = limits.images.get_or_insert_default();
        *images = ImageLimits {
            resize: merge_resize(images.resize.take(), over.resize.as_ref()),
            max_per_message: over.max_per_message.or(images.max_per_message),
            max_per_request: over.max_per_request.or(images.max_per_request),
        };
    }
}

fn merge_resize(resize: Option<ImageResize>, over: Option<&ImageResize>) -> Option<ImageResize> {
    let Some(over) = over else { return resize };
    let resize = resize.unwrap_or_default();
    Some(ImageResize {
        max_width: over.max_width.or(resize.max_width),
        max_height: over.max_height.or(resize.max_height),
        max_bytes: over.max_bytes.or(resize.max_bytes),
        jpeg_quality: over.jpeg_quality.or(resize.jpeg_quality),
    })
}

fn merge_compat(compat: &mut Option<JsonObject>, over: Option<&JsonObject>) {
    let Some(over) = over else { return };
    let compat = compat.get_or_insert_default();
    for (name, value) in over {
        match (compat.get_mut(name), value) {
            (Some(Value::Object(known)), Value::Object(entries))
                if NESTED_COMPAT.contains(&name.as_str()) =>
            {
                known.extend(entries.clone());
            }
            _ => {
                compat.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Returns the authentication settings of the layers; the extension takes precedence.
pub(super) fn configured_auth(
    file: Option<&ProviderConfig>,
    extension: Option<&ProviderConfig>,
) -> ConfiguredAuth {
    let layers = [extension, file];
    let mut headers = HeaderTemplates::new();
    for layer in layers.into_iter().rev().flatten() {
        headers.extend(layer.headers.clone().unwrap_or_default());
    }
    let first =
        |pick: fn(&ProviderConfig) -> Option<bool>| layers.into_iter().flatten().find_map(pick);
    ConfiguredAuth {
        api_key: layers
            .into_iter()
            .flatten()
            .find_map(|layer| layer.api_key.clone()),
        headers,
        auth_header: first(|layer| layer.auth_header).unwrap_or(false),
    }
}

/// Returns the header templates for a model; the extension takes precedence.
pub(super) fn configured_headers(
    model: &str,
    file: Option<&ProviderConfig>,
    extension: Option<&ProviderConfig>,
) -> HeaderTemplates {
    let mut headers = HeaderTemplates::new();
    let layers = [
        file.and_then(|config| config.model_overrides.get(model)?.headers.as_ref()),
        file.and_then(|config| config.model(model)?.headers.as_ref()),
        extension.and_then(|config| config.model(model)?.headers.as_ref()),
    ];
    for layer in layers.into_iter().flatten() {
        headers.extend(layer.clone());
    }
    headers
}
