//! Repairs invalid strings in JSON text.

use std::fmt::Write as _;

/// Escapes control characters in strings and replaces lone surrogates with U+FFFD. Everything else is copied
/// unchanged, valid or not; the parser decides about it.
pub(super) fn repair_strings(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len());
    let mut in_string = false;
    let mut rest = text;
    while let Some(at) = rest.find(|character| matches!(character, '"' | '\\' | '\0'..='\u{1f}')) {
        let (before, remaining) = rest.split_at(at);
        repaired.push_str(before);
        let character = remaining.chars().next().unwrap_or_default();
        let length = match character {
            '\\' if in_string => copy_escape(remaining, &mut repaired),
            '\0'..='\u{1f}' if in_string => {
                // Writing to a string cannot fail.
                write!(repaired, "\\u{:04x}", u32::from(character)).ok();
                1
            }
            _ => {
                in_string ^= character == '"';
                repaired.push(character);
                1
            }
        };
        rest = remaining.get(length..).unwrap_or_default();
    }
    repaired.push_str(rest);
    repaired
}

/// Copies the escape at the start of `text`, and returns its length.
fn copy_escape(text: &str, repaired: &mut String) -> usize {
    let is_low = |unit: u32| unit >= 0xDC00;
    let length = match surrogate(text) {
        None => text.chars().take(2).map(char::len_utf8).sum(),
        Some(high) if !is_low(high) && text.get(6..).and_then(surrogate).is_some_and(is_low) => 12,
        Some(_) => {
            repaired.push_str("\\ufffd");
            return 6;
        }
    };
    repaired.push_str(text.get(..length).unwrap_or_default());
    length
}

/// Returns the surrogate escaped at the start of `text`.
fn surrogate(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let unit = u32::from_str_radix(digits, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_invalid_strings_are_changed() {
        for (text, expected) in [
            (
                r#"{"a":"\ud83d\ude00 \\ud83d"}"#,
                r#"{"a":"\ud83d\ude00 \\ud83d"}"#,
            ),
            (
                r#"["\ud83d","\ude00","\ud83d\ud83d\ude00"]"#,
                r#"["\ufffd","\ufffd","\ufffd\ud83d\ude00"]"#,
            ),
            ("{\n\t\"a\" : \"\t\"}", "{\n\t\"a\" : \"\\u0009\"}"),
            ("[\"\\\"\n\", 01, +1,,", "[\"\\\"\\u000a\", 01, +1,,"),
            ("\"cut \\", "\"cut \\"),
            ("\"cut \\ud8", "\"cut \\ud8"),
            ("\"é\\é\u{0}\"", "\"é\\é\\u0000\""),
        ] {
            assert_eq!(repair_strings(text), expected);
        }
    }
}
