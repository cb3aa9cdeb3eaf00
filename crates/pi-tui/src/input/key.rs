//! Keys, modifiers and key events.

use super::key_id::KeyId;
use super::legacy;

/// A key of the keyboard, without modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A lower-case letter, a digit or an ASCII symbol.
    Char(char),
    Escape,
    /// Enter, on the main block or the keypad.
    Enter,
    Tab,
    Space,
    Backspace,
    Delete,
    Insert,
    /// Clear, the middle of the keypad.
    Clear,
    Home,
    End,
    PageUp,
    PageDown,
    Up,
    Down,
    Left,
    Right,
    /// A function key, 1 to 12.
    Function(u8),
}

/// A set of modifier keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Modifiers(u8);

impl Modifiers {
    /// No modifier.
    pub const NONE: Self = Self(0);
    /// Shift.
    pub const SHIFT: Self = Self(1);
    /// Alt, or Option.
    pub const ALT: Self = Self(2);
    /// Control.
    pub const CTRL: Self = Self(4);
    /// Super: the Windows or Command key.
    pub const SUPER: Self = Self(8);

    /// Returns both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the set without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether all of `other` are in the set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What happened to a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyEventKind {
    /// It went down; the only kind most terminals report.
    #[default]
    Press,
    /// It is being held.
    Repeat,
    Release,
}

/// What is known about the terminal's keyboard, where sequences are ambiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyboardMode {
    /// The Kitty keyboard protocol is active, so that ESC-prefixed keys are custom mappings.
    pub kitty: bool,
    /// The byte 0x08 is Ctrl+Backspace, as Windows Terminal sends it; elsewhere it is Backspace.
    pub backspace_is_ctrl: bool,
}

impl KeyboardMode {
    /// Returns the mode to start with, before the terminal said anything; `variable` looks up the
    /// environment.
    ///
    /// Over SSH the variables describe a terminal that may not be the one at the other end.
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

/// What a sequence says about a key.
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
    pub(super) fn or(mut self, alias: KeyId) -> Self {
        if let Some(free) = self.aliases.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(alias);
        }
        self
    }

    pub(super) fn typing(self, text: char) -> Self {
        Self {
            text: Some(text),
            ..self
        }
    }

    pub(super) fn of_kind(self, kind: KeyEventKind) -> Self {
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

    /// Adds Alt, which makes a command of a key that types.
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

/// A key press, repeat or release with everything the terminal said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEvent {
    meaning: DecodedKey,
    raw: Box<[u8]>,
}

impl KeyEvent {
    /// Returns the key that one complete raw sequence stands for; `None` if it is not a key.
    pub fn parse(raw: &[u8], mode: KeyboardMode) -> Option<Self> {
        Some(Self {
            meaning: legacy::parse(raw, mode)?,
            raw: raw.into(),
        })
    }

    /// Returns the press of a key without raw bytes, for tests and programs that make their own input.
    pub fn press(id: KeyId) -> Self {
        Self {
            meaning: id.into(),
            raw: Box::default(),
        }
    }

    /// Returns the typing of a character, as if a terminal had sent it.
    pub fn typed(character: char) -> Self {
        let mut buffer = [0; 4];
        let raw = character.encode_utf8(&mut buffer).as_bytes();
        Self::parse(raw, KeyboardMode::default()).unwrap_or_else(|| Self {
            meaning: DecodedKey::default(),
            raw: raw.into(),
        })
    }

    /// Returns the key and its modifiers; `None` for keys that have no name, such as `é`.
    pub fn id(&self) -> Option<KeyId> {
        self.meaning.id
    }

    /// Returns whether the event is this key.
    ///
    /// Legacy terminals send the same byte for several keys (Tab and Ctrl+I); such an event is all of
    /// them.
    pub fn is(&self, id: KeyId) -> bool {
        self.meaning.id == Some(id) || self.meaning.aliases.contains(&Some(id))
    }

    /// Returns whether the key went down, is held, or went up.
    pub fn kind(&self) -> KeyEventKind {
        self.meaning.kind
    }

    /// Returns whether the key went up.
    pub fn is_release(&self) -> bool {
        self.meaning.kind == KeyEventKind::Release
    }

    /// Returns the character the key types, unless it is a command (Ctrl, Alt) or a release.
    pub fn text(&self) -> Option<char> {
        self.meaning.text
    }

    /// Returns the bytes the terminal sent.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }
}
