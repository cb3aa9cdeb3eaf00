//! Who may call a tool, and what its callers may know about it.

use pi_protocol::json::JsonObject;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who may call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolExposure {
    /// The model, and other tools while it is active.
    #[default]
    Direct,
    /// Only the model.
    ModelOnly,
    /// Other tools, whether or not it is active.
    Codemode,
    /// Other tools; a tool that loads tools may activate it for the model.
    Deferred,
    /// None, until it is registered with another exposure.
    Hidden,
}

impl ToolExposure {
    /// Whether registering the tool may activate it.
    pub fn activates_on_registration(self) -> bool {
        matches!(self, Self::Direct | Self::ModelOnly)
    }

    /// Whether other tools may call it.
    pub fn is_callable(self, is_active: bool) -> bool {
        match self {
            Self::Codemode | Self::Deferred => true,
            Self::Direct => is_active,
            Self::ModelOnly | Self::Hidden => false,
        }
    }
}

/// A group of tools, such as those of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolNamespace {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aliases: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// Properties of a tool that are not sent to the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolMetadata {
    pub exposure: ToolExposure,
    pub namespace: Option<ToolNamespace>,
    /// Hints about the effects of the tool, such as `readOnlyHint`.
    pub annotations: Option<JsonObject>,
    /// Schema of the structured content of its results.
    pub output_schema: Option<Value>,
    /// Whether the tool can state which other tools a call of it may reach.
    pub reaches_tools: bool,
    /// Whether the tool changes the declarations of the active tools.
    pub prepares_loadout: bool,
    /// Name of the built-in extension that has the tool.
    pub builtin_extension: Option<&'static str>,
}

/// The tools that a call may reach through other tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ReachedTools {
    #[default]
    None,
    All,
    /// Those whose names or namespaces consist of some of these words.
    Words(Vec<String>),
}
