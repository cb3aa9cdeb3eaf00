//! Partial matching of JSON records.

use serde_json::Value;

/// Returns whether the value matches the pattern.
///
/// An object pattern matches a subset of the members, an array pattern a subset of the elements in any order. A string
/// that starts with `~` matches a substring. Everything else must be equal.
pub(crate) fn matches(pattern: &Value, value: &Value) -> bool {
    match (pattern, value) {
        (Value::Object(pattern), Value::Object(value)) => pattern
            .iter()
            .all(|(name, part)| value.get(name).is_some_and(|value| matches(part, value))),
        (Value::Array(pattern), Value::Array(values)) => pattern
            .iter()
            .all(|part| values.iter().any(|value| matches(part, value))),
        (Value::String(pattern), Value::String(text)) => match pattern.strip_prefix('~') {
            Some(part) => text.contains(part),
            None => text == pattern,
        },
        // Searches the serialized value, since content may be a string or a list of blocks.
        (Value::String(pattern), other) => pattern
            .strip_prefix('~')
            .is_some_and(|part| other.to_string().contains(part)),
        _ => pattern == value,
    }
}
