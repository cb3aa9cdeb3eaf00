//! Prompt templates as prompts. Prompts of connected MCP servers are not among them: clients connect to those themselves.

use pi_config::PromptTemplate;
use pi_protocol::JsonRpcError;
use serde_json::{Map, Value, json};

/// Returns the templates as `prompts/list` does.
pub(super) fn declarations(templates: &[PromptTemplate]) -> Value {
    let prompts = templates.iter().map(|template| {
        let arguments = template.parameters().into_iter().map(|parameter| {
            let mut argument = json!({
                "name": parameter.name,
                "required": parameter.is_required,
            });
            if let Some(description) = parameter.description {
                argument["description"] = description.into();
            }
            argument
        });
        json!({
            "name": template.name,
            "description": template.description,
            "arguments": arguments.collect::<Vec<_>>(),
        })
    });
    json!({"prompts": prompts.collect::<Vec<_>>()})
}

/// Returns a template with its arguments, as `prompts/get` does.
pub(super) fn get(templates: &[PromptTemplate], params: &Value) -> Result<Value, JsonRpcError> {
    let name = params.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| JsonRpcError::invalid_params("name", "must be a string"))?;
    let template = templates.iter().find(|template| template.name == name);
    let template = template
        .ok_or_else(|| JsonRpcError::invalid_params("name", format!("is unknown: {name}")))?;
    let invalid = |name: &str, problem: &str| JsonRpcError::invalid_params(name, problem);
    let none = Map::new();
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(invalid("arguments", "must be an object")),
    };
    let parameters = template.parameters();
    for (name, value) in arguments {
        if parameters.iter().all(|parameter| parameter.name != *name) {
            return Err(invalid(name, "is not an argument of this prompt"));
        }
        if !value.is_string() {
            return Err(invalid(name, "must be a string"));
        }
    }
    let value = |name: &str| arguments.get(name).and_then(Value::as_str);
    let missing = parameters
        .iter()
        .find(|parameter| parameter.is_required && value(&parameter.name).is_none());
    if let Some(missing) = missing {
        return Err(invalid(&missing.name, "is required"));
    }
    let text = template.fill(|parameter| value(&parameter.name));
    Ok(json!({
        "description": template.description,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }))
}
