//! Schemas of the arguments and results of tools.

use serde_json::{Map, Value, json};

/// Providers need an object with properties; servers may omit both.
pub(super) fn parameters(schema: Option<&Value>) -> Value {
    let mut schema = match schema {
        Some(Value::Object(schema)) => schema.clone(),
        _ => Map::new(),
    };
    if schema.get("type").is_none_or(Value::is_null) {
        schema.insert("type".to_owned(), "object".into());
    }
    if !schema.contains_key("properties") {
        schema.insert("properties".to_owned(), json!({}));
    }
    Value::Object(schema)
}

/// Returns the schema of what scripts receive: the result of the call, with the tool's own schema for its structured content.
pub(super) fn result_schema(structured: Option<&Value>) -> Value {
    let structured = structured.map_or_else(
        || json!({}),
        |schema| relocated(schema, "#/properties/structuredContent", 0),
    );
    json!({
        "type": "object",
        "properties": {
            "content": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "type": {"enum": ["text", "image", "audio", "resource_link", "resource"]},
                        "text": {"type": "string"},
                        "data": {"type": "string"},
                        "mimeType": {"type": "string"},
                    },
                    "required": ["type"],
                    "additionalProperties": true,
                },
            },
            "structuredContent": structured,
            "isError": {"type": "boolean"},
        },
        "required": ["content"],
        "additionalProperties": true,
    })
}

/// Deeper schemas are not followed.
const MAX_SCHEMA_DEPTH: usize = 64;

/// Returns a schema as a part of another one: references within it still find their targets.
fn relocated(schema: &Value, pointer: &str, depth: usize) -> Value {
    if depth > MAX_SCHEMA_DEPTH {
        return json!({});
    }
    match schema {
        Value::Array(items) => {
            let items = items.iter();
            items
                .map(|item| relocated(item, pointer, depth + 1))
                .collect()
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("$ref", Value::String(target)) => match target.strip_prefix('#') {
                        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                            format!("{pointer}{rest}").into()
                        }
                        _ => value.clone(),
                    },
                    ("const" | "enum" | "default" | "examples", _) => value.clone(),
                    (
                        "properties" | "patternProperties" | "dependentSchemas" | "dependencies"
                        | "$defs" | "definitions",
                        Value::Object(named),
                    ) => {
                        let named = named.iter().map(|(name, schema)| {
                            (name.clone(), relocated(schema, pointer, depth + 1))
                        });
                        Value::Object(named.collect())
                    }
                    _ => relocated(value, pointer, depth + 1),
                };
                (key.clone(), value)
            });
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn references_in_output_schemas_stay_valid() {
        let schema = json!({
            "$defs": {"a": {"type": "string"}},
            "properties": {"$ref": {"$ref": "#/$defs/a"}, "x": {"$ref": "#"}},
            "enum": [{"$ref": "#/kept"}],
        });
        let result = result_schema(Some(&schema));
        let structured = &result["properties"]["structuredContent"];
        assert_eq!(
            structured["properties"]["$ref"]["$ref"],
            json!("#/properties/structuredContent/$defs/a")
        );
        assert_eq!(
            structured["properties"]["x"]["$ref"],
            json!("#/properties/structuredContent")
        );
        assert_eq!(structured["enum"][0]["$ref"], json!("#/kept"));
    }

    #[test]
    fn a_deep_schema_is_cut() {
        let mut schema = json!({});
        for _ in 0..1_000 {
            schema = json!({ "items": schema });
        }
        assert!(result_schema(Some(&schema)).to_string().len() < 2_000);
    }
}
