//! Sanitizes untrusted text: output of models, tools and files, and names, must not control the
//! terminal or hide content from the reader.
//!
//! Control sequences are removed, in their 7-bit and 8-bit forms, complete or not. Characters that
//! reorder text or carry hidden text are escaped as `<U+XXXX>`. Invisible characters that some
//! scripts need are escaped only in sequences that no script uses. The result is safe to style and
//! print.

use std::borrow::Cow;
use std::fmt::Write as _;

#[cfg(test)]
mod tests;

/// The subdivision flags, each a black flag followed by invisible tag letters.
const TAGGED_FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

const BLACK_FLAG: char = '\u{1f3f4}';

/// Returns `text` without control sequences and with deceptive characters escaped.
///
/// Line feeds and tabs are kept; other line breaks become line feeds. See [`Sanitizer`].
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if safe_prefix_len(text) == text.len() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut sanitizer = Sanitizer::new();
    sanitizer.push(text, &mut clean);
    sanitizer.finish(&mut clean);
    Cow::Owned(clean)
}

/// Whether a character may be passed through regardless of context.
fn is_safe(character: char) -> bool {
    match character {
        '\n' | '\t' => true,
        BLACK_FLAG | '\u{2028}' | '\u{2029}' => false,
        other => {
            !other.is_control() && !is_deceptive(other) && !is_joiner(other) && !is_selector(other)
        }
    }
}

/// Returns how many bytes at the start may be passed through unchanged.
fn safe_prefix_len(text: &str) -> usize {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let mut length = 0;
    loop {
        let rest = text.as_bytes().get(length..).unwrap_or_default();
        length += rest.iter().take_while(|byte| is_plain(byte)).count();
        match text.get(length..).and_then(|rest| rest.chars().next()) {
            Some(character) if is_safe(character) => length += character.len_utf8(),
            Some(_) | None => return length,
        }
    }
}

/// Whether a character reorders its surroundings or carries invisible text.
fn is_deceptive(character: char) -> bool {
    matches!(character,
        // Bidirectional controls.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Blank letters and other invisible characters.
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{180e}' | '\u{feff}'
        | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}'
        // Tag characters: an entire invisible alphabet.
        | '\u{e0000}'..='\u{e007f}')
}

/// Whether a character invisibly joins or separates its neighbors. Persian, Khmer and emoji need
/// one at a time.
fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200d}')
}

/// Whether a character selects the variant of the preceding one. One is always enough.
fn is_selector(character: char) -> bool {
    matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SanitizerState {
    #[default]
    Text,
    /// After a carriage return, which may be half of a line break.
    CarriageReturn,
    /// After a black flag, which tags may turn into another flag.
    Flag,
    Escape,
    /// After ESC and intermediate bytes.
    EscapeIntermediate,
    /// Inside a control sequence (CSI).
    Control,
    /// Inside a control string (OSC, DCS, APC, PM, SOS).
    String,
    /// Inside a control string, after ESC.
    StringEscape,
}

/// Invisible characters that are legitimate one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InvisibleKind {
    Joiner,
    Selector,
}

/// [`sanitize`] for streamed text. Sequences may be split anywhere.
///
/// An unterminated control string ends at the end of its line, so that it cannot swallow the rest
/// of the text. Only a few characters are ever held back.
#[derive(Clone, Debug, Default)]
pub struct Sanitizer {
    state: SanitizerState,
    /// The kind of invisible character emitted last, if nothing visible followed it.
    last_invisible: Option<InvisibleKind>,
    /// Tags seen after a black flag: a prefix of an entry of [`TAGGED_FLAGS`].
    held_tags: String,
}

impl Sanitizer {
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes the next piece and appends the part that is already certain.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        let mut rest = piece;
        while !rest.is_empty() {
            if self.state == SanitizerState::Text {
                let end = safe_prefix_len(rest);
                #[cfg(test)]
                super::linearity::count(end);
                let (safe, following) = rest.split_at_checked(end).unwrap_or((rest, ""));
                out.push_str(safe);
                if !safe.is_empty() {
                    self.last_invisible = None;
                }
                rest = following;
            }
            let mut characters = rest.chars();
            if let Some(character) = characters.next() {
                #[cfg(test)]
                super::linearity::count(character.len_utf8());
                self.push_character(character, out);
                rest = characters.as_str();
            }
        }
    }

    /// Finishes the text: appends held-back characters and drops an unterminated sequence.
    pub fn finish(&mut self, out: &mut String) {
        self.escape_tags(out);
        self.state = SanitizerState::Text;
    }

    fn push_character(&mut self, character: char, out: &mut String) {
        match self.state {
            SanitizerState::Text => self.start(character, out),
            SanitizerState::CarriageReturn => {
                self.push_visible('\n', out);
                self.state = SanitizerState::Text;
                if character != '\n' {
                    self.start(character, out);
                }
            }
            SanitizerState::Flag => self.continue_flag(character, out),
            SanitizerState::Escape => self.continue_escape(character, out),
            SanitizerState::EscapeIntermediate => match character {
                ' '..='/' => {}
                '0'..='~' => self.state = SanitizerState::Text,
                other => self.abort(other, out),
            },
            SanitizerState::Control => match character {
                ' '..='?' => {}
                '@'..='~' => self.state = SanitizerState::Text,
                other => self.abort(other, out),
            },
            SanitizerState::String => match character {
                '\x07' | '\u{9c}' | '\x18' | '\x1a' => self.state = SanitizerState::Text,
                '\x1b' => self.state = SanitizerState::StringEscape,
                '\n' | '\r' => self.abort(character, out),
                _ => {}
            },
            SanitizerState::StringEscape => match character {
                '\\' => self.state = SanitizerState::Text,
                other => self.continue_escape(other, out),
            },
        }
    }

    /// Handles a character outside any sequence.
    fn start(&mut self, character: char, out: &mut String) {
        match character {
            '\r' => self.state = SanitizerState::CarriageReturn,
            '\x1b' => self.state = SanitizerState::Escape,
            '\u{9b}' => self.state = SanitizerState::Control,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
                self.state = SanitizerState::String;
            }
            '\u{85}' | '\u{2028}' | '\u{2029}' => self.push_visible('\n', out),
            BLACK_FLAG => {
                self.push_visible(character, out);
                self.state = SanitizerState::Flag;
            }
            joiner if is_joiner(joiner) => self.push_invisible(joiner, InvisibleKind::Joiner, out),
            selector if is_selector(selector) => {
                self.push_invisible(selector, InvisibleKind::Selector, out);
            }
            deceptive if is_deceptive(deceptive) => push_escaped(deceptive, out),
            safe if is_safe(safe) => self.push_visible(safe, out),
            _ => {}
        }
    }

    fn push_visible(&mut self, character: char, out: &mut String) {
        out.push(character);
        self.last_invisible = None;
    }

    /// Emits a selector, a joiner, or one after the other, as emoji need them. Any further
    /// invisible character without a visible one in between would be a hidden message, so it is
    /// escaped.
    fn push_invisible(&mut self, character: char, kind: InvisibleKind, out: &mut String) {
        let is_writing = match self.last_invisible {
            None => true,
            Some(InvisibleKind::Selector) => kind == InvisibleKind::Joiner,
            Some(InvisibleKind::Joiner) => false,
        };
        if is_writing {
            out.push(character);
            self.last_invisible = Some(kind);
        } else {
            push_escaped(character, out);
            self.last_invisible = Some(InvisibleKind::Joiner);
        }
    }

    /// Aborts a malformed sequence at a character that does not belong to it.
    fn abort(&mut self, character: char, out: &mut String) {
        self.state = SanitizerState::Text;
        self.start(character, out);
    }

    fn continue_escape(&mut self, character: char, out: &mut String) {
        match character {
            '[' => self.state = SanitizerState::Control,
            ']' | 'P' | 'X' | '^' | '_' => self.state = SanitizerState::String,
            ' '..='/' => self.state = SanitizerState::EscapeIntermediate,
            '0'..='~' => self.state = SanitizerState::Text,
            other => self.abort(other, out),
        }
    }

    fn continue_flag(&mut self, character: char, out: &mut String) {
        self.held_tags.push(character);
        if TAGGED_FLAGS.contains(&self.held_tags.as_str()) {
            out.push_str(&self.held_tags);
            self.held_tags.clear();
            self.state = SanitizerState::Text;
        } else if !TAGGED_FLAGS
            .iter()
            .any(|flag| flag.starts_with(&self.held_tags))
        {
            self.held_tags.pop();
            self.escape_tags(out);
            self.abort(character, out);
        }
    }

    /// Escapes tags that did not form a flag.
    fn escape_tags(&mut self, out: &mut String) {
        for tag in std::mem::take(&mut self.held_tags).chars() {
            push_escaped(tag, out);
        }
    }
}

/// Appends an invisible character in escaped form.
fn push_escaped(character: char, out: &mut String) {
    // Writing to a string cannot fail.
    write!(out, "<U+{:04X}>", u32::from(character)).unwrap_or_default();
}
