//! Foreign text made harmless: what comes from models, tools, files and names must not steer the
//! terminal or hide from the reader.
//!
//! Control sequences vanish, in their 7-bit and 8-bit forms, complete or not. Characters that reorder
//! text or carry hidden text are spelt out; those that writing needs are so only where they stand in rows,
//! as no writing has them. What remains is safe to style and print.

use std::borrow::Cow;
use std::fmt::Write as _;

#[cfg(test)]
mod tests;

/// The subdivision flags, which are a black flag followed by invisible tag letters.
const TAGGED_FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

const BLACK_FLAG: char = '\u{1f3f4}';

/// Returns `text` without control sequences and with invisible directions made visible.
///
/// Line feeds and tabs stay; other line ends become line feeds. See [`Sanitizer`].
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if harmless_length(text) == text.len() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut sanitizer = Sanitizer::new();
    sanitizer.push(text, &mut clean);
    sanitizer.finish(&mut clean);
    Cow::Owned(clean)
}

/// Returns whether a character may be passed on whatever surrounds it.
fn is_harmless(character: char) -> bool {
    match character {
        '\n' | '\t' => true,
        BLACK_FLAG | '\u{2028}' | '\u{2029}' => false,
        other => {
            !other.is_control() && !is_deceptive(other) && !is_joiner(other) && !is_selector(other)
        }
    }
}

/// Returns how many bytes at the start may be passed on as they are.
fn harmless_length(text: &str) -> usize {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let mut length = 0;
    loop {
        let rest = text.as_bytes().get(length..).unwrap_or_default();
        length += rest.iter().take_while(|byte| is_plain(byte)).count();
        match text.get(length..).and_then(|rest| rest.chars().next()) {
            Some(character) if is_harmless(character) => length += character.len_utf8(),
            Some(_) | None => return length,
        }
    }
}

/// Returns whether a character reorders its surroundings or carries text that nobody sees.
fn is_deceptive(character: char) -> bool {
    matches!(character,
        // Directions.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Letters that are blank, and marks that are nothing at all.
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{180e}' | '\u{feff}'
        | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}'
        // A whole invisible alphabet.
        | '\u{e0000}'..='\u{e007f}')
}

/// Returns whether a character joins or parts its neighbors without being seen. Persian, Khmer and emoji
/// need one at a time.
fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200d}')
}

/// Returns whether a character chooses the form of the one before it; one is all it takes.
fn is_selector(character: char) -> bool {
    matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After a carriage return, which may be half of a line end.
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

/// Invisible characters that writing needs one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unseen {
    Joiner,
    Selector,
}

/// [`sanitize`] for text that arrives in pieces; sequences may be cut anywhere.
///
/// A control string that is not terminated ends with its line, so that it cannot swallow what follows.
/// No more than a few characters are held back.
#[derive(Clone, Debug, Default)]
pub struct Sanitizer {
    state: State,
    /// What kind of invisible character was passed on last, if nothing visible came since.
    unseen: Option<Unseen>,
    /// The tags seen after a black flag: the start of an entry of [`TAGGED_FLAGS`].
    held_tags: String,
}

impl Sanitizer {
    /// Starts outside any sequence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece and appends what is certain by now.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        let mut rest = piece;
        while !rest.is_empty() {
            if self.state == State::Text {
                let end = harmless_length(rest);
                #[cfg(test)]
                super::bombs::count(end);
                let (harmless, following) = rest.split_at_checked(end).unwrap_or((rest, ""));
                out.push_str(harmless);
                if !harmless.is_empty() {
                    self.unseen = None;
                }
                rest = following;
            }
            let mut characters = rest.chars();
            if let Some(character) = characters.next() {
                #[cfg(test)]
                super::bombs::count(character.len_utf8());
                self.push_character(character, out);
                rest = characters.as_str();
            }
        }
    }

    /// Ends the text: appends what was held back, drops an unterminated sequence.
    pub fn finish(&mut self, out: &mut String) {
        self.release_tags(out);
        self.state = State::Text;
    }

    fn push_character(&mut self, character: char, out: &mut String) {
        match self.state {
            State::Text => self.start(character, out),
            State::CarriageReturn => {
                self.push_visible('\n', out);
                self.state = State::Text;
                if character != '\n' {
                    self.start(character, out);
                }
            }
            State::Flag => self.continue_flag(character, out),
            State::Escape => self.continue_escape(character, out),
            State::EscapeIntermediate => match character {
                ' '..='/' => {}
                '0'..='~' => self.state = State::Text,
                other => self.abort(other, out),
            },
            State::Control => match character {
                ' '..='?' => {}
                '@'..='~' => self.state = State::Text,
                other => self.abort(other, out),
            },
            State::String => match character {
                '\x07' | '\u{9c}' | '\x18' | '\x1a' => self.state = State::Text,
                '\x1b' => self.state = State::StringEscape,
                '\n' | '\r' => self.abort(character, out),
                _ => {}
            },
            State::StringEscape => match character {
                '\\' => self.state = State::Text,
                other => self.continue_escape(other, out),
            },
        }
    }

    /// Handles a character outside any sequence.
    fn start(&mut self, character: char, out: &mut String) {
        match character {
            '\r' => self.state = State::CarriageReturn,
            '\x1b' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Control,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.state = State::String,
            '\u{85}' | '\u{2028}' | '\u{2029}' => self.push_visible('\n', out),
            BLACK_FLAG => {
                self.push_visible(character, out);
                self.state = State::Flag;
            }
            joiner if is_joiner(joiner) => self.push_invisible(joiner, Unseen::Joiner, out),
            selector if is_selector(selector) => {
                self.push_invisible(selector, Unseen::Selector, out);
            }
            deceptive if is_deceptive(deceptive) => spell_out(deceptive, out),
            harmless if is_harmless(harmless) => self.push_visible(harmless, out),
            _ => {}
        }
    }

    fn push_visible(&mut self, character: char, out: &mut String) {
        out.push(character);
        self.unseen = None;
    }

    /// Passes a selector, a joiner, or one after the other on, as emoji need them. Whatever comes behind
    /// without anything visible in between would be a hidden message.
    fn push_invisible(&mut self, character: char, kind: Unseen, out: &mut String) {
        let is_writing = match self.unseen {
            None => true,
            Some(Unseen::Selector) => kind == Unseen::Joiner,
            Some(Unseen::Joiner) => false,
        };
        if is_writing {
            out.push(character);
            self.unseen = Some(kind);
        } else {
            spell_out(character, out);
            self.unseen = Some(Unseen::Joiner);
        }
    }

    /// Leaves a malformed sequence at a character that is no part of it.
    fn abort(&mut self, character: char, out: &mut String) {
        self.state = State::Text;
        self.start(character, out);
    }

    fn continue_escape(&mut self, character: char, out: &mut String) {
        match character {
            '[' => self.state = State::Control,
            ']' | 'P' | 'X' | '^' | '_' => self.state = State::String,
            ' '..='/' => self.state = State::EscapeIntermediate,
            '0'..='~' => self.state = State::Text,
            other => self.abort(other, out),
        }
    }

    fn continue_flag(&mut self, character: char, out: &mut String) {
        self.held_tags.push(character);
        if TAGGED_FLAGS.contains(&self.held_tags.as_str()) {
            out.push_str(&self.held_tags);
            self.held_tags.clear();
            self.state = State::Text;
        } else if !TAGGED_FLAGS
            .iter()
            .any(|flag| flag.starts_with(&self.held_tags))
        {
            self.held_tags.pop();
            self.release_tags(out);
            self.abort(character, out);
        }
    }

    /// Spells out tags that made no flag.
    fn release_tags(&mut self, out: &mut String) {
        for tag in std::mem::take(&mut self.held_tags).chars() {
            spell_out(tag, out);
        }
    }
}

/// Appends the name of an invisible character in place of the character.
fn spell_out(character: char, out: &mut String) {
    // Writing to a string cannot fail.
    write!(out, "<U+{:04X}>", u32::from(character)).unwrap_or_default();
}
