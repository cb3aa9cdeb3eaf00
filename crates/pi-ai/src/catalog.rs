//! The embedded model catalog, parsed for one provider at a time.
//!
//! `cargo xtask models` writes the files, and the build packs each. Nothing is read before a provider is
//! asked for, and then only its own file, once.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::JsonObject;
use crate::model::{
    CostTier, InputLimits, Modality, Model, ModelCost, PromptCacheLifetimes, TokenRates,
};
use crate::thinking::ThinkingLevel;

/// One provider's file and, once somebody asked, what it says.
struct Entry {
    provider: &'static str,
    packed: &'static [u8],
    models: OnceLock<Arc<[Arc<Model>]>>,
}

impl Entry {
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

// `CATALOG`: every provider, sorted by name.
include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

fn entry(provider: &str) -> Option<&'static Entry> {
    let place = CATALOG.binary_search_by_key(&provider, |entry| entry.provider);
    CATALOG.get(place.ok()?)
}

/// Returns the models of a built-in provider, sorted by API and id; none for any other id.
pub fn builtin_models(provider: &str) -> Arc<[Arc<Model>]> {
    entry(provider).map_or_else(Arc::default, |entry| {
        let models = entry.models.get_or_init(|| parse(entry));
        Arc::clone(models)
    })
}

/// Parses the models of a built-in provider anew. For benchmarks: a lookup keeps what it parsed.
#[doc(hidden)]
pub fn parse_builtin_models(provider: &str) -> Arc<[Arc<Model>]> {
    entry(provider).map_or_else(Arc::default, parse)
}

/// Returns a model of a built-in provider.
pub fn builtin_model(provider: &str, id: &str) -> Option<Arc<Model>> {
    builtin_models(provider)
        .iter()
        .find(|model| model.id == id)
        .cloned()
}

/// Returns whether a header of a catalog would make a request pass for another vendor's client.
/// For the generator; what it writes has none.
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
        .any(|foreign| header.eq_ignore_ascii_case(foreign))
}

/// Returns when the catalog was made, in milliseconds since the epoch.
pub(crate) fn generated_at() -> i64 {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct About {
        generated_at: String,
    }
    let about: Result<About, _> = serde_json::from_str(include_str!("../data/catalog.json"));
    let time = about.map(|about| about.generated_at.parse::<jiff::Timestamp>());
    match time {
        Ok(Ok(time)) => time.as_millisecond(),
        // Any remote catalog is then newer, which is the harmless way to be wrong.
        Ok(Err(_)) | Err(_) => 0,
    }
}

/// Reads a file of the catalog. The files are embedded and tested; should one be broken all the
/// same, its provider has no models and the others work on.
fn parse(entry: &Entry) -> Arc<[Arc<Model>]> {
    read(entry).unwrap_or_else(|error| {
        tracing::error!(provider = entry.provider, %error, "the embedded catalog is broken");
        Arc::default()
    })
}

fn read(entry: &Entry) -> io::Result<Arc<[Arc<Model>]>> {
    let text = entry.text()?;
    let records: Vec<Record<'_>> = serde_json::from_str(&text)?;
    let mut seen = Seen::default();
    records
        .into_iter()
        .map(|record| Ok(Arc::new(record.into_model(entry.provider, &mut seen)?)))
        .collect()
}

/// A record as the files have it. [`Model`] would read it too, but it keeps unknown fields, and
/// the buffering that takes doubles the time.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record<'text> {
    api: &'text str,
    base_url: &'text str,
    #[serde(borrow)]
    compat: Option<&'text RawValue>,
    context_window: u64,
    cost: Cost,
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
    // What a gateway adds for its own clients.
    enabled: Option<serde_json::Value>,
    lab: Option<serde_json::Value>,
    providers: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
    #[serde(default)]
    tiers: Vec<CostTier>,
}

/// The nested values of one file. Neighbors mostly agree on them to the letter, so each is parsed
/// once and copied after that.
#[derive(Default)]
struct Seen<'text> {
    compat: Vec<(&'text str, JsonObject)>,
    input_limits: Vec<(&'text str, InputLimits)>,
    thinking_levels: Vec<(&'text str, BTreeMap<ThinkingLevel, Option<String>>)>,
}

fn parse_once<'text, T: Clone + Deserialize<'text>>(
    seen: &mut Vec<(&'text str, T)>,
    value: Option<&'text RawValue>,
) -> Result<Option<T>, serde_json::Error> {
    let Some(text) = value.map(RawValue::get) else {
        return Ok(None);
    };
    if let Some((_, parsed)) = seen.iter().find(|(other, _)| *other == text) {
        return Ok(Some(parsed.clone()));
    }
    let parsed: T = serde_json::from_str(text)?;
    seen.push((text, parsed.clone()));
    Ok(Some(parsed))
}

impl<'text> Record<'text> {
    fn into_model(
        self,
        provider: &str,
        seen: &mut Seen<'text>,
    ) -> Result<Model, serde_json::Error> {
        let extra = [
            ("lab", self.lab),
            ("enabled", self.enabled),
            ("providers", self.providers),
        ];
        Ok(Model {
            id: self.id,
            name: self.name,
            api: self.api.to_owned(),
            provider: provider.to_owned(),
            base_url: self.base_url.to_owned(),
            reasoning: self.reasoning,
            thinking_level_map: parse_once(&mut seen.thinking_levels, self.thinking_level_map)?,
            input: self.input,
            input_limits: parse_once(&mut seen.input_limits, self.input_limits)?,
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
            headers: self.headers,
            compat: parse_once(&mut seen.compat, self.compat)?,
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
    fn the_catalog_has_every_provider_and_its_first_model() {
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
        assert_eq!(models, 1495);
    }

    #[test]
    fn the_fast_reader_agrees_with_the_model_type() {
        for entry in &CATALOG {
            let provider = entry.provider;
            let models = builtin_models(provider);
            let records: Vec<Value> = serde_json::from_str(&entry.text().unwrap()).unwrap();
            assert_eq!(records.len(), models.len(), "{provider}");
            for (mut record, model) in records.into_iter().zip(models.iter()) {
                record["provider"] = Value::from(provider);
                assert_eq!(serde_json::from_value::<Model>(record).unwrap(), **model);
            }
        }
    }

    #[test]
    fn no_model_passes_for_another_client() {
        for Entry { provider, .. } in &CATALOG {
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
        let kept = builtin_model("nvidia", "nvidia/nemotron-3-super-120b-a12b").unwrap();
        let headers = kept.headers.as_ref().unwrap();
        assert_eq!(headers["NVCF-POLL-SECONDS"], "3600");
    }

    #[test]
    fn an_unknown_provider_has_no_models() {
        assert!(builtin_models("nobody").is_empty());
    }

    #[test]
    fn the_catalog_knows_its_date() {
        assert!(generated_at() > 1_700_000_000_000);
    }
}
