//! Long strings, which are most of what a request consists of.

use serde::Serializer;

/// Shorter strings cost less when they are escaped byte by byte.
const LONG: usize = 256;

/// Serializes a string, with vector instructions if it is long. For `#[serde(serialize_with)]` in types that only
/// [`super::write`] serializes: other serializers write a list of bytes.
pub fn serialize_text<S: Serializer>(
    text: &(impl AsRef<str> + ?Sized),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = text.as_ref();
    if text.len() < LONG {
        serializer.serialize_str(text)
    } else {
        // serde has no call for strings that bypasses the escaping of serde_json, and nothing else is made of bytes.
        serializer.serialize_bytes(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    struct Text<'a>(#[serde(serialize_with = "serialize_text")] &'a str);

    #[test]
    fn every_character_is_escaped_as_in_short_strings() {
        let characters: String = ('\0'..='\u{2ff}').chain("\u{2028}€😀".chars()).collect();
        // Each character at every distance from the start of a vector.
        for padding in 0..64 {
            for text in ["", &characters, &"x".repeat(LONG)] {
                let text = "x".repeat(padding) + text;
                let fast = crate::json::to_string(&Text(&text)).unwrap();
                assert_eq!(fast, serde_json::to_string(&text).unwrap());
            }
        }
    }
}
