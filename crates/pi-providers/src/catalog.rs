//! The embedded catalog of chat models, parsed lazily per provider.
//!
//! `cargo xtask models` generates the files and the build script compresses them. A provider's file
//! is decompressed and parsed on first use, once.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, OnceLock};

use pi_protocol::json::JsonObject;
use pi_protocol::{
    CostTier, InputLimits, Modality, Model, ModelCost, ModelKind, PromptCacheLifetimes,
    ThinkingLevel, TokenRates,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A provider's compressed file and, after first use, its models.
struct CatalogEntry {
    provider: &'static str,
    packed: &'static [u8],
    models: OnceLock<Arc<[Arc<Model>]>>,
}

impl CatalogEntry {
    const fn packed(provider: &'static str, packed: &'static [u8]) -> Self {
        Self {
            provider,
            packed,
            models: OnceLock::new(),
        }
    }

    fn text(&self) -> io::Result<String> {
        pi_packed::unpack(self.packed)
    }
}

// `CATALOG`: all providers, sorted by name.
include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

fn entry(provider: &str) -> Option<&'static CatalogEntry> {
    let index = CATALOG.binary_search_by_key(&provider, |entry| entry.provider);
    CATALOG.get(index.ok()?)
}

/// Returns the models of a built-in provider, sorted by API and ID; empty for an unknown provider.
pub fn builtin_models(provider: &str) -> Arc<[Arc<Model>]> {
    entry(provider).map_or_else(Arc::default, |entry| {
        let models = entry.models.get_or_init(|| parse(entry));
        Arc::clone(models)
    })
}

/// Parses the models of a built-in provider without the cache. For benchmarks.
#[doc(hidden)]
pub fn parse_builtin_models(provider: &str) -> Arc<[Arc<Model>]> {
    entry(provider).map_or_else(Arc::default, parse)
}

pub fn builtin_model(provider: &str, id: &str) -> Option<Arc<Model>> {
    builtin_models(provider)
        .iter()
        .find(|model| model.id == id)
        .cloned()
}

/// Returns whether a catalog header would identify requests as coming from another vendor's client.
/// The catalog generator strips these headers.
#[doc(hidden)]
pub fn is_client_identity_header(header: &str) -> bool {
    const HEADERS: [&str; 4] = [
        "copilot-integration-id",
        "editor-plugin-version",
        "editor-version",
        "user-agent",
    ];
    HEADERS
        .iter()
        .any(|known| header.eq_ignore_ascii_case(known))
}

/// Returns when the catalog was generated, in milliseconds since the Unix epoch.
pub(crate) fn generated_at() -> i64 {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CatalogInfo {
        generated_at: String,
    }
    let info: Result<CatalogInfo, _> = serde_json::from_str(include_str!("../data/catalog.json"));
    let time = info.map(|info| info.generated_at.parse::<jiff::Timestamp>());
    match time {
        Ok(Ok(time)) => time.as_millisecond(),
        // With 0, every remote catalog counts as newer, which is the safe fallback.
        Ok(Err(_)) | Err(_) => 0,
    }
}

/// Parses a catalog file. The files are embedded and tested; if one is broken anyway, its provider
/// has no models and the others still work.
fn parse(entry: &CatalogEntry) -> Arc<[Arc<Model>]> {
    read(entry).unwrap_or_else(|error| {
        tracing::error!(provider = entry.provider, %error, "cannot parse the embedded model catalog");
        Arc::default()
    })
}

fn read(entry: &CatalogEntry) -> io::Result<Arc<[Arc<Model>]>> {
    let text = entry.text()?;
    let records: Vec<CatalogRecord<'_>> = serde_json::from_str(&text)?;
    let mut parsed_values = ParsedValues::default();
    records
        .into_iter()
        .map(|record| {
            Ok(Arc::new(
                record.into_model(entry.provider, &mut parsed_values)?,
            ))
        })
        .collect()
}

/// A record as stored in the catalog files. [`Model`] could read it too, but it preserves unknown
/// fields, and the buffering that requires doubles the parse time.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CatalogRecord<'text> {
    api: &'text str,
    base_url: &'text str,
    #[serde(borrow)]
    compat: Option<&'text RawValue>,
    context_window: u64,
    cost: RecordCost,
    headers: Option<BTreeMap<String, String>>,
    id: String,
    input: Vec<Modality>,
    #[serde(borrow)]
    input_limits: Option<&'text RawValue>,
    max_tokens: u64,
    name: String,
    prompt_cache: Option<PromptCacheLifetimes>,
    reasoning: bool,
    sampling_params: Option<JsonObject>,
    #[serde(borrow)]
    thinking_level_map: Option<&'text RawValue>,
    // Fields that gateways add for their own clients.
    enabled: Option<serde_json::Value>,
    free: Option<serde_json::Value>,
    lab: Option<serde_json::Value>,
    providers: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordCost {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
    #[serde(default)]
    tiers: Vec<CostTier>,
}

/// Nested values already parsed from one file. Neighboring records often repeat them verbatim, so
/// each is parsed once and then cloned.
#[derive(Default)]
struct ParsedValues<'text> {
    compat: Vec<(&'text str, JsonObject)>,
    input_limits: Vec<(&'text str, InputLimits)>,
    thinking_levels: Vec<(&'text str, BTreeMap<ThinkingLevel, Option<String>>)>,
}

fn parse_once<'text, T: Clone + Deserialize<'text>>(
    cache: &mut Vec<(&'text str, T)>,
    value: Option<&'text RawValue>,
) -> Result<Option<T>, serde_json::Error> {
    let Some(text) = value.map(RawValue::get) else {
        return Ok(None);
    };
    if let Some((_, parsed)) = cache.iter().find(|(other, _)| *other == text) {
        return Ok(Some(parsed.clone()));
    }
    let parsed: T = serde_json::from_str(text)?;
    cache.push((text, parsed.clone()));
    Ok(Some(parsed))
}

impl<'text> CatalogRecord<'text> {
    fn into_model(
        self,
        provider: &str,
        parsed_values: &mut ParsedValues<'text>,
    ) -> Result<Model, serde_json::Error> {
        let extra = [
            ("lab", self.lab),
            ("enabled", self.enabled),
            ("providers", self.providers),
            ("free", self.free),
        ];
        Ok(Model {
            id: self.id,
            name: self.name,
            api: self.api.to_owned(),
            provider: provider.to_owned(),
            base_url: self.base_url.to_owned(),
            reasoning: self.reasoning,
            thinking_level_map: parse_once(
                &mut parsed_values.thinking_levels,
                self.thinking_level_map,
            )?,
            input: self.input,
            input_limits: parse_once(&mut parsed_values.input_limits, self.input_limits)?,
            cost: ModelCost {
                rates: TokenRates {
                    input: self.cost.input,
                    output: self.cost.output,
                    cache_read: self.cost.cache_read,
                    cache_write: self.cost.cache_write,
                },
                tiers: self.cost.tiers,
            },
            prompt_cache: self.prompt_cache,
            context_window: self.context_window,
            max_tokens: self.max_tokens,
            sampling_params: self.sampling_params,
            sampling_params_by_thinking_level: None,
            headers: self.headers,
            compat: parse_once(&mut parsed_values.compat, self.compat)?,
            kind: Some(ModelKind::Chat),
            extra: extra
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::Value;

    use super::*;
    use crate::providers::builtin_providers;

    #[test]
    fn catalog_has_every_provider_and_its_default_model() {
        let mut ids: Vec<&str> = builtin_providers().iter().map(|info| info.id).collect();
        ids.sort_unstable();
        assert_eq!(
            CATALOG
                .iter()
                .map(|entry| entry.provider)
                .collect::<Vec<_>>(),
            ids
        );
        let mut models = 0;
        for info in builtin_providers() {
            models += builtin_models(info.id).len();
            let first = builtin_model(info.id, info.default_model);
            assert!(first.is_some(), "{}/{}", info.id, info.default_model);
        }
        assert_eq!(models, 1592);
    }

    #[test]
    fn catalog_record_agrees_with_model() {
        for entry in &CATALOG {
            let provider = entry.provider;
            let models = builtin_models(provider);
            let records: Vec<Value> = serde_json::from_str(&entry.text().unwrap()).unwrap();
            assert_eq!(records.len(), models.len(), "{provider}");
            for (mut record, model) in records.into_iter().zip(models.iter()) {
                record["provider"] = Value::from(provider);
                record["type"] = Value::from("chat");
                assert_eq!(serde_json::from_value::<Model>(record).unwrap(), **model);
            }
        }
    }

    #[test]
    fn no_model_impersonates_another_client() {
        for CatalogEntry { provider, .. } in &CATALOG {
            let models = builtin_models(provider);
            for model in models.iter() {
                let mut headers = model.headers.iter().flat_map(BTreeMap::keys);
                assert!(
                    headers.all(|name| !is_client_identity_header(name)),
                    "{provider}/{}",
                    model.id
                );
            }
        }
        let model = builtin_model("nvidia", "nvidia/nemotron-3.5-super-vl-120b-a12b").unwrap();
        let headers = model.headers.as_ref().unwrap();
        assert_eq!(headers["NVCF-POLL-SECONDS"], "3600");
    }

    #[test]
    fn unknown_provider_has_no_models() {
        assert!(builtin_models("unknown").is_empty());
    }

    #[test]
    fn catalog_has_a_date() {
        assert!(generated_at() > 1_700_000_000_000);
    }
}
