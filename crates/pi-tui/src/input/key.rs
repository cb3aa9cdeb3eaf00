//! Keys, modifiers and key events.

use super::key_id::KeyId;

/// A key of the keyboard, without modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A lower-case letter, a digit or an ASCII symbol.
    Char(char),
    /// Escape.
    Escape,
    /// Enter, on the main block or the keypad.
    Enter,
    /// Tab.
    Tab,
    /// The space bar.
    Space,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Insert.
    Insert,
    /// Clear, the middle of the keypad.
    Clear,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
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
    /// It went up.
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

/// A key press, repeat or release with everything the terminal said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEvent {
    id: Option<KeyId>,
    aliases: [Option<KeyId>; 2],
    kind: KeyEventKind,
    text: Option<char>,
    raw: Box<[u8]>,
}

impl KeyEvent {
    /// Returns the key that one complete raw sequence stands for; `None` if it is not a key.
    pub fn parse(raw: &[u8], mode: KeyboardMode) -> Option<Self> {
        let _ = mode;
        let text = std::str::from_utf8(raw).ok()?.chars().next()?;
        Some(Self {
            text: Some(text),
            raw: raw.into(),
            ..Self::press(KeyId::new(Key::Space))
        })
    }

    /// Returns the press of a key, as if a terminal had sent it.
    pub fn press(id: KeyId) -> Self {
        Self {
            id: Some(id),
            aliases: [None; 2],
            kind: KeyEventKind::Press,
            text: None,
            raw: Box::default(),
        }
    }

    /// Returns the typing of a character, as if a terminal had sent it.
    pub fn typed(character: char) -> Self {
        Self {
            text: Some(character),
            ..Self::press(KeyId::new(Key::Space))
        }
    }

    /// Returns the key and its modifiers; `None` for keys that have no name, such as `é`.
    pub fn id(&self) -> Option<KeyId> {
        self.id
    }

    /// Returns whether the event is this key.
    ///
    /// Legacy terminals send the same byte for several keys (Tab and Ctrl+I); such an event is all of
    /// them.
    pub fn is(&self, id: KeyId) -> bool {
        self.id == Some(id) || self.aliases.contains(&Some(id))
    }

    /// Returns whether the key went down, is held, or went up.
    pub fn kind(&self) -> KeyEventKind {
        self.kind
    }

    /// Returns whether the key went up.
    pub fn is_release(&self) -> bool {
        self.kind == KeyEventKind::Release
    }

    /// Returns the character the key types, unless it is a command (Ctrl, Alt) or a release.
    pub fn text(&self) -> Option<char> {
        self.text
    }

    /// Returns the bytes the terminal sent.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }
}
