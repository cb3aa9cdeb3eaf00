//! What `models.json` and extensions may say about providers and models.
//!
//! These are the shapes alone. How they change a provider is [`super::compose`]'s matter, and
//! reading the file is `pi-config`'s.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::credentials::ValueTemplate;
use crate::json::{JsonObject, lenient_optional_u64};
use crate::model::{CostTier, InputLimits, Modality, ModelCost, PromptCacheLifetimes};
use crate::thinking::ThinkingLevel;

/// A provider as configuration describes it: a new one, or changes to a known one.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderConfig {
    /// The name people see.
    pub name: Option<String>,
    /// Where it is reached.
    pub base_url: Option<String>,
    /// The key, used when none is stored.
    pub api_key: Option<ValueTemplate>,
    /// The wire API of models that name none.
    pub api: Option<String>,
    /// The kind of sign-in the provider offers.
    pub oauth: Option<ConfiguredOAuth>,
    /// Headers of every request.
    pub headers: Option<BTreeMap<String, ValueTemplate>>,
    /// Deviations from the wire API that all models share.
    pub compat: Option<JsonObject>,
    /// Sends the key as a bearer token, whatever the wire API would do with it.
    pub auth_header: Option<bool>,
    /// Models to add, or to put in the place of those with the same id.
    pub models: Option<Vec<ModelConfig>>,
    /// Changes to models, by id; an id nobody has is ignored.
    pub model_overrides: BTreeMap<String, ModelOverride>,
}

/// A kind of sign-in that configuration can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfiguredOAuth {
    /// The provider is a Radius gateway.
    Radius,
}

/// A model that configuration adds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelConfig {
    /// The id, which alone is required.
    pub id: String,
    /// The name, else the id.
    pub name: Option<String>,
    /// The wire API, else the provider's.
    pub api: Option<String>,
    /// Where it is reached, else where the provider is.
    pub base_url: Option<String>,
    /// Whether it can think, else it cannot.
    pub reasoning: Option<bool>,
    /// The provider's words for thinking levels.
    #[serde(deserialize_with = "known_levels")]
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    /// What it accepts, else text.
    pub input: Option<Vec<Modality>>,
    /// Limits on what may be sent.
    pub input_limits: Option<InputLimits>,
    pub cost: Option<ModelCost>,
    /// How long its prompt cache lives.
    pub prompt_cache: Option<PromptCacheLifetimes>,
    /// Tokens of the whole conversation, else 128,000.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub context_window: Option<u64>,
    /// Tokens of one answer, else 16,384.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub max_tokens: Option<u64>,
    /// Sampling parameters of every request.
    pub sampling_params: Option<JsonObject>,
    /// Headers of every request.
    pub headers: Option<BTreeMap<String, ValueTemplate>>,
    /// Deviations from the wire API, on top of the provider's.
    pub compat: Option<JsonObject>,
}

/// Changes to one model. What is not named stays, and objects are merged.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelOverride {
    pub name: Option<String>,
    /// Whether it can think.
    pub reasoning: Option<bool>,
    /// Words for thinking levels, level by level.
    #[serde(deserialize_with = "known_levels")]
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    pub input: Option<Vec<Modality>>,
    /// Limits on what may be sent, field by field.
    pub input_limits: Option<InputLimits>,
    /// Prices, rate by rate.
    pub cost: Option<CostOverride>,
    /// Cache lifetimes, field by field.
    pub prompt_cache: Option<PromptCacheLifetimes>,
    /// Tokens of the whole conversation.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub context_window: Option<u64>,
    /// Tokens of one answer.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub max_tokens: Option<u64>,
    /// Sampling parameters, name by name.
    pub sampling_params: Option<JsonObject>,
    /// More headers of every request.
    pub headers: Option<BTreeMap<String, ValueTemplate>>,
    /// Deviations from the wire API, flag by flag.
    pub compat: Option<JsonObject>,
}

/// Changes to prices.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CostOverride {
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    /// The rates of long prompts, all of them.
    pub tiers: Option<Vec<CostTier>>,
}

impl ProviderConfig {
    /// Returns this configuration laid over an earlier one of the same provider: what this one
    /// names wins, the rest stays.
    #[must_use]
    pub fn merged_over(self, earlier: Self) -> Self {
        Self {
            name: self.name.or(earlier.name),
            base_url: self.base_url.or(earlier.base_url),
            api_key: self.api_key.or(earlier.api_key),
            api: self.api.or(earlier.api),
            oauth: self.oauth.or(earlier.oauth),
            headers: self.headers.or(earlier.headers),
            compat: self.compat.or(earlier.compat),
            auth_header: self.auth_header.or(earlier.auth_header),
            models: self.models.or(earlier.models),
            model_overrides: if self.model_overrides.is_empty() {
                earlier.model_overrides
            } else {
                self.model_overrides
            },
        }
    }

    /// Returns what is configured for a model of this provider.
    pub(super) fn model(&self, id: &str) -> Option<&ModelConfig> {
        self.models.iter().flatten().find(|model| model.id == id)
    }

    /// Returns whether the configuration says anything that changes a provider.
    pub(super) fn changes_something(&self) -> bool {
        self.models
            .as_ref()
            .is_some_and(|models| !models.is_empty())
            || self.base_url.is_some()
            || self.headers.is_some()
            || self.compat.is_some()
            || !self.model_overrides.is_empty()
            || self.api_key.is_some()
            || self.oauth.is_some()
            || self.auth_header.is_some()
    }
}

/// Reads a map of thinking levels, passing over levels this version does not have.
fn known_levels<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<ThinkingLevel, Option<String>>>, D::Error> {
    let words = Option::<BTreeMap<String, Option<String>>>::deserialize(deserializer)?;
    Ok(words.map(|words| {
        words
            .into_iter()
            .filter_map(|(level, word)| Some((ThinkingLevel::from_name(&level)?, word)))
            .collect()
    }))
}
