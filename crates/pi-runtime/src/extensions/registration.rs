//! What an extension registers, as our JavaScript tells it.

use pi_ai::ProviderConfig;
use serde::Deserialize;
use serde_json::Value;

/// Everything a factory has registered.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Registrations {
    pub tools: Vec<ToolData>,
    pub commands: Vec<CommandData>,
    pub flags: Vec<FlagData>,
    pub providers: Vec<ProviderData>,
    /// The events that are heard, by all extensions so far.
    pub events: Vec<String>,
}

/// The part of a tool that is data.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ToolData {
    pub name: String,
    pub label: Option<String>,
    pub description: String,
    pub parameters: Value,
    pub prompt_snippet: Option<String>,
    pub prompt_guidelines: Option<Vec<String>>,
    pub execution_mode: Option<pi_agent::ExecutionMode>,
    pub constrained_sampling: Option<Value>,
}

/// The part of a command that is data.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CommandData {
    pub name: String,
    pub description: Option<String>,
}

/// A flag.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct FlagData {
    pub name: String,
    #[serde(rename = "type", default)]
    pub kind: FlagKind,
}

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FlagKind {
    #[default]
    Boolean,
    String,
}

/// The part of a provider that is data.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ProviderData {
    pub name: String,
    pub config: ProviderConfig,
    pub streams: bool,
    pub refreshes: bool,
}
