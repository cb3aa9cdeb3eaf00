//! Calls about the tools, the model and the thinking level of the current session.

use std::sync::Arc;

use pi_protocol::{Model, ThinkingLevel};
use serde::Serialize;
use serde_json::Value;

use super::group::calls;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct ToolSummary {
    pub(in crate::extensions) name: String,
    pub(in crate::extensions) description: String,
    pub(in crate::extensions) parameters: Value,
    pub(in crate::extensions) prompt_guidelines: Vec<String>,
    pub(in crate::extensions) source_info: ToolSourceInfo,
}

#[derive(Serialize)]
pub(in crate::extensions) struct ToolSourceInfo {
    pub(in crate::extensions) source: &'static str,
    pub(in crate::extensions) path: String,
    pub(in crate::extensions) scope: &'static str,
    pub(in crate::extensions) origin: &'static str,
}

/// A model the user cycles through, with the thinking level to use it with.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::extensions) struct ScopedModelInfo {
    pub(in crate::extensions) model: Arc<Model>,
    pub(in crate::extensions) thinking_level: Option<&'static str>,
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
