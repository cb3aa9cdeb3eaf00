//! Strict schemas and grammars for tools, depending on what the API supports.
//!
//! A tool can request that its arguments are sampled under its JSON schema ([`strict_parameters`]) or under a
//! grammar ([`grammar_tool`]). A grammar tool has one string property; on the wire it is a custom tool
//! that streams that string raw. [`GrammarInput`] converts it to JSON arguments and [`raw_input`]
//! back.

mod fallback;
mod grammar;
mod strict_schema;

pub use fallback::strict_tools_fallback;

pub(crate) use grammar::{
    GrammarInput, GrammarTool, grammar_input_properties, grammar_tool, raw_input,
};
pub(crate) use strict_schema::strict_schema;

use pi_protocol::{ConstrainedSampling, ProviderError, Strictness, Tool};
use serde_json::Value;

/// Returns the strict form of a tool's schema if the tool requests it and the API supports it.
///
/// A tool that prefers strictness falls back to its plain schema; one that requires it fails the
/// request.
pub fn strict_parameters(tool: &Tool, api_is_strict: bool) -> Result<Option<Value>, ProviderError> {
    let Some(ConstrainedSampling::JsonSchema(strictness)) = &tool.constrained_sampling else {
        return Ok(None);
    };
    let strict = if api_is_strict {
        strict_schema(&tool.parameters).map_err(|error| error.to_string())
    } else {
        Err("this model does not support strict tools".to_owned())
    };
    match (strict, strictness) {
        (Ok(schema), _) => Ok(Some(schema)),
        (Err(_), Strictness::Prefer) => Ok(None),
        (Err(reason), Strictness::Require) => Err(ProviderError::invalid(format!(
            "Tool \"{}\" requires a strict schema, but {reason}",
            tool.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn strictness_is_preferred_or_required() {
        let tool = |sampling: Value, parameters: Value| -> Tool {
            let mut tool = json!({"name": "t", "description": "", "parameters": parameters});
            if !sampling.is_null() {
                tool["constrainedSampling"] = sampling;
            }
            serde_json::from_value(tool).unwrap()
        };
        let prefer = json!({"type": "json_schema", "strict": "prefer"});
        let require = json!({"type": "json_schema", "strict": "require"});
        let object = json!({"type": "object"});
        let open = json!({"type": "object", "additionalProperties": true});
        let strict = json!({"type": "object", "required": [], "additionalProperties": false});

        for (sampling, parameters, api_is_strict, expected) in [
            (&json!(null), &object, true, Ok(None)),
            (&json!(false), &object, true, Ok(None)),
            (&prefer, &object, true, Ok(Some(strict.clone()))),
            (&prefer, &object, false, Ok(None)),
            (&prefer, &open, true, Ok(None)),
            (&require, &object, true, Ok(Some(strict))),
            (
                &require,
                &object,
                false,
                Err(
                    "Tool \"t\" requires a strict schema, but this model does not support strict tools",
                ),
            ),
            (
                &require,
                &open,
                true,
                Err("Tool \"t\" requires a strict schema, but it allows additional properties"),
            ),
        ] {
            let result =
                strict_parameters(&tool(sampling.clone(), parameters.clone()), api_is_strict);
            assert_eq!(
                result.map_err(|error| error.message),
                expected.map_err(str::to_owned),
                "{sampling} {parameters} {api_is_strict}"
            );
        }
    }
}
