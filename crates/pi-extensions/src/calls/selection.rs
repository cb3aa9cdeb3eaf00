//! Calls about the tools, the model and the thinking level of the current session.

use std::sync::Arc;

use pi_protocol::{Model, ThinkingLevel};
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
    pub(crate) source_info: ToolSourceInfo,
}

#[derive(Serialize)]
pub(crate) struct ToolSourceInfo {
    pub(crate) source: &'static str,
    pub(crate) path: String,
    pub(crate) scope: &'static str,
    pub(crate) origin: &'static str,
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
