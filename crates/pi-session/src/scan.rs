//! Extracts the few fields the index needs from a JSON line without building the rest. The whole
//! line is validated because the TypeScript pi skips lines that are not JSON. Like [`pi_protocol::json`],
//! it accepts unescaped control characters and lone surrogates in strings.

use std::borrow::Cow;

use memchr::memchr2;

#[derive(Debug, PartialEq)]
pub(crate) enum ScannedLine<'line> {
    /// Only whitespace, or `null`.
    Blank,
    Malformed,
    /// JSON, but not an object.
    Scalar,
    Object(LineFields<'line>),
}

/// The fields that the index reads; a field of an unexpected JSON type is treated as absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LineFields<'line> {
    pub(crate) type_name: Option<Cow<'line, str>>,
    pub(crate) id: Option<Cow<'line, str>>,
    pub(crate) parent_id: Option<Cow<'line, str>>,
    pub(crate) timestamp: Option<Cow<'line, str>>,
    /// `message.role`.
    pub(crate) role: Option<Cow<'line, str>>,
    /// `message.timestamp`.
    pub(crate) message_timestamp: Option<i64>,
    /// The bytes of `message`, if it is an object.
    pub(crate) message: Option<&'line [u8]>,
}

/// Scans lines, reusing its buffer.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    /// Closing brackets that are still expected.
    open: Vec<u8>,
}

impl Scanner {
    /// Scans one line, with or without its line feed.
    pub(crate) fn scan<'line>(&mut self, line: &'line [u8]) -> ScannedLine<'line> {
        let mut cursor = Cursor {
            bytes: line,
            position: 0,
        };
        cursor.skip_space();
        match cursor.peek() {
            None => ScannedLine::Blank,
            Some(b'{') => self
                .object(&mut cursor)
                .filter(|_| cursor.is_at_end())
                .map_or(ScannedLine::Malformed, ScannedLine::Object),
            Some(first) => match self.skip_value(&mut cursor) {
                Some(()) if cursor.is_at_end() && first == b'n' => ScannedLine::Blank,
                Some(()) if cursor.is_at_end() => ScannedLine::Scalar,
                _ => ScannedLine::Malformed,
            },
        }
    }

    /// Reads the object at the start of `text` and returns it with its length; anything may follow.
    pub(crate) fn leading_object<'text>(
        &mut self,
        text: &'text [u8],
    ) -> Option<(LineFields<'text>, usize)> {
        let mut cursor = Cursor {
            bytes: text,
            position: 0,
        };
        let fields = self.object(&mut cursor)?;
        Some((fields, cursor.position))
    }

    fn object<'line>(&mut self, cursor: &mut Cursor<'line>) -> Option<LineFields<'line>> {
        let mut fields = LineFields::default();
        self.each_field(cursor, |scanner, cursor, key| {
            match key {
                b"type" => scanner.text(cursor, &mut fields.type_name)?,
                b"id" => scanner.text(cursor, &mut fields.id)?,
                b"parentId" => scanner.text(cursor, &mut fields.parent_id)?,
                b"timestamp" => scanner.text(cursor, &mut fields.timestamp)?,
                b"message" => scanner.message(cursor, &mut fields)?,
                _ => scanner.skip_value(cursor)?,
            }
            Some(())
        })?;
        Some(fields)
    }

    fn message<'line>(
        &mut self,
        cursor: &mut Cursor<'line>,
        fields: &mut LineFields<'line>,
    ) -> Option<()> {
        (fields.role, fields.message_timestamp, fields.message) = (None, None, None);
        if cursor.peek() != Some(b'{') {
            return self.skip_value(cursor);
        }
        let start = cursor.position;
        self.each_field(cursor, |scanner, cursor, key| {
            match key {
                b"role" => scanner.text(cursor, &mut fields.role)?,
                b"timestamp" => scanner.number(cursor, &mut fields.message_timestamp)?,
                _ => scanner.skip_value(cursor)?,
            }
            Some(())
        })?;
        fields.message = cursor.bytes.get(start..cursor.position);
        Some(())
    }

    /// Visits the fields of the object at the cursor; `read` must consume the value.
    fn each_field<'line>(
        &mut self,
        cursor: &mut Cursor<'line>,
        mut read: impl FnMut(&mut Self, &mut Cursor<'line>, &[u8]) -> Option<()>,
    ) -> Option<()> {
        cursor.expect(b'{')?;
        cursor.skip_space();
        if cursor.take_if(b'}') {
            return Some(());
        }
        loop {
            let key = cursor.key()?.unescaped();
            cursor.skip_space();
            read(self, cursor, &key)?;
            cursor.skip_space();
            match cursor.next()? {
                b',' => cursor.skip_space(),
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads a string; a value of another type is skipped and treated as absent.
    fn text<'line>(
        &mut self,
        cursor: &mut Cursor<'line>,
        target: &mut Option<Cow<'line, str>>,
    ) -> Option<()> {
        *target = None;
        if cursor.peek() != Some(b'"') {
            return self.skip_value(cursor);
        }
        let start = cursor.position;
        let JsonString { raw, has_escapes } = cursor.string()?;
        if !has_escapes {
            // Validation alone is several times faster than lossy conversion.
            *target = Some(match std::str::from_utf8(raw) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(raw),
            });
            return Some(());
        }
        let quoted = cursor.bytes.get(start..cursor.position)?;
        let quoted = String::from_utf8_lossy(quoted);
        let text: Option<String> = pi_protocol::json::from_str_lenient(&quoted).ok();
        *target = text.map(Cow::Owned);
        Some(())
    }

    /// Reads a number as milliseconds; a value of another type is skipped and treated as absent.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "`as` saturates, which is what an out-of-range time should do"
    )]
    fn number(&mut self, cursor: &mut Cursor<'_>, target: &mut Option<i64>) -> Option<()> {
        let start = cursor.position;
        self.skip_value(cursor)?;
        let text = std::str::from_utf8(cursor.bytes.get(start..cursor.position)?).ok();
        *target = text.and_then(|text| {
            text.parse::<i64>()
                .ok()
                .or_else(|| text.parse::<f64>().ok().map(|number| number as i64))
        });
        Some(())
    }

    /// Skips a value of any depth without recursion, so that no file can overflow the stack.
    fn skip_value(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        self.open.clear();
        loop {
            cursor.skip_space();
            match cursor.peek()? {
                b'{' => {
                    cursor.position += 1;
                    cursor.skip_space();
                    if !cursor.take_if(b'}') {
                        self.open.push(b'}');
                        cursor.key()?;
                        continue;
                    }
                }
                b'[' => {
                    cursor.position += 1;
                    cursor.skip_space();
                    if !cursor.take_if(b']') {
                        self.open.push(b']');
                        continue;
                    }
                }
                b'"' => {
                    cursor.string()?;
                }
                b't' => cursor.literal(b"true")?,
                b'f' => cursor.literal(b"false")?,
                b'n' => cursor.literal(b"null")?,
                _ => cursor.number()?,
            }
            loop {
                let Some(close) = self.open.last().copied() else {
                    return Some(());
                };
                cursor.skip_space();
                match cursor.next()? {
                    b',' if close == b'}' => {
                        cursor.skip_space();
                        cursor.key()?;
                        break;
                    }
                    b',' => break,
                    byte if byte == close => {
                        self.open.pop();
                    }
                    _ => return None,
                }
            }
        }
    }
}

/// A JSON string literal.
struct JsonString<'line> {
    /// The bytes between the quotes.
    raw: &'line [u8],
    has_escapes: bool,
}

impl<'line> JsonString<'line> {
    /// Returns the decoded string as UTF-8.
    fn unescaped(&self) -> Cow<'line, [u8]> {
        if !self.has_escapes {
            return Cow::Borrowed(self.raw);
        }
        let quoted = format!("\"{}\"", String::from_utf8_lossy(self.raw));
        let text: Option<String> = pi_protocol::json::from_str_lenient(&quoted).ok();
        text.map_or(Cow::Borrowed(self.raw), |text| {
            Cow::Owned(text.into_bytes())
        })
    }
}

#[derive(Debug)]
struct Cursor<'line> {
    bytes: &'line [u8],
    position: usize,
}

impl<'line> Cursor<'line> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.position += 1;
        Some(byte)
    }

    fn take_if(&mut self, expected: u8) -> bool {
        let found = self.peek() == Some(expected);
        self.position += usize::from(found);
        found
    }

    fn expect(&mut self, expected: u8) -> Option<()> {
        self.take_if(expected).then_some(())
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.position += 1;
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.position == self.bytes.len()
    }

    fn literal(&mut self, literal: &[u8]) -> Option<()> {
        let rest = self.bytes.get(self.position..)?;
        self.position += literal.len();
        rest.starts_with(literal).then_some(())
    }

    /// Reads a key and the colon after it.
    fn key(&mut self) -> Option<JsonString<'line>> {
        let key = self.string()?;
        self.skip_space();
        self.expect(b':')?;
        Some(key)
    }

    fn string(&mut self) -> Option<JsonString<'line>> {
        self.expect(b'"')?;
        let start = self.position;
        let mut has_escapes = false;
        loop {
            let rest = self.bytes.get(self.position..)?;
            self.position += memchr2(b'"', b'\\', rest)?;
            if self.next()? == b'"' {
                let raw = self.bytes.get(start..self.position - 1)?;
                return Some(JsonString { raw, has_escapes });
            }
            has_escapes = true;
            match self.next()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => {
                    let digits = self.bytes.get(self.position..self.position + 4)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    self.position += 4;
                }
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        self.take_if(b'-');
        if !self.take_if(b'0') {
            self.digits()?;
        }
        if self.take_if(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.position += 1;
            if !self.take_if(b'+') {
                self.take_if(b'-');
            }
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        (self.position > start).then_some(())
    }
}

#[cfg(test)]
mod tests;
