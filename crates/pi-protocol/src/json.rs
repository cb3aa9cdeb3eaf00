//! JSON text as the TypeScript pi writes it, and lenient deserializers.
//!
//! Session files, RPC lines and events are compared and parsed by programs that expect the output
//! of `JSON.stringify`: `0`, not `0.0`; `0.000021`, not `2.1e-5`. Everything that leaves the
//! process as JSON goes through [`to_string`] or [`to_vec`].

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::ser::Formatter;

mod raw;
mod strings;
mod text;

pub use raw::RawJson;
pub use text::serialize_text;

/// A JSON object that keeps the order of its keys.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// Formats compact JSON with numbers as in JavaScript.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsFormatter;

impl Formatter for JsFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a fractional number is not equal to its truncation"
        )]
        let integer = value as i64;
        #[expect(
            clippy::cast_precision_loss,
            reason = "a lossy conversion makes the two differ"
        )]
        let is_integer =
            integer.unsigned_abs() < 1 << f64::MANTISSA_DIGITS && integer as f64 == value;
        if is_integer {
            // Most numbers are integers, and the general path is many times slower.
            return self.write_i64(writer, integer);
        }
        // Non-finite numbers never get here because serde_json writes them as `null`.
        writer.write_all(ryu_js::Buffer::new().format_finite(value).as_bytes())
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, f64::from(value))
    }

    /// Bytes are the text of [`serialize_text`].
    fn write_byte_array<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        value: &[u8],
    ) -> io::Result<()> {
        let text = std::str::from_utf8(value).map_err(io::Error::other)?;
        writer.write_all(json_escape_simd::escape(text).as_bytes())
    }
}

/// Serializes a value to compact JSON bytes in the style of `JSON.stringify`.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    // A line of the event stream fits without reallocation.
    let mut bytes = Vec::with_capacity(1024);
    write(&mut bytes, value)?;
    Ok(bytes)
}

/// Appends a value as compact JSON in the style of `JSON.stringify`.
pub fn write<T: Serialize + ?Sized>(
    bytes: &mut Vec<u8>,
    value: &T,
) -> Result<(), serde_json::Error> {
    value.serialize(&mut serde_json::Serializer::with_formatter(
        bytes,
        JsFormatter,
    ))
}

/// Serializes a value to compact JSON text in the style of `JSON.stringify`.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, serde_json::Error> {
    let bytes = to_vec(value)?;
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// Formats a JSON value as compact text; serializing a [`serde_json::Value`] cannot fail.
pub fn value_to_string(value: &serde_json::Value) -> String {
    to_string(value).unwrap_or_else(|_| value.to_string())
}

/// Parses JSON, even if its strings are invalid.
///
/// Some services split text inside a surrogate pair or send unescaped control characters. Valid
/// input costs one pass; otherwise a lone surrogate becomes U+FFFD and control characters are kept.
/// Any other syntax error is still an error.
pub fn from_str_lenient<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    from_str_repaired(text, &mut String::new())
}

/// Like [`from_str_lenient`], for values that borrow from the text. If it is invalid, they borrow from `repaired`.
pub fn from_str_repaired<'de, T: Deserialize<'de>>(
    text: &'de str,
    repaired: &'de mut String,
) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| {
        *repaired = strings::repair_strings(text);
        serde_json::from_str(repaired).map_err(|_still_invalid| error)
    })
}

/// Converts a JSON value. Reading it takes half as much code per type as taking it apart.
pub fn from_value<T: DeserializeOwned>(value: &serde_json::Value) -> Result<T, serde_json::Error> {
    T::deserialize(value)
}

/// Returns the number of UTF-16 code units, the length of a string in JavaScript.
pub fn utf16_length(text: &str) -> usize {
    utf16_units(text.as_bytes())
}

/// Counts the UTF-16 code units that begin in a slice of UTF-8, which may be split anywhere.
pub fn utf16_units(bytes: &[u8]) -> usize {
    // Every byte that is not a continuation byte begins a character; a four-byte one takes two units.
    let characters = bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
    characters + bytes.iter().filter(|byte| **byte >= 0xF0).count()
}

/// Deserializes an unsigned count that a JavaScript program may have written as a float or `null`.
pub fn lenient_u64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is intended for an out-of-range count"
    )]
    Ok(Option::<f64>::deserialize(deserializer)?.map_or(0, |number| number as u64))
}

/// Like [`lenient_u64`], for an optional count.
pub fn lenient_optional_u64<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is intended for an out-of-range count"
    )]
    Ok(Option::<f64>::deserialize(deserializer)?.map(|number| number as u64))
}

/// Deserializes an optional value where `null` is a value, which `Option` alone treats as absent.
pub fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Deserializes an optional value of which a malformed one counts as absent.
pub fn lenient_optional<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(from_value(&value).ok())
}

/// Deserializes `null` as the default value.
pub fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Deserializes a millisecond timestamp that may have been written as a float.
pub fn lenient_i64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "`as` saturates, which is intended for an out-of-range time"
    )]
    Ok(Option::<f64>::deserialize(deserializer)?.map_or(0, |number| number as i64))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_formatted_like_javascript() {
        let value = json!([0.0, -0.0, 3.0, 0.000_021, 1e21, 1e-7, 12.5, 7, -3, null]);
        assert_eq!(
            value_to_string(&value),
            "[0,0,3,0.000021,1e+21,1e-7,12.5,7,-3,null]"
        );
    }

    #[test]
    fn numbers_without_a_json_form_are_null() {
        let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1.0];
        assert_eq!(to_string(&numbers).unwrap(), "[null,null,null,0,1]");
        assert_eq!(to_string(&f32::NAN).unwrap(), "null");
    }

    #[test]
    fn large_integers_are_formatted_like_javascript() {
        let numbers = [
            9_007_199_254_740_991.0,
            9_007_199_254_740_992.0,
            -1e20,
            1e21,
        ];
        assert_eq!(
            to_string(&numbers).unwrap(),
            "[9007199254740991,9007199254740992,-100000000000000000000,1e+21]"
        );
    }

    #[test]
    fn only_quotes_backslashes_and_control_characters_are_escaped() {
        assert_eq!(
            to_string("\"\\\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}/é\u{2028}😀").unwrap(),
            "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}/é\u{2028}😀\""
        );
    }

    #[test]
    fn chunks_with_invalid_strings_are_parsed() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct DeltaChunk<'text> {
            #[serde(borrow)]
            delta: Cow<'text, str>,
        }
        for (text, delta) in [
            (r#"{"delta":"plain"}"#, "plain"),
            (r#"{"delta":"half \ud83d"}"#, "half \u{fffd}"),
            ("{\"delta\":\"two\nlines\"}", "two\nlines"),
        ] {
            let mut repaired = String::new();
            let chunk: DeltaChunk<'_> = from_str_repaired(text, &mut repaired).unwrap();
            assert_eq!(chunk.delta, delta);
        }
        for text in [
            "{\"delta\":\"cut",
            "{\"delta\":1}",
            "{}",
            "{\"delta\":\"a\nb\",}",
            "{\"delta\":\"a\nb\",\"n\":+1}",
            "{\"delta\":\"a\nb\",\"n\":01}",
        ] {
            let mut repaired = String::new();
            let parsed = from_str_repaired::<DeltaChunk<'_>>(text, &mut repaired);
            assert!(parsed.is_err(), "{text}");
        }
    }

    #[test]
    fn length_counts_utf16_units() {
        assert_eq!(utf16_length("a😀é"), 4);
    }
}
