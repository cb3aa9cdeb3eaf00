//! Provider and model configuration from `models.json` and extensions.
//!
//! Data types only. [`super::compose`] applies them, and `pi-config` reads the file.

use std::collections::BTreeMap;

use pi_auth::ValueTemplate;
use pi_protocol::json::{JsonObject, lenient_optional_u64};
use pi_protocol::{
    CostTier, InputLimits, Modality, ModelCost, PromptCacheLifetimes, ThinkingLevel,
};
use serde::{Deserialize, Deserializer};

/// Configuration of a provider: a new one, or changes to an existing one.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderConfig {
    /// Display name.
    pub name: Option<String>,
    pub base_url: Option<String>,
    /// Key to use if none is stored.
    pub api_key: Option<ValueTemplate>,
    /// Default wire API of the provider's models.
    pub api: Option<String>,
    pub oauth: Option<ConfiguredOAuth>,
    /// Headers for every request.
    pub headers: Option<BTreeMap<String, ValueTemplate>>,
    /// Deviations from the wire API that apply to all models.
    pub compat: Option<JsonObject>,
    /// Whether to send the key as a bearer token, regardless of the wire API.
    pub auth_header: Option<bool>,
    /// Models to add; they replace models with the same ID.
    pub models: Option<Vec<ModelConfig>>,
    /// Changes to models by ID; unknown IDs are ignored.
    pub model_overrides: BTreeMap<String, ModelOverride>,
}

/// An OAuth flow that configuration can select.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfiguredOAuth {
    /// The provider is a Radius gateway.
    Radius,
}

/// A model added by configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelConfig {
    /// The only required field.
    pub id: String,
    /// Defaults to the ID.
    pub name: Option<String>,
    /// Defaults to the provider's API.
    pub api: Option<String>,
    /// Defaults to the provider's base URL.
    pub base_url: Option<String>,
    /// Whether the model supports thinking; defaults to false.
    pub reasoning: Option<bool>,
    /// The provider's names for thinking levels.
    #[serde(deserialize_with = "known_levels")]
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    /// Defaults to text.
    pub input: Option<Vec<Modality>>,
    pub input_limits: Option<InputLimits>,
    pub cost: Option<ModelCost>,
    pub prompt_cache: Option<PromptCacheLifetimes>,
    /// Context window in tokens; defaults to 128,000.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub context_window: Option<u64>,
    /// Output limit in tokens; defaults to 16,384.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub max_tokens: Option<u64>,
    /// Sampling parameters for every request.
    pub sampling_params: Option<JsonObject>,
    /// Sampling parameters by thinking level, merged over `sampling_params`.
    #[serde(deserialize_with = "known_levels")]
    pub sampling_params_by_thinking_level: Option<BTreeMap<ThinkingLevel, JsonObject>>,
    /// Headers for every request.
    pub headers: Option<BTreeMap<String, ValueTemplate>>,
    /// Deviations from the wire API, merged over the provider's.
    pub compat: Option<JsonObject>,
}

/// Changes to a model. Unset fields are unchanged, and objects are merged.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelOverride {
    pub name: Option<String>,
    /// Whether the model supports thinking.
    pub reasoning: Option<bool>,
    /// The provider's names for thinking levels; merged by level.
    #[serde(deserialize_with = "known_levels")]
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    pub input: Option<Vec<Modality>>,
    /// Merged by field.
    pub input_limits: Option<InputLimits>,
    /// Merged by rate.
    pub cost: Option<CostOverride>,
    /// Merged by field.
    pub prompt_cache: Option<PromptCacheLifetimes>,
    /// Context window in tokens.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub context_window: Option<u64>,
    /// Output limit in tokens.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub max_tokens: Option<u64>,
    /// Sampling parameters; merged by name.
    pub sampling_params: Option<JsonObject>,
    /// Sampling parameters by thinking level; merged by level and name.
    #[serde(deserialize_with = "known_levels")]
    pub sampling_params_by_thinking_level: Option<BTreeMap<ThinkingLevel, JsonObject>>,
    /// Additional headers for every request.
    pub headers: Option<BTreeMap<String, ValueTemplate>>,
    /// Deviations from the wire API; merged by flag.
    pub compat: Option<JsonObject>,
}

/// Changes to a model's prices.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CostOverride {
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    /// Rates for long prompts; replaces the list.
    pub tiers: Option<Vec<CostTier>>,
}

impl ProviderConfig {
    /// Merges this configuration over an earlier one for the same provider. Fields set here take
    /// precedence.
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

    /// Returns the configuration of a model.
    pub(super) fn model(&self, id: &str) -> Option<&ModelConfig> {
        self.models.iter().flatten().find(|model| model.id == id)
    }

    /// Returns whether the configuration has any effect.
    pub(super) fn has_effect(&self) -> bool {
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

/// Reads a map of thinking levels, skipping unknown levels.
fn known_levels<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<ThinkingLevel, T>>, D::Error> {
    let values = Option::<BTreeMap<String, T>>::deserialize(deserializer)?;
    Ok(values.map(|values| {
        values
            .into_iter()
            .filter_map(|(level, value)| Some((ThinkingLevel::from_name(&level)?, value)))
            .collect()
    }))
}
