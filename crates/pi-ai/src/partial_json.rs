//! Reads JSON that is cut off or slightly broken, as models stream it.
//!
//! The arguments of a tool call arrive in pieces, and people watch them grow. [`parse_object`] reads
//! what is there: it never fails, a key stays once it has appeared, and the text of a string only
//! grows. Complete JSON reads as `serde_json` reads it. What models get wrong is forgiven: raw
//! control characters and unknown escapes in strings, commas too many, text after the end.
//! [`GrowingObject`] does the same for text that is still arriving, at the cost of what is new.

mod growing;

pub use growing::GrowingObject;

use memchr::memchr2;
use serde_json::{Number, Value};

use crate::json::JsonObject;

/// As deep as `serde_json` goes; values are dropped and written by recursion.
const DEPTH_LIMIT: usize = 128;

/// Words that are values. JavaScript's non-numbers have no JSON and read as null.
const WORDS: [(&str, Value); 6] = [
    ("null", Value::Null),
    ("true", Value::Bool(true)),
    ("false", Value::Bool(false)),
    ("NaN", Value::Null),
    ("Infinity", Value::Null),
    ("-Infinity", Value::Null),
];

/// Reads as much of an object as the text holds; never fails. Text that holds anything else reads
/// as an empty object.
pub fn parse_object(text: &str) -> JsonObject {
    match Reader::new(text).value(0) {
        Some(Value::Object(object)) => object,
        Some(_) | None => JsonObject::new(),
    }
}

/// Reads an object as [`parse_object`] does, if the text holds all of it; what follows its end does not
/// matter. `null` is how some models spell no arguments.
pub(crate) fn parse_finished_object(text: &str) -> Option<JsonObject> {
    let mut reader = Reader::new(text);
    match reader.value(0)? {
        Value::Object(object) if !reader.stopped => Some(object),
        Value::Null if !reader.stopped => Some(JsonObject::new()),
        _ => None,
    }
}

struct Reader<'text> {
    text: &'text str,
    position: usize,
    /// The text ended in the middle of something, or makes no sense from here on.
    stopped: bool,
    /// The string value in the middle of which the text ended.
    open: Option<OpenString>,
}

/// A string value that goes on where the text ends.
#[derive(Debug, Default)]
struct OpenString {
    /// Where it is, from the inside out.
    path: Vec<Step>,
    /// Where the part begins that could not be read yet.
    position: usize,
}

/// A step from a container to a value in it.
#[derive(Debug)]
enum Step {
    Key(String),
    Last,
}

impl<'text> Reader<'text> {
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

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.position += 1;
        }
    }

    fn skip_space(&mut self) {
        self.skip_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    }

    /// Reads a value; nothing means that not even its kind is known, and reading has stopped.
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
            Some(_) => self.word().or_else(|| self.number()),
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
                    open.path.push(Step::Key(key.clone()));
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
                open.path.push(Step::Last);
            }
        }
        Value::Array(items)
    }

    /// Moves to the next member of an object or array, past the end of it when there is none.
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

    fn word(&mut self) -> Option<Value> {
        let rest = self.rest();
        for (word, value) in WORDS {
            if rest.starts_with(word) {
                self.position += word.len();
                return Some(value);
            }
            if word.starts_with(rest) && rest != "-" {
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
        // A number cut after `.` or `e` is worth what stands before.
        let digits = self
            .text
            .get(start..self.position)?
            .trim_end_matches(['+', '-', '.', 'e', 'E']);
        if let Ok(number) = serde_json::from_str::<Number>(digits) {
            return Some(Value::Number(number));
        }
        // Leading zeros and bare fractions; a number too large for JSON reads as null.
        let number: f64 = digits.parse().ok()?;
        Some(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn string(&mut self) -> String {
        let mut string = String::new();
        self.position += 1;
        self.string_from_here(&mut string);
        string
    }

    /// Reads a string on to its end, or as far as the text goes; an escape that is cut stays unread.
    fn string_from_here(&mut self, string: &mut String) {
        loop {
            let rest = self.rest();
            let Some(run) = memchr2(b'"', b'\\', rest.as_bytes()) else {
                string.push_str(rest);
                self.position = self.text.len();
                self.stopped = true;
                return;
            };
            string.push_str(rest.get(..run).unwrap_or_default());
            let special = self.position + run;
            self.position = special + 1;
            if rest.as_bytes().get(run) == Some(&b'"') {
                return;
            }
            self.escape(string);
            if self.stopped {
                self.position = special;
                return;
            }
        }
    }

    /// Reads what follows a backslash.
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
            // No escape at all, as in a Windows path: the backslash is meant.
            _ => return string.push('\\'),
        };
        self.position += 1;
        string.push(character);
    }

    fn unicode_escape(&mut self, string: &mut String) {
        let (unit, after) = match hex_unit(self.rest()) {
            Hex::Unit(unit, after) => (unit, after),
            Hex::Cut => {
                self.stopped = true;
                return;
            }
            Hex::None => return string.push('\\'),
        };
        if let Some(character) = char::from_u32(unit) {
            string.push(character);
        } else if is_high_surrogate(unit) {
            match after
                .strip_prefix('\\')
                .map_or_else(|| cut_if_empty(after), hex_unit)
            {
                Hex::Unit(low, after_low) if is_low_surrogate(low) => {
                    let joined = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                    string.extend(char::from_u32(joined));
                    self.position = self.text.len() - after_low.len();
                    return;
                }
                Hex::Cut => {
                    self.stopped = true;
                    return;
                }
                Hex::Unit(..) | Hex::None => string.push(char::REPLACEMENT_CHARACTER),
            }
        } else {
            string.push(char::REPLACEMENT_CHARACTER);
        }
        self.position = self.text.len() - after.len();
    }
}

/// The `uXXXX` of an escape.
enum Hex<'text> {
    /// A UTF-16 unit and the text after it.
    Unit(u32, &'text str),
    /// The text ends before it is told whether this is one.
    Cut,
    None,
}

fn hex_unit(text: &str) -> Hex<'_> {
    let Some(digits) = text.strip_prefix('u') else {
        return cut_if_empty(text);
    };
    let count = digits
        .bytes()
        .take(4)
        .take_while(u8::is_ascii_hexdigit)
        .count();
    match digits.split_at_checked(count) {
        Some((unit, after)) if count == 4 => {
            u32::from_str_radix(unit, 16).map_or(Hex::None, |unit| Hex::Unit(unit, after))
        }
        Some((_, after)) => cut_if_empty(after),
        None => Hex::None,
    }
}

fn cut_if_empty(text: &str) -> Hex<'_> {
    if text.is_empty() { Hex::Cut } else { Hex::None }
}

fn is_high_surrogate(unit: u32) -> bool {
    (0xD800..0xDC00).contains(&unit)
}

fn is_low_surrogate(unit: u32) -> bool {
    (0xDC00..0xE000).contains(&unit)
}

#[cfg(test)]
mod tests;
