//! Tool declarations as the Responses APIs take them: function tools, strict or not, and custom tools
//! that sample under a grammar. What a tool asks for is decided in [`crate::constrained_sampling`].

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::compat::ResponsesCompat;
use crate::constrained_sampling::{
    GrammarTool, grammar_input_properties, grammar_tool, strict_parameters,
};
use crate::error::ProviderError;
use crate::message::Message;
use crate::tool_schema::Tool;
use crate::transcript;

/// How function tools are declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolDialect {
    /// Function tools may be strict.
    pub strict_tools: bool,
    /// Grammar tools are sent as custom tools.
    pub grammar_tools: bool,
    /// What `strict` says of a tool that asks for nothing.
    pub unasked_strict: UnaskedStrict,
}

/// What `strict` says of a tool that asks for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnaskedStrict {
    /// `false`.
    False,
    /// `null`, which leaves it to the service.
    Null,
}

/// Where a declaration stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeclaredIn {
    /// In the request's list or an `additional_tools` item.
    List,
    /// In the result of a tool search, which loads tools on demand.
    SearchResult,
}

impl ToolDialect {
    /// Returns the dialect of a service.
    pub(super) fn of(compat: &ResponsesCompat, unasked_strict: UnaskedStrict) -> Self {
        Self {
            strict_tools: compat.strict_tools,
            grammar_tools: compat.grammar_tools,
            unasked_strict,
        }
    }

    /// Declares tools.
    pub(super) fn declare(
        self,
        tools: &[Tool],
        place: DeclaredIn,
    ) -> Result<Vec<Value>, ProviderError> {
        tools
            .iter()
            .map(|tool| self.declare_one(tool, place))
            .collect()
    }

    fn declare_one(self, tool: &Tool, place: DeclaredIn) -> Result<Value, ProviderError> {
        let mut declaration = match grammar_tool(tool, self.grammar_tools)? {
            Some(grammar) => custom_tool(tool, &grammar),
            None => self.function_tool(tool)?,
        };
        if place == DeclaredIn::SearchResult {
            declaration["defer_loading"] = true.into();
        }
        Ok(declaration)
    }

    fn function_tool(self, tool: &Tool) -> Result<Value, ProviderError> {
        let strict_schema = strict_parameters(tool, self.strict_tools)?;
        let strict = match (&strict_schema, self.unasked_strict) {
            (Some(_), _) => Value::Bool(true),
            (None, UnaskedStrict::False) => Value::Bool(false),
            (None, UnaskedStrict::Null) => Value::Null,
        };
        let mut declaration = json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": strict_schema.as_ref().unwrap_or(&tool.parameters),
        });
        if self.strict_tools {
            declaration["strict"] = strict;
        }
        Ok(declaration)
    }
}

fn custom_tool(tool: &Tool, grammar: &GrammarTool) -> Value {
    json!({
        "type": "custom",
        "name": tool.name,
        "description": tool.description,
        "format": {
            "type": "grammar",
            "syntax": grammar.syntax,
            "definition": grammar.definition,
        },
    })
}

/// The property that takes the sampled text, by the name of the grammar tool.
pub(crate) type GrammarProperties = BTreeMap<String, String>;

/// Finds the grammar tools among all tools a transcript ever declared.
pub(crate) fn grammar_properties(
    messages: &[Message],
    compat: &ResponsesCompat,
) -> Result<GrammarProperties, ProviderError> {
    grammar_input_properties(&transcript::declared_tools(messages), compat.grammar_tools)
}
