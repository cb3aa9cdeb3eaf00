//! An object whose JSON text arrives in chunks and is shown while it streams.
//!
//! Most of a large text is one string, such as the contents of a file. While that string is open, only the new
//! text is parsed; otherwise the complete text is parsed again.

use serde_json::Value;

use super::{OpenString, PartialParser, PathSegment};
use crate::json::JsonObject;

/// An object that is parsed while its text arrives.
///
/// ```
/// use pi_protocol::partial_json::IncrementalObject;
///
/// let mut arguments = IncrementalObject::default();
/// arguments.push(r#"{"path":"a.rs","content":"fn ma"#);
/// assert_eq!(arguments.read()["content"], "fn ma");
/// arguments.push("in() {}");
/// assert_eq!(arguments.read()["content"], "fn main() {}");
/// ```
#[derive(Debug, Default)]
pub struct IncrementalObject {
    text: String,
    object: JsonObject,
    /// How many bytes of the text are parsed.
    parsed_bytes: usize,
    open: Option<OpenString>,
}

impl IncrementalObject {
    /// Appends text. It is parsed by the next [`read`](Self::read).
    pub fn push(&mut self, chunk: &str) {
        self.text.push_str(chunk);
    }

    /// Returns what [`parse_object`](super::parse_object) returns for the text so far.
    pub fn read(&mut self) -> &JsonObject {
        if self.parsed_bytes != self.text.len() {
            self.parsed_bytes = self.text.len();
            if !self.continue_open_string() {
                self.parse_all();
            }
        }
        &self.object
    }

    /// Returns the object as of the last [`read`](Self::read).
    pub fn object(&self) -> &JsonObject {
        &self.object
    }

    /// Continues the open string; returns `false` if it ended or there is none.
    fn continue_open_string(&mut self) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        let Some(string) = string_at(&mut self.object, &open.path) else {
            return false;
        };
        let mut parser = PartialParser::new(&self.text);
        parser.position = open.position;
        parser.continue_string(string);
        open.position = parser.position;
        parser.stopped
    }

    fn parse_all(&mut self) {
        let mut parser = PartialParser::new(&self.text);
        self.object = match parser.value(0) {
            Some(Value::Object(object)) => object,
            Some(_) | None => JsonObject::new(),
        };
        self.open = parser.open;
    }
}

/// Returns the string at a path, whose innermost segment comes first.
fn string_at<'object>(
    object: &'object mut JsonObject,
    path: &[PathSegment],
) -> Option<&'object mut String> {
    let (outermost, inner) = path.split_last()?;
    let PathSegment::Key(key) = outermost else {
        return None;
    };
    let mut value = object.get_mut(key)?;
    for segment in inner.iter().rev() {
        value = match (segment, value) {
            (PathSegment::Key(key), Value::Object(object)) => object.get_mut(key)?,
            (PathSegment::Last, Value::Array(items)) => items.last_mut()?,
            _ => return None,
        };
    }
    match value {
        Value::String(string) => Some(string),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::super::parse_object;
    use super::*;

    /// Pushes a text chunk by chunk and compares each state with parsing the complete text.
    fn assert_incremental(chunks: &[&str]) {
        let mut incremental = IncrementalObject::default();
        let mut text = String::new();
        for chunk in chunks {
            text.push_str(chunk);
            incremental.push(chunk);
            assert_eq!(incremental.read(), &parse_object(&text), "{text:?}");
        }
    }

    #[test]
    fn every_prefix_parses_like_the_complete_text() {
        for text in [
            r#"{"path":"a.rs","content":"fn main() {\n\t\"x\" \u00e9 \ud83d\ude00 \ud83dx \q \\"} rest"#,
            r#"{"edits":[{"oldText":"a","newText":"b"},{"oldText":"cc","newText":"d\"d"}],"path":"x"}"#,
            r#"{"a":"one","b":{"c":["x",["yy"]]},"a":"two","n":12.5,"t":true,"":"empty"}"#,
            r#""a text""#,
            r#"["a list"]"#,
        ] {
            let chunks: Vec<String> = text.chars().map(String::from).collect();
            let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
            assert_incremental(&chunks);
            assert_incremental(&[text]);
        }
    }

    #[test]
    fn an_open_string_is_parsed_only_once() {
        let mut incremental = IncrementalObject::default();
        incremental.push(r#"{"content":""#);
        for _ in 0..100 {
            incremental.push("0123456789");
            incremental.read();
            assert_eq!(
                incremental.open.as_ref().map(|open| open.position),
                Some(incremental.text.len())
            );
        }
        assert_eq!(
            incremental.object()["content"].as_str().map(str::len),
            Some(1000)
        );
    }

    proptest! {
        #[test]
        fn any_text_parses_the_same_in_pieces(
            chunks in prop::collection::vec(r#"[\[\]{}",:a\\u0-9dn ]{0,6}|\{"a":"|","b":\["|\\ud83d"#, 0..12)
        ) {
            let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
            assert_incremental(&chunks);
            let mut with_prefix = vec![r#"{"k":[{"s":""#];
            with_prefix.extend(&chunks);
            assert_incremental(&with_prefix);
        }
    }
}
