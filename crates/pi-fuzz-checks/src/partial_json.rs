//! Incremental parsing of tool call arguments.

use pi_protocol::partial_json::{IncrementalObject, parse_object};
use pretty_assertions::assert_eq;
use serde_json::Value;

/// Maximum number of prefixes that are checked.
const PREFIXES: usize = 200;

/// Checks that a complete object is parsed as by `serde_json`, that a longer prefix never retracts
/// values, and that chunk boundaries make no difference.
pub fn partial_json(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    check_incremental(&text);
    let complete = Value::Object(parse_object(&text));
    let strict = serde_json::from_str::<Value>(&text).ok();
    let Some(strict @ Value::Object(_)) = strict else {
        return;
    };
    assert_eq!(complete, strict);
    if names_of(&strict) != colons_of(&text) {
        // A duplicate key replaces the earlier value.
        return;
    }
    let mut before = Value::Object(parse_object(""));
    let step = text.len() / PREFIXES + 1;
    for (end, _) in text.char_indices().step_by(step) {
        let prefix = text.get(..end).unwrap_or_default();
        let now = Value::Object(parse_object(prefix));
        assert!(
            is_extended_by(&before, &now),
            "{before} became {now} at {prefix:?}"
        );
        before = now;
    }
    assert!(is_extended_by(&before, &strict), "{before} became {strict}");
}

/// Compares incremental parsing with parsing each prefix from scratch.
fn check_incremental(text: &str) {
    let mut growing = IncrementalObject::default();
    let mut arrived = 0;
    let step = text.len() / PREFIXES + 1;
    let borders = text.char_indices().step_by(step).map(|(border, _)| border);
    for border in borders.chain([text.len()]) {
        growing.push(text.get(arrived..border).unwrap_or_default());
        arrived = border;
        let prefix = text.get(..border).unwrap_or_default();
        assert_eq!(growing.read(), &parse_object(prefix), "{prefix:?}");
    }
}

/// Returns whether `now` contains everything in `before`. A number may have been truncated.
fn is_extended_by(before: &Value, now: &Value) -> bool {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => before
            .iter()
            .all(|(key, value)| now.get(key).is_some_and(|now| is_extended_by(value, now))),
        (Value::Array(before), Value::Array(now)) => {
            before.len() <= now.len()
                && before
                    .iter()
                    .zip(now)
                    .all(|(old, new)| is_extended_by(old, new))
        }
        (Value::String(before), Value::String(now)) => now.starts_with(before.as_str()),
        (Value::Number(_), Value::Number(_)) => true,
        (before, now) => before == now,
    }
}

fn names_of(value: &Value) -> usize {
    match value {
        Value::Object(object) => object.len() + object.values().map(names_of).sum::<usize>(),
        Value::Array(items) => items.iter().map(names_of).sum(),
        _ => 0,
    }
}

/// Counts the colons of valid JSON outside of strings.
fn colons_of(text: &str) -> usize {
    let (mut colons, mut quoted, mut escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b':' if !quoted => colons += 1,
            _ => {}
        }
    }
    colons
}
