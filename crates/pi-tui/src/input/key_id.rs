//! Key names: `ctrl+shift+p`, `escape`, `alt+left`.

use std::fmt;
use std::str::FromStr;

use super::key::{Key, Modifiers};

/// A key with its modifiers, written `mod+…+key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId {
    pub key: Key,
    pub modifiers: Modifiers,
}

impl KeyId {
    pub const fn new(key: Key) -> Self {
        Self {
            key,
            modifiers: Modifiers::NONE,
        }
    }

    /// Adds modifiers.
    #[must_use]
    pub const fn with(self, modifiers: Modifiers) -> Self {
        Self {
            key: self.key,
            modifiers: self.modifiers.with(modifiers),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyIdError {
    #[error("empty key name")]
    Empty,
    /// A modifier is not one of ctrl, shift, alt and super.
    #[error("unknown modifier `{0}`; use ctrl, shift, alt or super")]
    UnknownModifier(String),
    #[error("unknown key `{0}`")]
    UnknownKey(String),
}

impl FromStr for KeyId {
    type Err = KeyIdError;

    fn from_str(text: &str) -> Result<Self, KeyIdError> {
        if text.is_empty() {
            return Err(KeyIdError::Empty);
        }
        let name = text.to_ascii_lowercase();
        // The plus key itself ends the name: `+`, `ctrl++`.
        let (modifiers, key) = match name.strip_suffix('+') {
            Some(modifiers) => (modifiers, "+"),
            None => name.rsplit_once('+').unwrap_or(("", &name)),
        };
        let key = parse_key(key).ok_or_else(|| KeyIdError::UnknownKey(key.to_owned()))?;
        let modifiers = modifiers
            .split('+')
            .filter(|part| !part.is_empty())
            .try_fold(Modifiers::NONE, |set, part| {
                Ok(set.with(parse_modifier(part)?))
            })?;
        Ok(Self { key, modifiers })
    }
}

fn parse_modifier(name: &str) -> Result<Modifiers, KeyIdError> {
    match name {
        "ctrl" => Ok(Modifiers::CTRL),
        "shift" => Ok(Modifiers::SHIFT),
        "alt" => Ok(Modifiers::ALT),
        "super" => Ok(Modifiers::SUPER),
        _ => Err(KeyIdError::UnknownModifier(name.to_owned())),
    }
}

const NAMES: &[(&str, Key)] = &[
    ("escape", Key::Escape),
    ("enter", Key::Enter),
    ("tab", Key::Tab),
    ("space", Key::Space),
    ("backspace", Key::Backspace),
    ("delete", Key::Delete),
    ("insert", Key::Insert),
    ("clear", Key::Clear),
    ("home", Key::Home),
    ("end", Key::End),
    ("pageUp", Key::PageUp),
    ("pageDown", Key::PageDown),
    ("up", Key::Up),
    ("down", Key::Down),
    ("left", Key::Left),
    ("right", Key::Right),
];

fn parse_key(name: &str) -> Option<Key> {
    if let Some((_, key)) = NAMES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
    {
        return Some(*key);
    }
    match name {
        "esc" => return Some(Key::Escape),
        "return" => return Some(Key::Enter),
        _ => {}
    }
    let mut characters = name.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => is_named_character(only).then_some(Key::Char(only)),
        (Some('f'), Some(_)) => {
            let number = name.strip_prefix('f')?.parse().ok()?;
            (1..=12).contains(&number).then_some(Key::Function(number))
        }
        _ => None,
    }
}

/// Whether a character is the name of its key: lowercase letters, digits, ASCII symbols.
pub(super) fn is_named_character(character: char) -> bool {
    character.is_ascii_lowercase()
        || character.is_ascii_digit()
        || (character.is_ascii_punctuation() && character != '"')
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in [
            (Modifiers::SHIFT, "shift+"),
            (Modifiers::CTRL, "ctrl+"),
            (Modifiers::ALT, "alt+"),
            (Modifiers::SUPER, "super+"),
        ] {
            if self.modifiers.contains(modifier) {
                formatter.write_str(name)?;
            }
        }
        match self.key {
            Key::Char(character) => write!(formatter, "{character}"),
            Key::Function(number) => write!(formatter, "f{number}"),
            key => {
                let name = NAMES
                    .iter()
                    .find(|(_, known)| *known == key)
                    .map_or("", |(name, _)| name);
                formatter.write_str(name)
            }
        }
    }
}

impl serde::Serialize for KeyId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for KeyId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_are_parsed_in_any_order_and_case() {
        let cases = [
            ("a", "a"),
            ("A", "a"),
            ("ctrl+shift+p", "shift+ctrl+p"),
            ("Shift+Ctrl+P", "shift+ctrl+p"),
            ("super+alt+ctrl+shift+x", "shift+ctrl+alt+super+x"),
            ("esc", "escape"),
            ("return", "enter"),
            ("pageup", "pageUp"),
            ("ctrl+PAGEDOWN", "ctrl+pageDown"),
            ("f1", "f1"),
            ("alt+f12", "alt+f12"),
            ("+", "+"),
            ("ctrl++", "ctrl++"),
            ("ctrl+-", "ctrl+-"),
            ("ctrl+]", "ctrl+]"),
            ("?", "?"),
            ("0", "0"),
        ];
        for (text, canonical) in cases {
            let id: KeyId = text.parse().unwrap();
            assert_eq!(id.to_string(), canonical);
            assert_eq!(canonical.parse(), Ok(id));
        }
    }

    #[test]
    fn invalid_names_are_rejected_with_the_reason() {
        let parse = |text: &str| text.parse::<KeyId>().unwrap_err();
        assert_eq!(parse(""), KeyIdError::Empty);
        assert_eq!(parse("meta+x"), KeyIdError::UnknownModifier("meta".into()));
        for key in ["f0", "f13", "f999", "é", "\"", "word", "fx"] {
            assert_eq!(parse(key), KeyIdError::UnknownKey(key.into()));
        }
        assert_eq!(parse("ctrl+wrong"), KeyIdError::UnknownKey("wrong".into()));
        assert_eq!(parse("ctrl+shift"), KeyIdError::UnknownKey("shift".into()));
    }
}
