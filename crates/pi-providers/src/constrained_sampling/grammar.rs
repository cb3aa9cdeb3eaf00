//! Grammar tools: their declaration, their streamed arguments and their input on replay.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pi_protocol::{ConstrainedSampling, ProviderError, Tool, ToolCall, json};
use serde_json::Value;

/// A tool constrained by a grammar: its arguments are one string property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrammarTool {
    /// `lark` or `regex`.
    pub syntax: &'static str,
    pub definition: String,
    /// The property that receives the sampled text.
    pub input_property: String,
}

/// Returns the grammar of a tool if the tool has one and the API supports custom tools.
pub(crate) fn grammar_tool(
    tool: &Tool,
    api_has_grammars: bool,
) -> Result<Option<GrammarTool>, ProviderError> {
    let Some(ConstrainedSampling::Grammar(variants)) = &tool.constrained_sampling else {
        return Ok(None);
    };
    if !api_has_grammars {
        return Ok(None);
    }
    let grammar_error = |reason: &str| {
        ProviderError::invalid(format!(
            "Tool \"{}\" cannot use a grammar: {reason}",
            tool.name
        ))
    };
    let non_blank = |grammar: &Option<String>| {
        grammar
            .clone()
            .filter(|definition| !definition.trim().is_empty())
    };
    let (syntax, definition) = non_blank(&variants.openai_lark)
        .map(|definition| ("lark", definition))
        .or_else(|| non_blank(&variants.openai_regex).map(|definition| ("regex", definition)))
        .ok_or_else(|| grammar_error("it has no grammar in a syntax that this model supports"))?;
    let input_property = input_property(&tool.parameters).map_err(grammar_error)?;
    Ok(Some(GrammarTool {
        syntax,
        definition,
        input_property: input_property.to_owned(),
    }))
}

/// Returns the input property of every grammar tool, by tool name.
pub(crate) fn grammar_input_properties(
    tools: &[Tool],
    api_has_grammars: bool,
) -> Result<BTreeMap<String, String>, ProviderError> {
    let mut properties = BTreeMap::new();
    for tool in tools {
        if let Some(grammar) = grammar_tool(tool, api_has_grammars)? {
            properties.insert(tool.name.clone(), grammar.input_property);
        }
    }
    Ok(properties)
}

fn input_property(parameters: &Value) -> Result<&str, &'static str> {
    if parameters.get("type").and_then(Value::as_str) != Some("object") {
        return Err("its parameters are not an object");
    }
    let required = parameters.get("required").and_then(Value::as_array);
    let Some([Value::String(name)]) = required.map(Vec::as_slice) else {
        return Err("it must require exactly one property");
    };
    let property = parameters
        .get("properties")
        .and_then(|properties| properties.get(name))
        .ok_or("its required property is not declared")?;
    if property.get("type").and_then(Value::as_str) != Some("string") {
        return Err("its required property is not a string");
    }
    Ok(name)
}

/// Returns the raw input of a grammar tool's call, for replay.
///
/// A call of a model without grammar support may lack the property; its arguments are then sent as
/// JSON, since a history must remain sendable.
pub(crate) fn raw_input<'call>(call: &'call ToolCall, input_property: &str) -> Cow<'call, str> {
    match call.arguments.get(input_property) {
        Some(Value::String(input)) => Cow::Borrowed(input),
        _ => Cow::Owned(json::to_string(&call.arguments).unwrap_or_default()),
    }
}

/// Converts the streamed raw input of a grammar tool into the JSON text of the arguments.
#[derive(Debug)]
pub(crate) struct GrammarInput {
    property: String,
    input: String,
    state: GrammarInputState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GrammarInputState {
    Empty,
    Open,
    Closed,
}

impl GrammarInput {
    /// Starts the arguments of a call whose input goes to the given property.
    pub(crate) fn new(property: impl Into<String>) -> Self {
        Self {
            property: property.into(),
            input: String::new(),
            state: GrammarInputState::Empty,
        }
    }

    /// Consumes the next part of the input and returns its JSON text, which may be empty.
    pub(crate) fn push(&mut self, delta: &str) -> Result<String, ProviderError> {
        match self.state {
            _ if delta.is_empty() => Ok(String::new()),
            GrammarInputState::Closed => Err(ProviderError::protocol(format!(
                "The service appended to the input \"{}\" after its end",
                self.property
            ))),
            GrammarInputState::Empty | GrammarInputState::Open => Ok(self.extend(delta)),
        }
    }

    /// Ends the input and returns the remaining JSON text, which may be empty.
    ///
    /// If the service repeats the complete input, it must match what was streamed.
    pub(crate) fn close(&mut self, complete: Option<&str>) -> Result<String, ProviderError> {
        let rest = match complete {
            Some(complete) => complete.strip_prefix(self.input.as_str()),
            None => Some(""),
        };
        match (rest, self.state) {
            (Some(""), GrammarInputState::Closed) => Ok(String::new()),
            (Some(rest), GrammarInputState::Empty | GrammarInputState::Open) => {
                let mut json = self.extend(rest);
                json.push_str("\"}");
                self.state = GrammarInputState::Closed;
                Ok(json)
            }
            (Some(_), GrammarInputState::Closed) | (None, _) => {
                Err(ProviderError::protocol(format!(
                    "The service changed the input \"{}\" after it was streamed",
                    self.property
                )))
            }
        }
    }

    fn extend(&mut self, delta: &str) -> String {
        let mut json = String::with_capacity(delta.len() + 16);
        if self.state == GrammarInputState::Empty {
            json.push('{');
            json.push_str(&Value::from(self.property.as_str()).to_string());
            json.push_str(":\"");
            self.state = GrammarInputState::Open;
        }
        let quoted = Value::from(delta).to_string();
        json.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
        self.input.push_str(delta);
        json
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn tool(variants: &Value, parameters: &Value) -> Tool {
        serde_json::from_value(
            json!({"name": "patch", "description": "", "parameters": parameters,
            "constrainedSampling": {"type": "grammar", "variants": variants}}),
        )
        .unwrap()
    }

    fn one_string() -> Value {
        json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]})
    }

    #[test]
    fn lark_is_preferred_to_regex() {
        let both = tool(
            &json!({"openai_lark": "start: X", "openai_regex": "x+"}),
            &one_string(),
        );
        let regex = tool(
            &json!({"openai_lark": " ", "openai_regex": "x+"}),
            &one_string(),
        );
        let syntax = |tool: &Tool| grammar_tool(tool, true).unwrap().unwrap().syntax;
        assert_eq!((syntax(&both), syntax(&regex)), ("lark", "regex"));
        assert_eq!(grammar_tool(&both, false), Ok(None));
        assert_eq!(
            grammar_input_properties(&[both, regex], true).unwrap(),
            BTreeMap::from([("patch".to_owned(), "input".to_owned())])
        );
    }

    #[test]
    fn a_grammar_needs_exactly_one_string() {
        let lark = json!({"openai_lark": "start: X"});
        for (variants, parameters, reason) in [
            (
                json!({}),
                one_string(),
                "it has no grammar in a syntax that this model supports",
            ),
            (
                lark.clone(),
                json!({"type": "string"}),
                "its parameters are not an object",
            ),
            (
                lark.clone(),
                json!({"type": "object"}),
                "it must require exactly one property",
            ),
            (
                lark.clone(),
                json!({"type": "object", "required": ["a", "b"]}),
                "it must require exactly one property",
            ),
            (
                lark.clone(),
                json!({"type": "object", "required": ["a"]}),
                "its required property is not declared",
            ),
            (
                lark,
                json!({"type": "object", "required": ["a"],
                "properties": {"a": {"type": "number"}}}),
                "its required property is not a string",
            ),
        ] {
            let error = grammar_tool(&tool(&variants, &parameters), true).unwrap_err();
            let expected = format!("Tool \"patch\" cannot use a grammar: {reason}");
            assert_eq!(error.message, expected);
        }
    }

    #[test]
    fn raw_input_becomes_json_arguments() {
        let chunks = ["", "*** \"a\"\n", "\\b\u{1}", "é😀"];
        let mut input = GrammarInput::new("in\"put");
        let mut json = String::new();
        for chunk in chunks {
            json.push_str(&input.push(chunk).unwrap());
        }
        json.push_str(&input.close(Some(&(chunks.concat() + "end"))).unwrap());
        let complete = chunks.concat() + "end";
        let arguments: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(arguments, json!({"in\"put": complete}));
        assert_eq!(input.close(Some(&complete)), Ok(String::new()));
        assert_eq!(input.close(None), Ok(String::new()));
        assert!(input.close(Some("other")).is_err());
        assert!(input.push("more").is_err());
    }

    #[test]
    fn a_missing_input_is_empty() {
        assert_eq!(
            GrammarInput::new("input").close(None).unwrap(),
            r#"{"input":""}"#
        );
        let mut input = GrammarInput::new("input");
        input.push("abc").unwrap();
        assert!(input.close(Some("ab")).is_err());
    }

    #[test]
    fn a_call_is_replayed_with_its_input() {
        let call = |arguments: Value| -> ToolCall {
            serde_json::from_value(json!({"id": "1", "name": "patch", "arguments": arguments}))
                .unwrap()
        };
        assert_eq!(raw_input(&call(json!({"input": "x\n"})), "input"), "x\n");
        assert_eq!(
            raw_input(&call(json!({"other": 1.0})), "input"),
            r#"{"other":1}"#
        );
    }
}
