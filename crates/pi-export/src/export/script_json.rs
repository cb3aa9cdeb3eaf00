//! JSON inside a `script` element.
//!
//! In JSON, the characters that could end the element or a line of script occur only in strings,
//! where they can be escaped.

use std::io::{self, Write};

use pi_protocol::json::JsFormatter;
use serde::Serialize;

use crate::redaction::Redactor;

/// Writes values as JSON that an HTML parser cannot mistake for markup.
pub(super) struct ScriptJson<'a> {
    redaction: &'a Redactor,
    /// Buffer for serialized values, reused between calls.
    buffer: Vec<u8>,
}

impl<'a> ScriptJson<'a> {
    pub(super) fn new(redaction: &'a Redactor) -> Self {
        Self {
            redaction,
            buffer: Vec::new(),
        }
    }

    /// Writes one value on one line. Returns its size in bytes before escaping.
    pub(super) fn write<T: Serialize + ?Sized>(
        &mut self,
        out: &mut dyn Write,
        value: &T,
    ) -> io::Result<usize> {
        self.buffer.clear();
        let mut serializer = serde_json::Serializer::with_formatter(&mut self.buffer, JsFormatter);
        value.serialize(&mut serializer)?;
        self.redaction.redact_json(&mut self.buffer);
        write_escaped(out, &self.buffer)?;
        Ok(self.buffer.len())
    }
}

fn write_escaped(out: &mut dyn Write, json: &[u8]) -> io::Result<()> {
    let mut rest = json;
    while let Some((position, length, escape)) = next_unsafe(rest) {
        let (plain, from_unsafe) = rest.split_at(position);
        out.write_all(plain)?;
        out.write_all(escape)?;
        rest = from_unsafe.get(length..).unwrap_or_default();
    }
    out.write_all(rest)
}

/// Finds the next character to escape: its position, length and replacement.
fn next_unsafe(json: &[u8]) -> Option<(usize, usize, &'static [u8])> {
    let mut from = 0;
    loop {
        let rest = json.get(from..)?;
        let offset = rest
            .iter()
            .position(|byte| matches!(byte, b'<' | b'>' | b'&' | 0xE2))?;
        let position = from + offset;
        match json.get(position..)? {
            [b'<', ..] => return Some((position, 1, br"\u003c")),
            [b'>', ..] => return Some((position, 1, br"\u003e")),
            [b'&', ..] => return Some((position, 1, br"\u0026")),
            [0xE2, 0x80, 0xA8, ..] => return Some((position, 3, br"\u2028")),
            [0xE2, 0x80, 0xA9, ..] => return Some((position, 3, br"\u2029")),
            _ => from = position + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let redaction = Redactor::default();
        let mut out = Vec::new();
        ScriptJson::new(&redaction).write(&mut out, text).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_cannot_end_the_element() {
        let cases = [
            ("</script>", r#""\u003c/script\u003e""#),
            ("<!--<script", r#""\u003c!--\u003cscript""#),
            ("a\u{2028}b\u{2029}c", r#""a\u2028b\u2029c""#),
            ("& \u{2013} é", "\"\\u0026 \u{2013} é\""),
            ("line\nfeed", r#""line\nfeed""#),
        ];
        for (text, expected) in cases {
            assert_eq!(written(text), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_survives_and_stays_inert(text in r"(\PC|[<>&\x{2028}\x{2029}\x{20AC}\n\x00]){0,40}") {
            let written = written(&text);
            prop_assert_eq!(written.find(['<', '>', '&', '\u{2028}', '\u{2029}', '\n']), None);
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
    }
}
