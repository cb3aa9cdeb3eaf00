//! The strict form of a JSON schema.
//!
//! Services that sample under a schema accept a subset of JSON Schema: every property is required and
//! no others are allowed. An optional property becomes a required one that may be null.

use pi_protocol::json::JsonObject;
use serde_json::{Value, json};
use thiserror::Error;

/// Keywords that strict schemas do not support.
const UNSUPPORTED_KEYWORDS: [&str; 16] = [
    "$ref",
    "$defs",
    "definitions",
    "allOf",
    "oneOf",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
    "prefixItems",
    "not",
    "if",
    "then",
    "else",
];

/// Why a schema has no strict form; completes the sentence "requires a strict schema, but …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum StrictSchemaError {
    #[error("its schema is not of type object")]
    RootNotObject,
    #[error("it contains a boolean schema")]
    BooleanSchema,
    #[error("it uses {0}")]
    Keyword(&'static str),
    #[error("it has an anyOf without alternatives")]
    EmptyUnion,
    #[error("it has a union of objects or arrays")]
    StructuredUnion,
    #[error("it contains a tuple schema")]
    Tuple,
    #[error("it has properties without being an object")]
    StrayProperties,
    #[error("it allows additional properties")]
    OpenObject,
    #[error("its properties are not an object")]
    MalformedProperties,
    #[error("its list of required properties is malformed")]
    MalformedRequired,
    #[error("it requires an undeclared property")]
    UnknownRequired,
}

pub(crate) fn strict_schema(schema: &Value) -> Result<Value, StrictSchemaError> {
    let mut strict = schema.clone();
    if !strict.is_object() {
        return Err(StrictSchemaError::RootNotObject);
    }
    tighten(&mut strict)?;
    if strict.get("type").and_then(Value::as_str) != Some("object") {
        return Err(StrictSchemaError::RootNotObject);
    }
    Ok(strict)
}

fn tighten(schema: &mut Value) -> Result<(), StrictSchemaError> {
    let Value::Object(schema) = schema else {
        return Err(StrictSchemaError::BooleanSchema);
    };
    if let Some(keyword) = UNSUPPORTED_KEYWORDS
        .into_iter()
        .find(|keyword| schema.contains_key(*keyword))
    {
        return Err(StrictSchemaError::Keyword(keyword));
    }
    if let Some(union) = schema.get_mut("anyOf") {
        tighten_union(union)?;
    }
    match schema.get_mut("items") {
        Some(Value::Array(_)) => return Err(StrictSchemaError::Tuple),
        Some(items) => tighten(items)?,
        None => {}
    }
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        tighten_object(schema)
    } else if schema.contains_key("properties") {
        Err(StrictSchemaError::StrayProperties)
    } else {
        Ok(())
    }
}

fn tighten_union(union: &mut Value) -> Result<(), StrictSchemaError> {
    let Some(alternatives) = union.as_array_mut().filter(|list| !list.is_empty()) else {
        return Err(StrictSchemaError::EmptyUnion);
    };
    for alternative in alternatives {
        if is_structured(alternative) {
            return Err(StrictSchemaError::StructuredUnion);
        }
        tighten(alternative)?;
    }
    Ok(())
}

fn tighten_object(schema: &mut JsonObject) -> Result<(), StrictSchemaError> {
    if !matches!(
        schema.get("additionalProperties"),
        None | Some(Value::Bool(false))
    ) {
        return Err(StrictSchemaError::OpenObject);
    }
    let required = required_names(schema)?;
    let mut names = Vec::new();
    match schema.get_mut("properties") {
        None => {}
        Some(Value::Object(properties)) => {
            for (name, property) in properties {
                tighten(property)?;
                if !required.contains(name) && !allows_null(property) {
                    *property = json!({"anyOf": [property.take(), {"type": "null"}]});
                }
                names.push(name.clone());
            }
        }
        Some(_) => return Err(StrictSchemaError::MalformedProperties),
    }
    if required.iter().any(|name| !names.contains(name)) {
        return Err(StrictSchemaError::UnknownRequired);
    }
    schema.insert("required".into(), names.into());
    schema.insert("additionalProperties".into(), false.into());
    Ok(())
}

fn required_names(schema: &JsonObject) -> Result<Vec<String>, StrictSchemaError> {
    match schema.get("required") {
        None => Ok(Vec::new()),
        Some(Value::Array(names)) => names
            .iter()
            .map(|name| name.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or(StrictSchemaError::MalformedRequired),
        Some(_) => Err(StrictSchemaError::MalformedRequired),
    }
}

/// Whether a schema's `type` is or contains the given type.
fn has_type(schema: &JsonObject, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(names)) => names.iter().any(|one| one == name),
        _ => false,
    }
}

fn is_structured(schema: &Value) -> bool {
    schema.as_object().is_some_and(|schema| {
        has_type(schema, "object")
            || has_type(schema, "array")
            || schema.contains_key("properties")
            || schema.contains_key("items")
    })
}

fn allows_null(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return false;
    };
    let any_in = |keyword: &str, predicate: fn(&Value) -> bool| {
        schema
            .get(keyword)
            .and_then(Value::as_array)
            .is_some_and(|list| list.iter().any(predicate))
    };
    has_type(schema, "null")
        || schema.get("const").is_some_and(Value::is_null)
        || any_in("enum", Value::is_null)
        || any_in("anyOf", allows_null)
}

#[cfg(test)]
mod tests {
    use pi_protocol::json::value_to_string;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn optional_properties_become_nullable_and_required() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1},
                "mode": {"enum": ["a", null]},
                "nested": {"type": "object", "properties": {"x": {"type": ["string", "null"]}}},
                "list": {"type": "array", "items": {"type": "object", "properties": {"y": {"anyOf": [
                    {"type": "string"}, {"type": "number"}]}}}}
            },
            "required": ["path", "nested", "list"],
            "description": "kept"
        });
        // Key order reaches the model, so compare the text.
        assert_eq!(
            value_to_string(&strict_schema(&schema).unwrap()),
            value_to_string(&json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
                    "mode": {"enum": ["a", null]},
                    "nested": {"type": "object",
                        "properties": {"x": {"type": ["string", "null"]}},
                        "required": ["x"], "additionalProperties": false},
                    "list": {"type": "array", "items": {"type": "object",
                        "properties": {"y": {"anyOf": [
                            {"anyOf": [{"type": "string"}, {"type": "number"}]},
                            {"type": "null"}]}},
                        "required": ["y"], "additionalProperties": false}}
                },
                "required": ["path", "limit", "mode", "nested", "list"],
                "description": "kept",
                "additionalProperties": false
            }))
        );
    }

    #[test]
    fn unsupported_schemas_have_no_strict_form() {
        let with = |property: Value| json!({"type": "object", "properties": {"p": property}});
        for (schema, reason) in [
            (json!(true), StrictSchemaError::RootNotObject),
            (json!({"type": "string"}), StrictSchemaError::RootNotObject),
            (
                json!({"properties": {}}),
                StrictSchemaError::StrayProperties,
            ),
            (with(json!(true)), StrictSchemaError::BooleanSchema),
            (
                with(json!({"$ref": "#/$defs/x"})),
                StrictSchemaError::Keyword("$ref"),
            ),
            (
                with(json!({"oneOf": []})),
                StrictSchemaError::Keyword("oneOf"),
            ),
            (with(json!({"anyOf": []})), StrictSchemaError::EmptyUnion),
            (
                with(json!({"anyOf": [{"type": ["array"]}]})),
                StrictSchemaError::StructuredUnion,
            ),
            (
                with(json!({"anyOf": [false]})),
                StrictSchemaError::BooleanSchema,
            ),
            (
                with(json!({"type": "array", "items": [{}]})),
                StrictSchemaError::Tuple,
            ),
            (
                json!({"type": "object", "additionalProperties": {}}),
                StrictSchemaError::OpenObject,
            ),
            (
                json!({"type": "object", "properties": []}),
                StrictSchemaError::MalformedProperties,
            ),
            (
                json!({"type": "object", "required": [1]}),
                StrictSchemaError::MalformedRequired,
            ),
            (
                json!({"type": "object", "required": ["p"]}),
                StrictSchemaError::UnknownRequired,
            ),
        ] {
            assert_eq!(strict_schema(&schema), Err(reason), "{schema}");
        }
    }
}
