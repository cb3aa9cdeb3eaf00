//! An object whose JSON text arrives in pieces, for whoever shows it meanwhile.
//!
//! Most of a large text is one string, the contents of a file say. As long as that string grows, only what is new
//! is read; when it ends, and wherever else the text ends, all of it is read again.

use serde_json::Value;

use super::{OpenString, Reader, Step};
use crate::json::JsonObject;

/// An object that is read while its text arrives.
///
/// ```
/// use pi_ai::partial_json::GrowingObject;
///
/// let mut arguments = GrowingObject::default();
/// arguments.push(r#"{"path":"a.rs","content":"fn ma"#);
/// assert_eq!(arguments.read()["content"], "fn ma");
/// arguments.push("in() {}");
/// assert_eq!(arguments.read()["content"], "fn main() {}");
/// ```
#[derive(Debug, Default)]
pub struct GrowingObject {
    text: String,
    object: JsonObject,
    /// How much of the text the object holds.
    read_bytes: usize,
    open: Option<OpenString>,
}

impl GrowingObject {
    /// Takes the next piece of the text. It is read when somebody asks, not before.
    pub fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// Returns what [`parse_object`](super::parse_object) reads of the text so far.
    pub fn read(&mut self) -> &JsonObject {
        if self.read_bytes != self.text.len() {
            self.read_bytes = self.text.len();
            if !self.read_on() {
                self.read_anew();
            }
        }
        &self.object
    }

    /// Returns what was read last.
    pub fn object(&self) -> &JsonObject {
        &self.object
    }

    /// Reads on in the string that was open; `false` if it is not any more.
    fn read_on(&mut self) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        let Some(string) = find(&mut self.object, &open.path) else {
            return false;
        };
        let mut reader = Reader::new(&self.text);
        reader.position = open.position;
        reader.string_from_here(string);
        open.position = reader.position;
        reader.stopped
    }

    fn read_anew(&mut self) {
        let mut reader = Reader::new(&self.text);
        self.object = match reader.value(0) {
            Some(Value::Object(object)) => object,
            Some(_) | None => JsonObject::new(),
        };
        self.open = reader.open;
    }
}

/// Returns the string at the end of a path, which is told from the inside out.
fn find<'object>(object: &'object mut JsonObject, path: &[Step]) -> Option<&'object mut String> {
    let (outermost, inner) = path.split_last()?;
    let Step::Key(key) = outermost else {
        return None;
    };
    let mut value = object.get_mut(key)?;
    for step in inner.iter().rev() {
        value = match (step, value) {
            (Step::Key(key), Value::Object(object)) => object.get_mut(key)?,
            (Step::Last, Value::Array(items)) => items.last_mut()?,
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

    /// Reads a text piece by piece and holds each state against a reading of the whole.
    fn assert_grows(pieces: &[&str]) {
        let mut growing = GrowingObject::default();
        let mut text = String::new();
        for piece in pieces {
            text.push_str(piece);
            growing.push(piece);
            assert_eq!(growing.read(), &parse_object(&text), "{text:?}");
        }
    }

    #[test]
    fn every_piece_is_read_as_if_the_text_began_anew() {
        for text in [
            r#"{"path":"a.rs","content":"fn main() {\n\t\"x\" \u00e9 \ud83d\ude00 \ud83dx \q \\"} rest"#,
            r#"{"edits":[{"oldText":"a","newText":"b"},{"oldText":"cc","newText":"d\"d"}],"path":"x"}"#,
            r#"{"a":"one","b":{"c":["x",["yy"]]},"a":"two","n":12.5,"t":true,"":"empty"}"#,
            r#""a text""#,
            r#"["a list"]"#,
        ] {
            let pieces: Vec<String> = text.chars().map(String::from).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            assert_grows(&pieces);
            assert_grows(&[text]);
        }
    }

    #[test]
    fn what_was_read_of_a_string_is_not_read_again() {
        let mut growing = GrowingObject::default();
        growing.push(r#"{"content":""#);
        for _ in 0..100 {
            growing.push("0123456789");
            growing.read();
            assert_eq!(
                growing.open.as_ref().map(|open| open.position),
                Some(growing.text.len())
            );
        }
        assert_eq!(
            growing.object()["content"].as_str().map(str::len),
            Some(1000)
        );
    }

    proptest! {
        #[test]
        fn any_text_reads_the_same_in_pieces(
            pieces in prop::collection::vec(r#"[\[\]{}",:a\\u0-9dn ]{0,6}|\{"a":"|","b":\["|\\ud83d"#, 0..12)
        ) {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            assert_grows(&pieces);
            let mut begun = vec![r#"{"k":[{"s":""#];
            begun.extend(&pieces);
            assert_grows(&begun);
        }
    }
}
