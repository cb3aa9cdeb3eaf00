//! Keys, modifiers and key events.

use super::key_id::KeyId;
use super::legacy;

/// A key, without modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A lowercase letter, a digit or an ASCII symbol.
    Char(char),
    Escape,
    /// On the main block or the keypad.
    Enter,
    Tab,
    Space,
    Backspace,
    Delete,
    Insert,
    /// The middle key of the keypad.
    Clear,
    Home,
    End,
    PageUp,
    PageDown,
    Up,
    Down,
    Left,
    Right,
    /// 1 to 12.
    Function(u8),
}

/// A set of modifier keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Modifiers(u8);

impl Modifiers {
    pub const NONE: Self = Self(0);
    pub const SHIFT: Self = Self(1);
    /// Alt, or Option on macOS.
    pub const ALT: Self = Self(2);
    pub const CTRL: Self = Self(4);
    /// The Windows or Command key.
    pub const SUPER: Self = Self(8);

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the set without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` are in the set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyEventKind {
    /// Pressed; the only kind most terminals report.
    #[default]
    Press,
    /// Held down.
    Repeat,
    Release,
}

/// Keyboard properties of the terminal that resolve ambiguous sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyboardMode {
    /// Whether the Kitty keyboard protocol is active, in which case ESC-prefixed keys are custom
    /// mappings.
    pub kitty: bool,
    /// Whether the byte 0x08 is Ctrl+Backspace, as in Windows Terminal; otherwise it is Backspace.
    pub backspace_is_ctrl: bool,
}

impl KeyboardMode {
    /// Returns the initial mode, before the terminal has replied to queries. `variable` looks up
    /// environment variables.
    ///
    /// Over SSH the variables may describe a different terminal than the one at the other end.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
        let over_ssh = ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"]
            .into_iter()
            .any(is_set);
        Self {
            kitty: false,
            backspace_is_ctrl: is_set("WT_SESSION") && !over_ssh,
        }
    }
}

/// The meaning of a key sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DecodedKey {
    id: Option<KeyId>,
    /// Further keys that send the same sequence.
    aliases: [Option<KeyId>; 2],
    kind: KeyEventKind,
    text: Option<char>,
}

impl DecodedKey {
    pub(super) fn key(key: Key) -> Self {
        KeyId::new(key).into()
    }

    pub(super) fn id(&self) -> Option<KeyId> {
        self.id
    }

    /// Adds a key that sends the same sequence.
    pub(super) fn with_alias(mut self, alias: KeyId) -> Self {
        if let Some(free) = self.aliases.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(alias);
        }
        self
    }

    pub(super) fn with_text(self, text: char) -> Self {
        Self {
            text: Some(text),
            ..self
        }
    }

    pub(super) fn with_kind(self, kind: KeyEventKind) -> Self {
        Self { kind, ..self }
    }

    /// Adds modifiers to the key and its aliases.
    pub(super) fn with(self, modifiers: Modifiers) -> Self {
        let add = |id: Option<KeyId>| id.map(|id| id.with(modifiers));
        Self {
            id: add(self.id),
            aliases: self.aliases.map(add),
            ..self
        }
    }

    /// Adds Alt. The key then no longer types text.
    pub(super) fn with_alt(self) -> Self {
        Self {
            text: None,
            ..self.with(Modifiers::ALT)
        }
    }
}

impl From<KeyId> for DecodedKey {
    fn from(id: KeyId) -> Self {
        Self {
            id: Some(id),
            ..Self::default()
        }
    }
}

/// A key press, repeat or release with everything the terminal reported about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEvent {
    decoded: DecodedKey,
    raw: Box<[u8]>,
}

impl KeyEvent {
    /// Decodes one complete raw sequence. Returns `None` if it is not a key.
    pub fn parse(raw: &[u8], mode: KeyboardMode) -> Option<Self> {
        Some(Self {
            decoded: legacy::parse(raw, mode)?,
            raw: raw.into(),
        })
    }

    /// Returns a key press without raw bytes, for tests and synthetic input.
    pub fn press(id: KeyId) -> Self {
        Self {
            decoded: id.into(),
            raw: Box::default(),
        }
    }

    /// Returns a typed character, as if a terminal had sent it.
    pub fn typed(character: char) -> Self {
        let mut buffer = [0; 4];
        let raw = character.encode_utf8(&mut buffer).as_bytes();
        Self::parse(raw, KeyboardMode::default()).unwrap_or_else(|| Self {
            decoded: DecodedKey::default(),
            raw: raw.into(),
        })
    }

    /// Returns the key and its modifiers, or `None` for keys without a name, such as `é`.
    pub fn id(&self) -> Option<KeyId> {
        self.decoded.id
    }

    /// Whether the event is this key.
    ///
    /// Legacy terminals send the same byte for several keys (Tab and Ctrl+I). Such an event matches
    /// all of them.
    pub fn is(&self, id: KeyId) -> bool {
        self.decoded.id == Some(id) || self.decoded.aliases.contains(&Some(id))
    }

    pub fn kind(&self) -> KeyEventKind {
        self.decoded.kind
    }

    pub fn is_release(&self) -> bool {
        self.decoded.kind == KeyEventKind::Release
    }

    /// Returns the character the key types, unless it is a command (Ctrl, Alt) or a release.
    pub fn text(&self) -> Option<char> {
        self.decoded.text
    }

    /// Returns the bytes the terminal sent.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }
}
