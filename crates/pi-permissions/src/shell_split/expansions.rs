//! Quotes, and what the shell replaces in a word.

use super::Splitter;

impl Splitter {
    /// A `$` outside of single quotes.
    pub(super) fn expansion(&mut self) {
        match self.peek() {
            Some('(') => {
                self.position += 1;
                self.note("a substitution");
                self.substitution(')');
            }
            Some('{') => {
                self.position += 1;
                self.note("a parameter expansion");
                self.parameter();
            }
            Some('[') => {
                self.note("arithmetic");
                self.unquoted('$').word.is_expanded = true;
            }
            Some('\'') => {
                self.position += 1;
                self.note("a translated string");
                self.translated_quotes();
            }
            Some('"') => self.note("a translated string"),
            Some(next) if next.is_ascii_alphanumeric() || "_?!#@*$-".contains(next) => {
                self.unquoted('$').word.is_expanded = true;
            }
            _ => {
                self.unquoted('$');
            }
        }
    }

    pub(super) fn backticks(&mut self) {
        self.note("a command substitution");
        self.substitution('`');
    }

    /// `<(` and `>(`: a file name.
    pub(super) fn process_substitution(&mut self) {
        self.position += 1;
        self.note("a process substitution");
        self.substitution(')');
    }

    fn substitution(&mut self, end: char) {
        self.unquoted('$').word.is_expanded = true;
        self.nested(end);
    }

    /// The rest of `${…}`, which may contain substitutions.
    fn parameter(&mut self) {
        self.unquoted('$').word.is_expanded = true;
        while let Some(character) = self.next() {
            match character {
                '}' => return,
                '\\' => {
                    self.next_literal();
                }
                '`' => self.backticks(),
                '$' => self.expansion(),
                '\'' => self.single_quotes(),
                _ => {}
            }
        }
    }

    /// The rest of `$'…'`.
    fn translated_quotes(&mut self) {
        self.partial().is_quoted = true;
        self.partial().word.is_expanded = true;
        while let Some(character) = self.next_literal() {
            match character {
                '\'' => return,
                '\\' => {
                    self.next_literal();
                }
                _ => self.quoted(character),
            }
        }
    }

    pub(super) fn escape(&mut self) {
        match self.next_literal() {
            Some(character) if !character.is_control() => self.quoted(character),
            _ => self.note("an incomplete escape"),
        }
    }

    pub(super) fn single_quotes(&mut self) {
        self.partial().is_quoted = true;
        loop {
            match self.next_literal() {
                Some('\'') => return,
                Some(character) => self.quoted(character),
                None => return self.note("an unclosed quote"),
            }
        }
    }

    pub(super) fn double_quotes(&mut self) {
        self.partial().is_quoted = true;
        loop {
            match self.next() {
                Some('"') => return,
                Some('`') => self.backticks(),
                // In double quotes, `$"` and `$'` are plain text.
                Some('$') if !matches!(self.peek(), Some('"' | '\'')) => self.expansion(),
                Some('\\') => match self.characters.get(self.position) {
                    Some(&escaped @ ('$' | '`' | '"' | '\\')) => {
                        self.position += 1;
                        self.quoted(escaped);
                    }
                    _ => self.quoted('\\'),
                },
                Some(character) => self.quoted(character),
                None => return self.note("an unclosed quote"),
            }
        }
    }
}
