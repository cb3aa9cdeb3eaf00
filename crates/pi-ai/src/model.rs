//! A model: what it is called, where it is reached, what it can take and what it costs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::JsonObject;
use crate::thinking::ThinkingLevel;

/// The ten wire APIs, by the names that models and session files use.
pub mod api {
    /// Anthropic's Messages API.
    pub const ANTHROPIC_MESSAGES: &str = "anthropic-messages";
    /// OpenAI's Chat Completions and everything compatible with it.
    pub const OPENAI_COMPLETIONS: &str = "openai-completions";
    /// OpenAI's Responses API.
    pub const OPENAI_RESPONSES: &str = "openai-responses";
    /// The Responses API as Azure hosts it.
    pub const AZURE_OPENAI_RESPONSES: &str = "azure-openai-responses";
    /// The Responses dialect behind a ChatGPT sign-in.
    pub const OPENAI_CODEX_RESPONSES: &str = "openai-codex-responses";
    /// Google's Generative Language API.
    pub const GOOGLE_GENERATIVE_AI: &str = "google-generative-ai";
    /// The same on Vertex AI.
    pub const GOOGLE_VERTEX: &str = "google-vertex";
    /// Mistral's chat API.
    pub const MISTRAL_CONVERSATIONS: &str = "mistral-conversations";
    /// AWS Bedrock's `ConverseStream`.
    pub const BEDROCK_CONVERSE_STREAM: &str = "bedrock-converse-stream";
    /// pi's own messages, as a gateway serves them.
    pub const PI_MESSAGES: &str = "pi-messages";

    /// All of them.
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

/// A chat model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// The provider's id of the model.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The wire API it speaks.
    pub api: String,
    /// The provider that serves it.
    pub provider: String,
    /// Where it is reached.
    pub base_url: String,
    /// Whether it can think.
    pub reasoning: bool,
    /// The provider's words for thinking levels; null marks a level as unsupported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level_map: Option<BTreeMap<ThinkingLevel, Option<String>>>,
    pub input: Vec<Modality>,
    /// Limits on what may be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_limits: Option<InputLimits>,
    pub cost: ModelCost,
    /// How long its prompt cache lives, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache: Option<PromptCacheLifetimes>,
    /// Tokens of the whole conversation.
    pub context_window: u64,
    /// Tokens of one answer.
    pub max_tokens: u64,
    /// Sampling parameters merged into every request of OpenAI-compatible APIs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_params: Option<JsonObject>,
    /// Headers every request carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// Deviations from the wire API, by their names in `models.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<JsonObject>,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl Model {
    /// Returns whether the model accepts images.
    pub fn accepts_images(&self) -> bool {
        self.input.contains(&Modality::Image)
    }

    /// Returns whether both are the same model of the same provider.
    pub fn is_same(&self, other: &Self) -> bool {
        self.provider == other.provider && self.id == other.id
    }

    /// Returns a compat value by its JSON name.
    pub fn compat_value(&self, name: &str) -> Option<&Value> {
        self.compat.as_ref()?.get(name)
    }
}

/// A kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Modality {
    Text,
    Image,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCost {
    /// The rates of an ordinary request.
    #[serde(flatten)]
    pub rates: TokenRates,
    /// Other rates for long prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<CostTier>,
}

/// One set of rates in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenRates {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// The rates of requests above a size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CostTier {
    /// The tier applies to prompts of more tokens than this.
    pub input_tokens_above: u64,
    #[serde(flatten)]
    pub rates: TokenRates,
}

/// Prompt-cache lifetimes in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptCacheLifetimes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<u64>,
}

/// Limits on what one request may carry.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InputLimits {
    /// Bytes of the serialized request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_request_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<ImageLimits>,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// Limits on images.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageLimits {
    /// How images are shrunk before they enter the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resize: Option<ImageResize>,
    /// Images in one message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_message: Option<u64>,
    /// Images in one request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_request: Option<u64>,
}

/// How images are shrunk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageResize {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_height: Option<u32>,
    /// Bytes of the base64 text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// 1 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jpeg_quality: Option<u8>,
}
