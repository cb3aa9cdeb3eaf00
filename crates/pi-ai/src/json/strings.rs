//! Strings that break the rules of JSON, spelled by the rules.

use std::fmt::Write as _;

/// Spells control characters in strings as escapes, and half a surrogate pair as U+FFFD. Everything else stays as
/// it is, right or wrong: whoever reads the text then judges it.
pub(super) fn spell_by_the_rules(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    let mut is_inside = false;
    let mut rest = text;
    while let Some(at) = rest.find(|sign| matches!(sign, '"' | '\\' | '\0'..='\u{1f}')) {
        let (before, from_here) = rest.split_at(at);
        spelled.push_str(before);
        let sign = from_here.chars().next().unwrap_or_default();
        let length = match sign {
            '\\' if is_inside => spell_escape(from_here, &mut spelled),
            '\0'..='\u{1f}' if is_inside => {
                // Writing to a string cannot fail.
                write!(spelled, "\\u{:04x}", u32::from(sign)).ok();
                1
            }
            _ => {
                is_inside ^= sign == '"';
                spelled.push(sign);
                1
            }
        };
        rest = from_here.get(length..).unwrap_or_default();
    }
    spelled.push_str(rest);
    spelled
}

/// Spells the escape that a text begins with, and returns its length.
fn spell_escape(text: &str, spelled: &mut String) -> usize {
    let is_low = |unit: u32| unit >= 0xDC00;
    let length = match surrogate(text) {
        None => text.chars().take(2).map(char::len_utf8).sum(),
        Some(high) if !is_low(high) && text.get(6..).and_then(surrogate).is_some_and(is_low) => 12,
        Some(_) => {
            spelled.push_str("\\ufffd");
            return 6;
        }
    };
    spelled.push_str(text.get(..length).unwrap_or_default());
    length
}

/// Returns the half of a surrogate pair that a text begins with.
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
    fn only_what_breaks_the_rules_is_spelled_anew() {
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
            assert_eq!(spell_by_the_rules(text), expected);
        }
    }
}
