//! Deserializes numbers as JavaScript does: `2.0` is an integer, `2.7` is truncated to 2.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

/// JavaScript's `Number.MAX_SAFE_INTEGER`.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Deserializes a nonnegative number and truncates it to an integer.
pub(super) fn truncated<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if value.is_null() {
        return Ok(None);
    }
    match floor(&value) {
        Some(number) => Ok(Some(number)),
        None => Err(unexpected(&value, "a nonnegative number")),
    }
}

/// Deserializes a nonnegative integer.
pub(super) fn token_count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if value.is_null() {
        return Ok(None);
    }
    match floor(&value) {
        Some(number) if value.as_u64().is_some() || value.as_f64() == as_float(number) => {
            Ok(Some(number))
        }
        Some(_) | None => Err(unexpected(&value, "a nonnegative integer")),
    }
}

/// Deserializes milliseconds: a number, a number in quotes, or `"disabled"` for 0.
pub(super) fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let milliseconds = match &value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().eq_ignore_ascii_case("disabled") => Some(0),
        Value::String(text) => serde_json::from_str(text.trim())
            .ok()
            .and_then(|number: Value| floor(&number)),
        other => floor(other),
    };
    match milliseconds {
        Some(milliseconds) => Ok(Some(milliseconds)),
        None => Err(unexpected(
            &value,
            "a number of milliseconds or \"disabled\"",
        )),
    }
}

fn floor(value: &Value) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return (number <= MAX_SAFE_INTEGER).then_some(number);
    }
    let number = value.as_f64()?;
    if !(0.0..=9_007_199_254_740_991.0).contains(&number) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "range checked above"
    )]
    Some(number as u64)
}

fn as_float(number: u64) -> Option<f64> {
    serde_json::Number::from(number).as_f64()
}

fn unexpected<E: Error>(value: &Value, expected: &str) -> E {
    E::custom(format_args!("expected {expected}, got {value}"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_follow_javascript_rules() {
        for (value, expected_truncated, expected_tokens, expected_timeout) in [
            (json!(3), Some(Some(3)), Some(Some(3)), Some(Some(3))),
            (json!(3.0), Some(Some(3)), Some(Some(3)), Some(Some(3))),
            (json!(3.7), Some(Some(3)), None, Some(Some(3))),
            (json!(null), Some(None), Some(None), Some(None)),
            (json!(-1), None, None, None),
            (json!(1e300), None, None, None),
            (json!(u64::MAX), None, None, None),
            (json!("60000"), None, None, Some(Some(60_000))),
            (json!(" Disabled "), None, None, Some(Some(0))),
            (json!("soon"), None, None, None),
            (json!(""), None, None, None),
            (json!(true), None, None, None),
            (json!([1]), None, None, None),
        ] {
            assert_eq!(truncated(&value).ok(), expected_truncated, "{value}");
            assert_eq!(token_count(&value).ok(), expected_tokens, "{value}");
            assert_eq!(timeout(&value).ok(), expected_timeout, "{value}");
        }
    }
}
