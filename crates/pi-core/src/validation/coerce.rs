//! Coerces values to the type the schema expects, where the meaning is clear.
//!
//! `null` is dropped for optional properties and never converted: a `null` path is an error, not a
//! file with that name.

use serde_json::{Map, Number, Value};

use super::faults::pattern_schemas;
use super::validator::Validator;

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
    if let Some(equal) = equal_constant(&value, schema) {
        value = equal;
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

pub(super) fn type_names(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn has_type(value: &Value, name: &str) -> bool {
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
        ("number", _) => number_from(value).map(Value::Number),
        ("integer", _) => number_from(value).and_then(|number| whole(&number)),
        ("boolean", Value::String(text)) => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(Value::Bool(true)),
            "false" | "0" => Some(Value::Bool(false)),
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
        ("null", Value::String(text)) => {
            let means_nothing = ["", "0", "null", "undefined"].contains(&text.as_str());
            means_nothing.then_some(Value::Null)
        }
        ("null", Value::Bool(false)) => Some(Value::Null),
        ("null", Value::Number(number)) => (number.as_f64() == Some(0.0)).then_some(Value::Null),
        // A single value in place of a list.
        ("array", _) if !value.is_null() => Some(Value::Array(vec![value.clone()])),
        _ => None,
    }
}

/// Returns the constant of the schema that the value means, if it is none of them.
fn equal_constant(value: &Value, schema: &Value) -> Option<Value> {
    let constants = schema
        .get("const")
        .into_iter()
        .chain(subschemas(schema, "enum"));
    let constants: Vec<&Value> = constants.collect();
    if constants.contains(&value) {
        return None;
    }
    let type_of = |constant: &Value| match constant {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) | Value::Object(_) => "",
    };
    let is_meant = |constant: &&Value| {
        convert(value, type_of(constant)).is_some_and(|converted| same(&converted, constant))
    };
    constants.into_iter().find(is_meant).cloned()
}

/// Whether two values are equal; numbers by value, so that 1 is 1.0.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

/// Returns the number that a number, a boolean or a text means; the empty text is 0.
fn number_from(value: &Value) -> Option<Number> {
    let text = match value {
        Value::Number(number) => return Some(number.clone()),
        Value::Bool(flag) => return Some(u8::from(*flag).into()),
        Value::String(text) => text.trim(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let parsed = match text {
        "" | "false" => return Some(0.into()),
        "true" => return Some(1.into()),
        _ => text.parse::<i64>(),
    };
    if let Ok(integer) = parsed {
        return Some(integer.into());
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = text.to_ascii_lowercase().strip_prefix(prefix) {
            return i64::from_str_radix(digits, radix).ok().map(Number::from);
        }
    }
    Number::from_f64(text.parse::<f64>().ok()?)
}

/// Returns the number without its fraction.
fn whole(number: &Number) -> Option<Value> {
    if number.is_i64() || number.is_u64() {
        return Some(Value::Number(number.clone()));
    }
    let float = number.as_f64()?.trunc();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked to be in the range that integers represent exactly"
    )]
    (float.abs() < 9_007_199_254_740_992.0).then(|| Value::from(float as i64))
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
    Validator::new(schema).is_ok_and(|validator| validator.is_valid(value))
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
            let by_pattern = schema
                .as_object()
                .and_then(|node| pattern_schemas(node, &name).into_iter().next());
            let Some(schema) = own.or(by_pattern).or(additional) else {
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
    let positional = schema.get("prefixItems").or(schema.get("items"));
    match positional {
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
