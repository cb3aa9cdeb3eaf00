//! What a record must look like: the members that are named, whatever else there is.

use serde_json::Value;

/// Returns whether the value has everything the pattern names.
///
/// An object names some members, a list some elements in any order; text that begins with `~` names a part of the
/// text. Everything else is equal or not.
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
        // What was sent as text or as blocks of it is looked for in the whole.
        (Value::String(pattern), other) => pattern
            .strip_prefix('~')
            .is_some_and(|part| other.to_string().contains(part)),
        _ => pattern == value,
    }
}
