//! What a service that speaks the Messages API can do, read from the model's compat flags.

use serde::Deserialize;
use serde_json::Value;

use crate::model::{Model, ModelCost};

/// The compat flags of the Messages API with their defaults applied.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compat {
    /// Tools take `eager_input_streaming`; without it a beta asks for the same.
    pub eager_tool_input: bool,
    /// Cache markers take a lifetime of one hour.
    pub long_cache: bool,
    /// The header that ties requests of one session together.
    pub affinity_header: Option<&'static str>,
    /// Tools take cache markers.
    pub cache_on_tools: bool,
    /// The sampling temperature may be set.
    pub temperature: bool,
    /// Thinking is adaptive, steered by an effort instead of a budget.
    pub adaptive_thinking: bool,
    /// Thinking may be replayed with an empty signature.
    pub empty_signature: bool,
    /// Tools may be strict.
    pub strict_tools: bool,
    /// The effort may change between turns, and the history says how.
    pub effort_in_history: bool,
    /// System messages may stand in the conversation.
    pub later_system_messages: bool,
    /// Tools may come and go in the conversation.
    pub later_tool_changes: bool,
    /// Models the service may answer with when the asked one refuses.
    pub fallbacks: Vec<Fallback>,
}

/// A model the service may answer with instead.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Fallback {
    /// Whose prices these are.
    #[serde(default)]
    pub provider: String,
    pub model: String,
    /// What its tokens cost.
    #[serde(default)]
    pub cost: Option<ModelCost>,
}

impl Compat {
    /// Reads the flags of a model.
    pub(super) fn of(model: &Model) -> Self {
        let flag = |name: &str, default: bool| {
            model
                .compat_value(name)
                .and_then(Value::as_bool)
                .unwrap_or(default)
        };
        let is_openrouter =
            model.provider == "openrouter" || model.base_url.contains("openrouter.ai");
        let later_system_messages = flag("supportsMidConvoSystemMessages", false);
        Self {
            eager_tool_input: flag("supportsEagerToolInputStreaming", true),
            long_cache: flag("supportsLongCacheRetention", true),
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

fn fallbacks(model: &Model) -> Vec<Fallback> {
    let Some(Value::Array(entries)) = model.compat_value("allowedFallbackModels") else {
        return Vec::new();
    };
    entries
        .iter()
        .filter_map(|entry| Fallback::deserialize(entry).ok())
        .collect()
}
