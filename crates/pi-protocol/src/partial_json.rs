//! Parses JSON that is truncated or slightly malformed, as models stream it.
//!
//! The arguments of a tool call arrive in chunks and are shown while they stream. [`parse_object`]
//! parses what is there: it never fails, a key stays once it has appeared, and a string only gets
//! longer. Complete JSON parses as with `serde_json`. Common mistakes of models are accepted: raw
//! control characters and unknown escapes in strings, extra commas, text after the end.
//! [`IncrementalObject`] does the same for streaming text and only parses the new part of a string.

mod incremental;

pub use incremental::IncrementalObject;

use memchr::memchr2;
use serde_json::{Number, Value};

use crate::json::JsonObject;

/// The recursion limit of `serde_json`; values are dropped and serialized recursively.
const DEPTH_LIMIT: usize = 128;

/// Literals. JavaScript's non-finite numbers have no JSON form and parse as null.
const LITERALS: [(&str, Value); 6] = [
    ("null", Value::Null),
    ("true", Value::Bool(true)),
    ("false", Value::Bool(false)),
    ("NaN", Value::Null),
    ("Infinity", Value::Null),
    ("-Infinity", Value::Null),
];

/// Parses as much of an object as the text holds; never fails. Text that is not an object parses
/// as an empty object.
pub fn parse_object(text: &str) -> JsonObject {
    match PartialParser::new(text).value(0) {
        Some(Value::Object(object)) => object,
        Some(_) | None => JsonObject::new(),
    }
}

/// Parses an object like [`parse_object`], but only if it is complete; text after its end is ignored.
/// `null` is accepted because some models send it for empty arguments.
pub fn parse_finished_object(text: &str) -> Option<JsonObject> {
    let mut parser = PartialParser::new(text);
    match parser.value(0)? {
        Value::Object(object) if !parser.stopped => Some(object),
        Value::Null if !parser.stopped => Some(JsonObject::new()),
        _ => None,
    }
}

struct PartialParser<'text> {
    text: &'text str,
    position: usize,
    /// The text ended inside a value, or is malformed from here on.
    stopped: bool,
    /// The string value inside which the text ended.
    open: Option<OpenString>,
}

/// A string value that is still open where the text ends.
#[derive(Debug, Default)]
struct OpenString {
    /// Path to the string, innermost segment first.
    path: Vec<PathSegment>,
    /// Byte offset of the part that is not parsed yet.
    position: usize,
}

/// Leads from a container to one of its values.
#[derive(Debug)]
enum PathSegment {
    Key(String),
    /// The last element of an array.
    Last,
}

impl<'text> PartialParser<'text> {
    fn new(text: &'text str) -> Self {
        Self {
            text,
            position: 0,
            stopped: false,
            open: None,
        }
    }

    fn rest(&self) -> &'text str {
        self.text.get(self.position..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn skip_while(&mut self, predicate: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&predicate) {
            self.position += 1;
        }
    }

    fn skip_space(&mut self) {
        self.skip_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    }

    /// Parses a value; `None` means that not even its type is known, and parsing has stopped.
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip_space();
        let value = match self.peek() {
            Some(b'{') if depth < DEPTH_LIMIT => Some(self.object(depth)),
            Some(b'[') if depth < DEPTH_LIMIT => Some(self.array(depth)),
            Some(b'"') => {
                let string = self.string();
                self.open = self.stopped.then(|| OpenString {
                    path: Vec::new(),
                    position: self.position,
                });
                Some(Value::String(string))
            }
            Some(_) => self.literal().or_else(|| self.number()),
            None => None,
        };
        self.stopped |= value.is_none();
        value
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut object = JsonObject::new();
        self.position += 1;
        while self.has_member(b'}') {
            if self.peek() != Some(b'"') {
                self.stopped = true;
                break;
            }
            let key = self.string();
            self.skip_space();
            if self.stopped || self.peek() != Some(b':') {
                self.stopped = true;
                break;
            }
            self.position += 1;
            if let Some(value) = self.value(depth + 1) {
                if let Some(open) = &mut self.open {
                    open.path.push(PathSegment::Key(key.clone()));
                }
                object.insert(key, value);
            }
        }
        Value::Object(object)
    }

    fn array(&mut self, depth: usize) -> Value {
        let mut items = Vec::new();
        self.position += 1;
        while self.has_member(b']') {
            items.extend(self.value(depth + 1));
            if let Some(open) = &mut self.open {
                open.path.push(PathSegment::Last);
            }
        }
        Value::Array(items)
    }

    /// Moves to the next member of an object or array, or past its end.
    fn has_member(&mut self, end: u8) -> bool {
        if self.stopped {
            return false;
        }
        self.skip_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b','));
        match self.peek() {
            Some(byte) if byte == end => {
                self.position += 1;
                false
            }
            Some(_) => true,
            None => {
                self.stopped = true;
                false
            }
        }
    }

    fn literal(&mut self) -> Option<Value> {
        let rest = self.rest();
        for (literal, value) in LITERALS {
            if rest.starts_with(literal) {
                self.position += literal.len();
                return Some(value);
            }
            if literal.starts_with(rest) && rest != "-" {
                self.stopped = true;
                return Some(value);
            }
        }
        None
    }

    fn number(&mut self) -> Option<Value> {
        let start = self.position;
        self.skip_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        self.stopped |= self.peek().is_none();
        // A number truncated after `.` or `e` parses as the part before.
        let digits = self
            .text
            .get(start..self.position)?
            .trim_end_matches(['+', '-', '.', 'e', 'E']);
        if let Ok(number) = serde_json::from_str::<Number>(digits) {
            return Some(Value::Number(number));
        }
        // Leading zeros and bare fractions; a number too large for JSON parses as null.
        let number: f64 = digits.parse().ok()?;
        Some(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn string(&mut self) -> String {
        let mut string = String::new();
        self.position += 1;
        self.continue_string(&mut string);
        string
    }

    /// Parses a string up to its end or the end of the text; a truncated escape is left for later.
    fn continue_string(&mut self, string: &mut String) {
        loop {
            let rest = self.rest();
            let Some(length) = memchr2(b'"', b'\\', rest.as_bytes()) else {
                string.push_str(rest);
                self.position = self.text.len();
                self.stopped = true;
                return;
            };
            string.push_str(rest.get(..length).unwrap_or_default());
            let special = self.position + length;
            self.position = special + 1;
            if rest.as_bytes().get(length) == Some(&b'"') {
                return;
            }
            self.escape(string);
            if self.stopped {
                self.position = special;
                return;
            }
        }
    }

    /// Parses the part of an escape after the backslash.
    fn escape(&mut self, string: &mut String) {
        let Some(kind) = self.peek() else {
            self.stopped = true;
            return;
        };
        let character = match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(string),
            // Not an escape, as in a Windows path: keep the backslash.
            _ => return string.push('\\'),
        };
        self.position += 1;
        string.push(character);
    }

    fn unicode_escape(&mut self, string: &mut String) {
        let (unit, after) = match hex_unit(self.rest()) {
            HexEscape::Unit(unit, after) => (unit, after),
            HexEscape::Truncated => {
                self.stopped = true;
                return;
            }
            HexEscape::Invalid => return string.push('\\'),
        };
        if let Some(character) = char::from_u32(unit) {
            string.push(character);
        } else if is_high_surrogate(unit) {
            match after
                .strip_prefix('\\')
                .map_or_else(|| truncated_if_empty(after), hex_unit)
            {
                HexEscape::Unit(low, after_low) if is_low_surrogate(low) => {
                    let joined = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                    string.extend(char::from_u32(joined));
                    self.position = self.text.len() - after_low.len();
                    return;
                }
                HexEscape::Truncated => {
                    self.stopped = true;
                    return;
                }
                HexEscape::Unit(..) | HexEscape::Invalid => {
                    string.push(char::REPLACEMENT_CHARACTER);
                }
            }
        } else {
            string.push(char::REPLACEMENT_CHARACTER);
        }
        self.position = self.text.len() - after.len();
    }
}

/// The `uXXXX` of an escape.
enum HexEscape<'text> {
    /// A UTF-16 unit and the text after it.
    Unit(u32, &'text str),
    /// The text ends before the escape is complete.
    Truncated,
    Invalid,
}

fn hex_unit(text: &str) -> HexEscape<'_> {
    let Some(digits) = text.strip_prefix('u') else {
        return truncated_if_empty(text);
    };
    let count = digits
        .bytes()
        .take(4)
        .take_while(u8::is_ascii_hexdigit)
        .count();
    match digits.split_at_checked(count) {
        Some((unit, after)) if count == 4 => u32::from_str_radix(unit, 16)
            .map_or(HexEscape::Invalid, |unit| HexEscape::Unit(unit, after)),
        Some((_, after)) => truncated_if_empty(after),
        None => HexEscape::Invalid,
    }
}

fn truncated_if_empty(text: &str) -> HexEscape<'_> {
    if text.is_empty() {
        HexEscape::Truncated
    } else {
        HexEscape::Invalid
    }
}

fn is_high_surrogate(unit: u32) -> bool {
    (0xD800..0xDC00).contains(&unit)
}

fn is_low_surrogate(unit: u32) -> bool {
    (0xDC00..0xE000).contains(&unit)
}

#[cfg(test)]
mod tests;
