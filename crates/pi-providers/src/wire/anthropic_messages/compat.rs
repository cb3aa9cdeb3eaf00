//! Capabilities of a service with the Messages API, from the model's compat flags.

use pi_protocol::{Model, ModelCost};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::openrouter;

/// The compat flags of the Messages API with defaults applied.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MessagesCompat {
    /// Tools accept `eager_input_streaming`; otherwise a beta enables it.
    pub eager_tool_input: bool,
    /// Cache markers accept a TTL of one hour.
    pub long_cache: bool,
    /// Usage reports say what the response cost.
    pub billed_cost: bool,
    /// The header that identifies the session of a request.
    pub affinity_header: Option<&'static str>,
    pub cache_on_tools: bool,
    pub temperature: bool,
    /// Thinking is adaptive and controlled by an effort instead of a budget.
    pub adaptive_thinking: bool,
    /// Thinking may be replayed with an empty signature.
    pub empty_signature: bool,
    pub strict_tools: bool,
    /// The effort may change between turns, and the history records it.
    pub effort_in_history: bool,
    /// System messages are allowed within the conversation.
    pub later_system_messages: bool,
    /// Tools may be added and removed within the conversation.
    pub later_tool_changes: bool,
    /// Models that may respond if the requested one refuses.
    pub fallbacks: Vec<AllowedFallback>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct AllowedFallback {
    /// The provider that the prices are for.
    #[serde(default)]
    pub provider: String,
    pub model: String,
    #[serde(default)]
    pub cost: Option<ModelCost>,
}

impl MessagesCompat {
    pub(super) fn for_model(model: &Model) -> Self {
        let flag = |name: &str, default: bool| {
            model
                .compat_value(name)
                .and_then(Value::as_bool)
                .unwrap_or(default)
        };
        let is_openrouter = openrouter::is_openrouter(model);
        let later_system_messages = flag("supportsMidConvoSystemMessages", false);
        Self {
            eager_tool_input: flag("supportsEagerToolInputStreaming", true),
            long_cache: flag("supportsLongCacheRetention", true),
            billed_cost: is_openrouter,
            affinity_header: flag("sendSessionAffinityHeaders", is_openrouter)
                .then(|| affinity_header(model, is_openrouter)),
            cache_on_tools: flag("supportsCacheControlOnTools", true),
            temperature: flag("supportsTemperature", true),
            adaptive_thinking: flag("forceAdaptiveThinking", false),
            empty_signature: flag("allowEmptySignature", false),
            strict_tools: flag("supportsStrictTools", false),
            effort_in_history: flag("supportsMidConvoEffort", false),
            later_system_messages,
            later_tool_changes: later_system_messages && flag("supportsMidConvoToolChanges", false),
            fallbacks: fallbacks(model),
        }
    }

    /// Returns the prices of a fallback model of the same provider.
    pub(super) fn fallback_prices(&self, provider: &str, model: &str) -> Option<&ModelCost> {
        self.fallbacks
            .iter()
            .find(|fallback| fallback.provider == provider && fallback.model == model)?
            .cost
            .as_ref()
    }
}

fn affinity_header(model: &Model, is_openrouter: bool) -> &'static str {
    let format = model
        .compat_value("sessionAffinityFormat")
        .and_then(Value::as_str);
    match format {
        Some("openrouter") => "x-session-id",
        None if is_openrouter => "x-session-id",
        Some(_) | None => "x-session-affinity",
    }
}

fn fallbacks(model: &Model) -> Vec<AllowedFallback> {
    let Some(Value::Array(entries)) = model.compat_value("allowedFallbackModels") else {
        return Vec::new();
    };
    entries
        .iter()
        .filter_map(|entry| AllowedFallback::deserialize(entry).ok())
        .collect()
}
