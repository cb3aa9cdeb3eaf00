//! The models of an OpenRouter key: `GET /models/user` lists those that the key may use, with its
//! limits and prices. The list is stored and used until the next refresh, also offline.

use std::collections::HashMap;
use std::time::Duration;

use pi_http::HttpClient;
use pi_protocol::{CostTier, Model, ModelCost, ProviderError, TokenRates};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;

use super::overlay::ModelOverlay;
use super::provider::RefreshContext;
use super::remote_catalog::{self, get_within, store_failed};
use super::store::StoredModels;

pub(super) const PROVIDER: &str = "openrouter";

const BASE_URL: &str = "https://openrouter.ai/api/v1";
const TIMEOUT: Duration = Duration::from_secs(15);

/// Restores the stored list and, if the context allows it, fetches a new one.
pub(super) async fn refresh(
    server: &str,
    overlay: &ModelOverlay,
    context: &RefreshContext,
) -> Result<(), ProviderError> {
    let stored = context.store.read(PROVIDER).await.map_err(store_failed)?;
    let mut restored = stored.unwrap_or_default().models;
    restored.retain(|model| model.provider == PROVIDER);
    overlay.replace(restored);
    let (Some(http), Some(key)) = (&context.network, &context.api_key) else {
        return Ok(());
    };
    let newer = remote_catalog::fetch_newer(PROVIDER, server, http, context).await?;
    let catalog = overlay.merge(newer.models);
    let mut models: Vec<Model> = catalog.iter().map(|model| Model::clone(model)).collect();
    if let Some(entries) = fetch_entries(http, key, context).await? {
        models.retain_mut(|model| match entries.get(&model.id) {
            Some(entry) => {
                entry.apply(model);
                true
            }
            None => false,
        });
    }
    overlay.replace(models.clone());
    let entry = StoredModels {
        models,
        other_models: newer.other_models,
        checked_at: Some(context.env.now_ms()),
        ..StoredModels::default()
    };
    let written = context.store.write(PROVIDER, entry).await;
    written.map_err(store_failed)
}

/// Returns the models that the key may use; `None` if the server rejects the key or has no such
/// list, as proxies may not.
async fn fetch_entries(
    http: &HttpClient,
    key: &SecretString,
    context: &RefreshContext,
) -> Result<Option<HashMap<String, UserModel>>, ProviderError> {
    let base_url = context.base_url.as_deref().unwrap_or(BASE_URL);
    let url = format!("{}/models/user", base_url.trim_end_matches('/'));
    let response = get_within(TIMEOUT, http, &url, key.expose_secret(), context).await?;
    match response.status {
        401 | 403 | 404 => return Ok(None),
        200..=299 => {}
        status => {
            let error = ProviderError::network(format!("cannot list models: {url}: HTTP {status}"));
            return Err(error.with_status(status));
        }
    }
    let list: UserModels = serde_json::from_slice(&response.body).map_err(|error| {
        ProviderError::protocol(format!("invalid list of models: {url}: {error}"))
    })?;
    let entries = list.data.into_iter().filter_map(|entry| {
        let entry = UserModel::deserialize(entry).ok()?;
        Some((entry.id.clone(), entry))
    });
    Ok(Some(entries.collect()))
}

#[derive(Deserialize)]
struct UserModels {
    data: Vec<Value>,
}

#[derive(Deserialize)]
struct UserModel {
    id: String,
    context_length: Option<u64>,
    top_provider: Option<TopProvider>,
    pricing: Option<Pricing>,
}

#[derive(Deserialize)]
struct TopProvider {
    context_length: Option<u64>,
    max_completion_tokens: Option<u64>,
}

/// Prices in US dollars per token, as text or numbers.
#[derive(Deserialize)]
struct Prices {
    prompt: Option<Value>,
    completion: Option<Value>,
    input_cache_read: Option<Value>,
    input_cache_write: Option<Value>,
}

#[derive(Deserialize)]
struct Pricing {
    #[serde(flatten)]
    prices: Prices,
    #[serde(default)]
    overrides: Vec<PriceOverride>,
}

/// Other prices for long prompts, or at times of the day.
#[derive(Deserialize)]
struct PriceOverride {
    #[serde(flatten)]
    prices: Prices,
    min_prompt_tokens: Option<u64>,
    utc_start: Option<Value>,
    utc_end: Option<Value>,
    utc_days: Option<Value>,
}

impl UserModel {
    /// Limits of 0 are unknown and leave the catalog's value.
    fn apply(&self, model: &mut Model) {
        let known = |limit: Option<u64>| limit.filter(|tokens| *tokens > 0);
        let top = self.top_provider.as_ref();
        let window = known(top.and_then(|top| top.context_length)).or(known(self.context_length));
        model.context_window = window.unwrap_or(model.context_window);
        let output = known(top.and_then(|top| top.max_completion_tokens));
        model.max_tokens = output.unwrap_or(model.max_tokens);
        if let Some(pricing) = &self.pricing {
            model.cost = pricing.to_cost();
        }
    }
}

impl Pricing {
    /// Prices that depend on the time of the day have no equivalent and are skipped.
    fn to_cost(&self) -> ModelCost {
        let rates = self.prices.to_rates(TokenRates::default());
        let by_length = self.overrides.iter().filter_map(|changed| {
            let is_timed = [&changed.utc_start, &changed.utc_end, &changed.utc_days]
                .into_iter()
                .any(Option::is_some);
            let input_tokens_above = changed.min_prompt_tokens.filter(|_| !is_timed)?;
            Some(CostTier {
                input_tokens_above,
                rates: changed.prices.to_rates(rates),
            })
        });
        ModelCost {
            rates,
            tiers: by_length.collect(),
        }
    }
}

impl Prices {
    fn to_rates(&self, fallback: TokenRates) -> TokenRates {
        TokenRates {
            input: per_million(self.prompt.as_ref(), fallback.input),
            output: per_million(self.completion.as_ref(), fallback.output),
            cache_read: per_million(self.input_cache_read.as_ref(), fallback.cache_read),
            cache_write: per_million(self.input_cache_write.as_ref(), fallback.cache_write),
        }
    }
}

/// Converts a price per token, rounded to six digits. The price of a router is -1, since it depends
/// on the model that the router picks.
fn per_million(price: Option<&Value>, fallback: f64) -> f64 {
    let price = match price {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(price) => price.as_f64(),
        None => None,
    };
    match price {
        Some(price) if price >= 0.0 => (price * 1e12).round() / 1e6,
        Some(_) | None => fallback,
    }
}
