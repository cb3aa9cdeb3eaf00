//! Updates the catalog from a models.dev document: an object of providers, each with its models.
//!
//! The document provides name, reasoning, inputs, prices, context window and output limit of models that can call
//! tools and are not deprecated. The rest comes from the existing catalog:
//!
//! * a known ID keeps its API, base URL, compat, thinking levels, input limits, cache lifetimes
//!   and headers;
//! * a new ID takes the API of its SDK package if its provider already uses that API, else the most common API of
//!   the provider, with the base URL and the compat flags, headers and input limits that all models of that provider
//!   and API share;
//! * providers missing from the document are unchanged, IDs missing from it are dropped.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use pi_protocol::api;
use pi_protocol::json::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Catalog;
use super::record::ModelRecord;

/// Our provider IDs that differ from the document's.
const RENAMED: [(&str, &str); 6] = [
    ("fireworks", "fireworks-ai"),
    ("kimi-coding", "kimi-for-coding"),
    ("together", "togetherai"),
    ("vercel-ai-gateway", "vercel"),
    ("zai", "zai-coding-plan"),
    ("zai-coding-cn", "zhipuai-coding-plan"),
];

/// The API of each SDK package in the document.
const PACKAGES: [(&str, &str); 9] = [
    ("@ai-sdk/amazon-bedrock", api::BEDROCK_CONVERSE_STREAM),
    ("@ai-sdk/anthropic", api::ANTHROPIC_MESSAGES),
    ("@ai-sdk/azure", api::AZURE_OPENAI_RESPONSES),
    ("@ai-sdk/google", api::GOOGLE_GENERATIVE_AI),
    ("@ai-sdk/google-vertex", api::GOOGLE_VERTEX),
    ("@ai-sdk/mistral", api::MISTRAL_CONVERSATIONS),
    ("@ai-sdk/openai", api::OPENAI_RESPONSES),
    ("@ai-sdk/openai-compatible", api::OPENAI_COMPLETIONS),
    ("@openrouter/ai-sdk-provider", api::OPENAI_COMPLETIONS),
];

/// Context window or output limit if the document has none.
const UNKNOWN_LIMIT: u64 = 4096;

/// Threshold of the long-prompt price where the document only has `context_over_200k`.
const LONG_PROMPT: u64 = 200_000;

#[derive(Deserialize)]
struct DevProvider {
    npm: Option<String>,
    models: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct DevModel {
    name: Option<String>,
    #[serde(default)]
    tool_call: bool,
    #[serde(default)]
    reasoning: bool,
    status: Option<String>,
    #[serde(default)]
    modalities: Modalities,
    #[serde(default)]
    cost: DevCost,
    #[serde(default)]
    limit: Limit,
    provider: Option<ModelProvider>,
}

#[derive(Deserialize, Default)]
struct Modalities {
    #[serde(default)]
    input: Vec<String>,
}

#[derive(Deserialize, Default)]
struct DevCost {
    #[serde(flatten)]
    rates: Rates,
    #[serde(default)]
    tiers: Vec<Tier>,
    context_over_200k: Option<Rates>,
}

#[derive(Deserialize, Default)]
struct Rates {
    #[serde(default)]
    input: f64,
    #[serde(default)]
    output: f64,
    #[serde(default)]
    cache_read: f64,
    #[serde(default)]
    cache_write: f64,
}

#[derive(Deserialize)]
struct Tier {
    tier: TierRange,
    #[serde(flatten)]
    rates: Rates,
}

#[derive(Deserialize)]
struct TierRange {
    #[serde(rename = "type")]
    kind: String,
    size: u64,
}

#[derive(Deserialize, Default)]
struct Limit {
    context: Option<u64>,
    output: Option<u64>,
}

#[derive(Deserialize)]
struct ModelProvider {
    npm: Option<String>,
}

/// Returns the catalog updated with the fields of the document.
pub(super) fn update(mut catalog: Catalog, document: &Value) -> Result<Catalog> {
    let providers = document
        .as_object()
        .context("the document is not an object of providers")?;
    for (ours, records) in &mut catalog {
        let theirs = RENAMED
            .iter()
            .find(|(id, _)| id == ours)
            .map_or(ours.as_str(), |(_, id)| id);
        let Some(provider) = providers.get(theirs) else {
            continue;
        };
        let provider = DevProvider::deserialize(provider)
            .with_context(|| format!("`{theirs}` is not a provider"))?;
        *records = update_provider(records, &provider).with_context(|| format!("`{theirs}`"))?;
    }
    Ok(catalog)
}

fn update_provider(current: &[ModelRecord], provider: &DevProvider) -> Result<Vec<ModelRecord>> {
    let mut updated = Vec::new();
    for (id, model) in &provider.models {
        let model =
            DevModel::deserialize(model).with_context(|| format!("`{id}` is not a model"))?;
        if !model.tool_call || model.status.as_deref() == Some("deprecated") {
            continue;
        }
        let known = current.iter().find(|record| record.text("id") == id);
        let base = match known {
            Some(record) => record.fields().clone(),
            None => shared_fields(current, api_of(current, provider, &model), &model),
        };
        updated.push(ModelRecord::new(Value::Object(merge_fields(
            base, id, &model,
        )))?);
    }
    updated.sort_by(|left, right| left.sort_key().cmp(&right.sort_key()));
    Ok(updated)
}

/// Chooses the API of a model that is not in the catalog.
fn api_of<'a>(current: &'a [ModelRecord], provider: &DevProvider, model: &DevModel) -> &'a str {
    let package = model.provider.as_ref().and_then(|own| own.npm.as_deref());
    let package = package.or(provider.npm.as_deref());
    let package_api = PACKAGES
        .iter()
        .find(|(name, _)| Some(*name) == package)
        .map(|(_, api)| *api);
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for record in current {
        *uses.entry(record.text("api")).or_default() += 1;
    }
    if let Some((api, _)) = uses.iter().find(|(api, _)| Some(**api) == package_api) {
        return api;
    }
    uses.into_iter()
        .max_by_key(|(_, count)| *count)
        .map_or("", |(api, _)| api)
}

/// Returns the fields that all models of the API share and that can apply to a new one.
fn shared_fields(current: &[ModelRecord], api: &str, model: &DevModel) -> JsonObject {
    let siblings: Vec<&JsonObject> = current
        .iter()
        .filter(|record| record.text("api") == api)
        .map(ModelRecord::fields)
        .collect();
    let mut facts = JsonObject::new();
    facts.insert("api".to_owned(), api.into());
    if let Some(first) = siblings.first() {
        let base_url = first.get("baseUrl").cloned().unwrap_or_default();
        facts.insert("baseUrl".to_owned(), base_url);
    }
    for field in ["compat", "headers"] {
        if let Some(shared) = shared_entries(&siblings, field) {
            facts.insert(field.to_owned(), Value::Object(shared));
        }
    }
    let with_images: Vec<&JsonObject> = siblings
        .into_iter()
        .filter(|fields| accepts_images(fields))
        .collect();
    if model.accepts_images()
        && let Some(limits) = shared_entries(&with_images, "inputLimits")
    {
        facts.insert("inputLimits".to_owned(), Value::Object(limits));
    }
    facts
}

/// Returns the entries of an object field that all records agree on, if there are any.
fn shared_entries(records: &[&JsonObject], field: &str) -> Option<JsonObject> {
    let (first, rest) = records.split_first()?;
    let mut shared = first.get(field)?.as_object()?.clone();
    shared.retain(|name, value| {
        rest.iter()
            .all(|fields| fields.get(field).and_then(|object| object.get(name)) == Some(value))
    });
    (!shared.is_empty()).then_some(shared)
}

fn accepts_images(fields: &JsonObject) -> bool {
    fields
        .get("input")
        .and_then(Value::as_array)
        .is_some_and(|input| input.iter().any(|kind| kind == "image"))
}

impl DevModel {
    fn accepts_images(&self) -> bool {
        self.modalities.input.iter().any(|kind| kind == "image")
    }
}

/// Writes the fields of the document into a record.
fn merge_fields(mut fields: JsonObject, id: &str, model: &DevModel) -> JsonObject {
    let input: &[&str] = if model.accepts_images() {
        &["text", "image"]
    } else {
        &["text"]
    };
    let limit = |limit: Option<u64>| limit.filter(|tokens| *tokens > 0).unwrap_or(UNKNOWN_LIMIT);
    let facts = [
        ("id", json!(id)),
        ("name", json!(model.name.as_deref().unwrap_or(id))),
        ("reasoning", json!(model.reasoning)),
        ("input", json!(input)),
        ("cost", model.cost.to_record()),
        ("contextWindow", json!(limit(model.limit.context))),
        ("maxTokens", json!(limit(model.limit.output))),
    ];
    for (name, value) in facts {
        fields.insert(name.to_owned(), value);
    }
    fields
}

impl DevCost {
    fn to_record(&self) -> Value {
        let mut tiers: Vec<Value> = self
            .tiers
            .iter()
            .filter(|tier| tier.tier.kind == "context")
            .map(|tier| tier.rates.to_tier(tier.tier.size))
            .collect();
        // Where both are given they describe the same premium, and `tiers` is the exact one.
        if let (true, Some(rates)) = (tiers.is_empty(), &self.context_over_200k) {
            tiers.push(rates.to_tier(LONG_PROMPT));
        }
        let mut cost = self.rates.to_record();
        if !tiers.is_empty() {
            cost.insert("tiers".to_owned(), tiers.into());
        }
        Value::Object(cost)
    }
}

impl Rates {
    fn to_record(&self) -> JsonObject {
        JsonObject::from_iter([
            ("input".to_owned(), json!(self.input)),
            ("output".to_owned(), json!(self.output)),
            ("cacheRead".to_owned(), json!(self.cache_read)),
            ("cacheWrite".to_owned(), json!(self.cache_write)),
        ])
    }

    fn to_tier(&self, above: u64) -> Value {
        let mut tier = self.to_record();
        tier.insert("inputTokensAbove".to_owned(), above.into());
        Value::Object(tier)
    }
}
