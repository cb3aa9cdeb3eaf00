//! Encodes tool declarations for the Responses APIs: function tools, strict or not, and custom tools
//! with a grammar. [`crate::constrained_sampling`] resolves what a tool requests.

use std::collections::BTreeMap;

use pi_protocol::{Message, ProviderError, Tool, transcript};
use serde_json::{Value, json};

use super::compat::ResponsesCompat;
use crate::constrained_sampling::{
    GrammarTool, grammar_input_properties, grammar_tool, strict_parameters,
};

/// How tools are declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolDialect {
    pub strict_tools: bool,
    /// Grammar tools are sent as custom tools.
    pub grammar_tools: bool,
    /// The value of `strict` for a tool that does not request it.
    pub default_strict: DefaultStrict,
}

/// The value of `strict` for a tool that does not request it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefaultStrict {
    /// `false`.
    False,
    /// `null`, which leaves it to the service.
    Null,
}

/// Where a declaration is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeclaredIn {
    /// In the request's list or an `additional_tools` item.
    List,
    /// In the result of a tool search, which loads tools on demand.
    SearchResult,
}

impl ToolDialect {
    pub(super) fn new(compat: &ResponsesCompat, default_strict: DefaultStrict) -> Self {
        Self {
            strict_tools: compat.strict_tools,
            grammar_tools: compat.grammar_tools,
            default_strict,
        }
    }

    pub(super) fn declare(
        self,
        tools: &[Tool],
        declared_in: DeclaredIn,
    ) -> Result<Vec<Value>, ProviderError> {
        tools
            .iter()
            .map(|tool| self.declare_one(tool, declared_in))
            .collect()
    }

    fn declare_one(self, tool: &Tool, declared_in: DeclaredIn) -> Result<Value, ProviderError> {
        let mut declaration = match grammar_tool(tool, self.grammar_tools)? {
            Some(grammar) => custom_tool(tool, &grammar),
            None => self.function_tool(tool)?,
        };
        if declared_in == DeclaredIn::SearchResult {
            declaration["defer_loading"] = true.into();
        }
        Ok(declaration)
    }

    fn function_tool(self, tool: &Tool) -> Result<Value, ProviderError> {
        let strict_schema = strict_parameters(tool, self.strict_tools)?;
        let strict = match (&strict_schema, self.default_strict) {
            (Some(_), _) => Value::Bool(true),
            (None, DefaultStrict::False) => Value::Bool(false),
            (None, DefaultStrict::Null) => Value::Null,
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

/// The property that receives the sampled text, by the name of the grammar tool.
pub(crate) type GrammarProperties = BTreeMap<String, String>;

/// Finds the grammar tools among all tools that a transcript declares.
pub(crate) fn grammar_properties(
    messages: &[Message],
    compat: &ResponsesCompat,
) -> Result<GrammarProperties, ProviderError> {
    grammar_input_properties(&transcript::declared_tools(messages), compat.grammar_tools)
}
