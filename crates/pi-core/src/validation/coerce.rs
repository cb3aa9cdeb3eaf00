//! Coerces values to the type the schema expects, where the meaning is clear.
//!
//! `null` is dropped for optional properties and never converted: a `null` path is an error, not an
//! empty path.

use serde_json::{Map, Number, Value};

pub(super) fn coerce(value: Value, schema: &Value) -> Value {
    let mut value = value;
    for nested in subschemas(schema, "allOf") {
        value = coerce(value, nested);
    }
    for keyword in ["anyOf", "oneOf"] {
        value = coerce_to_one_of(value, subschemas(schema, keyword));
    }
    let types = type_names(schema);
    if !types.iter().any(|name| has_type(&value, name))
        && let Some(coerced) = types.iter().find_map(|name| convert(&value, name))
    {
        value = coerced;
    }
    match value {
        Value::Object(fields) => Value::Object(coerce_fields(fields, schema)),
        Value::Array(items) => Value::Array(coerce_items(items, schema)),
        other => other,
    }
}

fn subschemas<'schema>(schema: &'schema Value, keyword: &str) -> &'schema [Value] {
    schema
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn type_names(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match (value, name) {
        (Value::Number(number), "integer") => is_integer(number),
        (Value::Number(_), "number")
        | (Value::Bool(_), "boolean")
        | (Value::String(_), "string")
        | (Value::Null, "null")
        | (Value::Array(_), "array")
        | (Value::Object(_), "object") => true,
        _ => false,
    }
}

fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

fn convert(value: &Value, name: &str) -> Option<Value> {
    match (name, value) {
        ("number", Value::String(text)) => number_from(text).map(Value::Number),
        ("integer", Value::String(text)) => number_from(text).filter(is_integer).map(Value::Number),
        ("number" | "integer", Value::Bool(flag)) => Some(Value::from(u8::from(*flag))),
        ("boolean", Value::String(text)) => match text.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        ("boolean", Value::Number(number)) => match number.as_f64() {
            Some(0.0) => Some(Value::Bool(false)),
            Some(1.0) => Some(Value::Bool(true)),
            _ => None,
        },
        ("string", Value::Number(_) | Value::Bool(_)) => {
            Some(Value::String(pi_protocol::json::value_to_string(value)))
        }
        ("null", Value::String(text)) if text.is_empty() => Some(Value::Null),
        _ => None,
    }
}

/// Parses a number like JSON, and falls back to common notations such as `+5` or ` 5 `.
fn number_from(text: &str) -> Option<Number> {
    let text = text.trim();
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    Number::from_f64(text.parse::<f64>().ok()?)
}

fn coerce_to_one_of(value: Value, schemas: &[Value]) -> Value {
    if schemas.is_empty() || schemas.iter().any(|schema| accepts(schema, &value)) {
        return value;
    }
    schemas
        .iter()
        .map(|schema| (schema, coerce(value.clone(), schema)))
        .find(|(schema, coerced)| accepts(schema, coerced))
        .map_or(value, |(_, coerced)| coerced)
}

fn accepts(schema: &Value, value: &Value) -> bool {
    jsonschema::validator_for(schema).is_ok_and(|validator| validator.is_valid(value))
}

fn coerce_fields(fields: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let additional = schema
        .get("additionalProperties")
        .filter(|schema| schema.is_object());
    let required: Vec<&str> = subschemas(schema, "required")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    fields
        .into_iter()
        .filter_map(|(name, value)| {
            let own = properties.and_then(|properties| properties.get(&name));
            let Some(schema) = own.or(additional) else {
                return Some((name, value));
            };
            let is_absent = value.is_null()
                && own.is_some()
                && !required.contains(&name.as_str())
                && schema.get("$ref").is_none()
                && !accepts(schema, &Value::Null);
            (!is_absent).then(|| {
                let coerced = coerce(value, schema);
                (name, coerced)
            })
        })
        .collect()
}

fn coerce_items(items: Vec<Value>, schema: &Value) -> Vec<Value> {
    match schema.get("items") {
        Some(Value::Array(schemas)) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| match schemas.get(index) {
                Some(schema) => coerce(item, schema),
                None => item,
            })
            .collect(),
        Some(schema @ Value::Object(_)) => {
            items.into_iter().map(|item| coerce(item, schema)).collect()
        }
        _ => items,
    }
}
