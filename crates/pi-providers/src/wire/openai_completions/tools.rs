//! Encodes tools: function tools, and custom tools whose input is constrained by a grammar.

use std::collections::BTreeMap;

use pi_protocol::{Message, ProviderError, Tool, ToolCall, json, transcript};
use serde::Serialize;
use serde_json::Value;

use super::cache::ChatCacheControl;
use super::compat::CompletionsCompat;
use crate::constrained_sampling::{
    grammar_input_properties, grammar_tool, raw_input, strict_parameters,
};

/// For every custom tool, the argument that receives the sampled text.
pub(super) type GrammarInputs = BTreeMap<String, String>;

/// Collects the inputs of every tool that a transcript declares.
pub(super) fn grammar_inputs(
    messages: &[Message],
    compat: &CompletionsCompat,
) -> Result<GrammarInputs, ProviderError> {
    if !compat.supports_grammar_tools {
        return Ok(GrammarInputs::new());
    }
    grammar_input_properties(&transcript::declared_tools(messages), true)
}

#[derive(Debug, Serialize)]
pub(super) struct ChatTool {
    #[serde(flatten)]
    kind: ChatToolKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<ChatCacheControl>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ChatToolKind {
    Function { function: FunctionTool },
    Custom { custom: CustomTool },
}

#[derive(Debug, Serialize)]
struct FunctionTool {
    name: String,
    description: String,
    parameters: Value,
    /// Omitted if the service does not support it: some reject unknown fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Debug, Serialize)]
struct CustomTool {
    name: String,
    description: String,
    format: CustomFormat,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum CustomFormat {
    Grammar { grammar: Grammar },
}

#[derive(Debug, Serialize)]
struct Grammar {
    syntax: &'static str,
    definition: String,
}

impl ChatTool {
    /// Declares a tool with the constraints that the service supports.
    pub(super) fn declare(tool: &Tool, compat: &CompletionsCompat) -> Result<Self, ProviderError> {
        let (name, description) = (tool.name.clone(), tool.description.clone());
        let kind = match grammar_tool(tool, compat.supports_grammar_tools)? {
            Some(grammar) => ChatToolKind::Custom {
                custom: CustomTool {
                    name,
                    description,
                    format: CustomFormat::Grammar {
                        grammar: Grammar {
                            syntax: grammar.syntax,
                            definition: grammar.definition,
                        },
                    },
                },
            },
            None => {
                let strict = strict_parameters(tool, compat.supports_strict_mode)?;
                ChatToolKind::Function {
                    function: FunctionTool {
                        name,
                        description,
                        strict: compat.supports_strict_mode.then_some(strict.is_some()),
                        parameters: strict.unwrap_or_else(|| tool.parameters.clone()),
                    },
                }
            }
        };
        Ok(Self {
            kind,
            cache_control: None,
        })
    }
}

/// A call in a replayed assistant message.
#[derive(Debug, Serialize)]
pub(super) struct ChatToolCall {
    id: String,
    #[serde(flatten)]
    kind: ChatToolCallKind,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ChatToolCallKind {
    Function { function: FunctionCall },
    Custom { custom: CustomCall },
}

#[derive(Debug, Serialize)]
struct FunctionCall {
    name: String,
    arguments: String,
}

#[derive(Debug, Serialize)]
struct CustomCall {
    name: String,
    input: String,
}

impl ChatToolCall {
    /// Replays a call, as a custom call if its tool is a custom tool.
    pub(super) fn replay(call: &ToolCall, inputs: &GrammarInputs) -> Self {
        let name = call.name.clone();
        let kind = match inputs.get(&call.name) {
            Some(property) => ChatToolCallKind::Custom {
                custom: CustomCall {
                    name,
                    input: raw_input(call, property).into_owned(),
                },
            },
            None => ChatToolCallKind::Function {
                function: FunctionCall {
                    name,
                    arguments: json::to_string(&call.arguments).unwrap_or_default(),
                },
            },
        };
        Self {
            id: call.id.clone(),
            kind,
        }
    }
}
