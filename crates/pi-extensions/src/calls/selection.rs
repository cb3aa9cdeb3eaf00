//! Calls about the tools, the model and the thinking level of the current session.

use std::sync::Arc;

use pi_core::{ToolExposure, ToolNamespace};
use pi_protocol::json::JsonObject;
use pi_protocol::{Model, SourceInfo, ThinkingLevel};
use serde::Serialize;
use serde_json::Value;

use super::group::calls;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolSummary {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    pub(crate) prompt_guidelines: Vec<String>,
    pub(crate) exposure: ToolExposure,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<ToolNamespace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) annotations: Option<JsonObject>,
    /// Replaced by the function itself in JavaScript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reaches_tools: Option<bool>,
    pub(crate) source_info: SourceInfo,
}

/// A model the user cycles through, with the thinking level to use it with.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScopedModelInfo {
    pub(crate) model: Arc<Model>,
    pub(crate) thinking_level: Option<&'static str>,
}

calls! {
    trait SelectionCalls {
        call "tools.active" => active_tools() -> Vec<String>;
        call "tools.all" => all_tools() -> Vec<ToolSummary>;
        call "tools.setActive" => set_active_tools(names: Vec<String>);
        call "model.current" => model() -> Option<Arc<Model>>;
        call "model.scoped" => scoped_models() -> Vec<ScopedModelInfo>;
        /// Selects a model; returns whether it exists and can be used.
        request "model.set" => set_model(provider: String, id: String) -> bool;
        call "thinking.level" => thinking_level() -> &'static str;
        call "thinking.set" => set_thinking_level(level: ThinkingLevel);
    }
}
