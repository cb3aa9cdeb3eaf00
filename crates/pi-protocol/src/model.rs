//! Model metadata: identity, endpoint, capabilities and prices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::JsonObject;
use crate::thinking::ThinkingLevel;

/// The ten wire APIs, by the names used in models and session files.
pub mod api {
    pub const ANTHROPIC_MESSAGES: &str = "anthropic-messages";
    /// OpenAI's Chat Completions API and compatible APIs.
    pub const OPENAI_COMPLETIONS: &str = "openai-completions";
    pub const OPENAI_RESPONSES: &str = "openai-responses";
    /// The Responses API as hosted by Azure.
    pub const AZURE_OPENAI_RESPONSES: &str = "azure-openai-responses";
    /// The Responses API variant for ChatGPT accounts.
    pub const OPENAI_CODEX_RESPONSES: &str = "openai-codex-responses";
    /// Google's Generative Language API.
    pub const GOOGLE_GENERATIVE_AI: &str = "google-generative-ai";
    /// The same API on Vertex AI.
    pub const GOOGLE_VERTEX: &str = "google-vertex";
    pub const MISTRAL_CONVERSATIONS: &str = "mistral-conversations";
    pub const BEDROCK_CONVERSE_STREAM: &str = "bedrock-converse-stream";
    /// pi's own protocol, served by Radius gateways.
    pub const PI_MESSAGES: &str = "pi-messages";
    /// The API of virtual models, which choose another model for each request. No wire API serves it.
    pub const PI_VIRTUAL: &str = "pi-virtual";

    pub const ALL: [&str; 10] = [
        ANTHROPIC_MESSAGES,
        OPENAI_COMPLETIONS,
        OPENAI_RESPONSES,
        AZURE_OPENAI_RESPONSES,
        OPENAI_CODEX_RESPONSES,
        GOOGLE_GENERATIVE_AI,
        GOOGLE_VERTEX,
        MISTRAL_CONVERSATIONS,
        BEDROCK_CONVERSE_STREAM,
        PI_MESSAGES,
    ];
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub id: String,
    /// Display name.
    pub name: String,
    /// Wire API.
    pub api: String,
    pub provider: String,
    pub base_url: String,
    /// Whether the model supports thinking.
    pub reasoning: bool,
    /// The provider's names for thinking levels; null marks a level as unsupported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    pub input: Vec<Modality>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_limits: Option<InputLimits>,
    pub cost: ModelCost,
    /// Prompt-cache lifetimes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache: Option<PromptCacheLifetimes>,
    /// Context window in tokens.
    pub context_window: u64,
    /// Output limit in tokens.
    pub max_tokens: u64,
    /// Sampling parameters merged into every request to OpenAI-compatible APIs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_params: Option<JsonObject>,
    /// Sampling parameters by thinking level, merged over `sampling_params`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_params_by_thinking_level: Option<BTreeMap<ThinkingLevel, JsonObject>>,
    /// Headers for every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// Deviations from the wire API, by their names in `models.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<JsonObject>,
    /// What the model is for; chat if absent.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ModelKind>,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    Chat,
    Image,
    Classifier,
}

impl ModelKind {
    pub const ALL: [Self; 3] = [Self::Chat, Self::Image, Self::Classifier];

    /// Returns the name used in catalogs and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Image => "image",
            Self::Classifier => "classifier",
        }
    }
}

impl Model {
    /// Returns the model that clients see while none is selected: every name is `unknown`, every
    /// limit and price zero.
    pub fn unknown() -> Self {
        const UNKNOWN: &str = "unknown";
        Self {
            id: UNKNOWN.to_owned(),
            name: UNKNOWN.to_owned(),
            api: UNKNOWN.to_owned(),
            provider: UNKNOWN.to_owned(),
            base_url: String::new(),
            reasoning: false,
            thinking_level_map: None,
            input: Vec::new(),
            input_limits: None,
            cost: ModelCost::default(),
            prompt_cache: None,
            context_window: 0,
            max_tokens: 0,
            sampling_params: None,
            sampling_params_by_thinking_level: None,
            headers: None,
            compat: None,
            kind: None,
            extra: JsonObject::default(),
        }
    }

    pub fn is_chat(&self) -> bool {
        self.kind.is_none_or(|kind| kind == ModelKind::Chat)
    }

    pub fn accepts_images(&self) -> bool {
        self.input.contains(&Modality::Image)
    }

    /// Returns whether both have the same provider and model ID.
    pub fn is_same(&self, other: &Self) -> bool {
        self.provider == other.provider && self.id == other.id
    }

    /// Whether the model chooses another model for each request.
    pub fn is_virtual(&self) -> bool {
        self.api == api::PI_VIRTUAL
    }

    /// Returns a compat value by its JSON name.
    pub fn compat_value(&self, name: &str) -> Option<&Value> {
        self.compat.as_ref()?.get(name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Modality {
    Text,
    Image,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelCost {
    /// Standard rates.
    #[serde(flatten)]
    pub rates: TokenRates,
    /// Rates for long prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<CostTier>,
}

/// Rates in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TokenRates {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// Rates for requests above a size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CostTier {
    /// The tier applies to prompts with more tokens than this.
    pub input_tokens_above: u64,
    #[serde(flatten)]
    pub rates: TokenRates,
}

/// Prompt-cache lifetimes in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PromptCacheLifetimes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<u64>,
}

/// Limits on a single request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct InputLimits {
    /// Maximum size of the serialized request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_request_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<ImageLimits>,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageLimits {
    /// How to downscale images before they enter the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resize: Option<ImageResize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_message: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_request: Option<u64>,
}

/// How to downscale images.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ImageResize {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_height: Option<u32>,
    /// Maximum size of the base64 text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// 1 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jpeg_quality: Option<u8>,
}
