//! Keys as encoded before the Kitty protocol.
//!
//! Control bytes, ESC prefixes for Alt, SS3, the Linux console and rxvt. Several keys may share a
//! sequence, which then matches all of them.

use super::control::ControlSequence;
use super::key::{DecodedKey, Key, KeyboardMode, Modifiers};
use super::key_id::{KeyId, is_named_character};
use super::kitty;

const ESCAPE: u8 = 0x1b;

/// Decodes one complete sequence. Returns `None` if it is not a key.
pub(super) fn parse(raw: &[u8], mode: KeyboardMode) -> Option<DecodedKey> {
    match raw {
        [ESCAPE] => Some(DecodedKey::key(Key::Escape).with_alias(ctrl('['))),
        // Two presses of Escape look the same as Ctrl+Alt+[. The former is far more likely.
        [ESCAPE, ESCAPE] => Some(alt(ctrl('[')).with_alias(KeyId::new(Key::Escape))),
        [ESCAPE, byte] => alt_byte(*byte, mode),
        [ESCAPE, ESCAPE, b'[' | b'O', ..] => Some(parse(raw.get(1..)?, mode)?.with_alt()),
        [ESCAPE, b'O', body @ ..] => application_key(body),
        [ESCAPE, b'[', b'[', body @ ..] => console_key(body),
        [ESCAPE, b'[', body @ ..] => {
            rxvt_key(body).or_else(|| kitty::parse(&ControlSequence::parse(raw)?))
        }
        // Alt with a letter that has no name.
        [ESCAPE, text @ ..] => only_character(text).map(|_| DecodedKey::default()),
        [byte] => byte_key(*byte, mode),
        text => only_character(text).map(typed_key),
    }
}

/// Returns the character if the bytes are exactly one.
fn only_character(bytes: &[u8]) -> Option<char> {
    let mut characters = std::str::from_utf8(bytes).ok()?.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Decodes a typed character.
fn typed_key(character: char) -> DecodedKey {
    let decoded = match character {
        ' ' => DecodedKey::key(Key::Space),
        'A'..='Z' => KeyId::new(Key::Char(character.to_ascii_lowercase()))
            .with(Modifiers::SHIFT)
            .into(),
        named if is_named_character(named) => DecodedKey::key(Key::Char(named)),
        _ => DecodedKey::default(),
    };
    if character.is_control() {
        decoded
    } else {
        decoded.with_text(character)
    }
}

fn byte_key(byte: u8, mode: KeyboardMode) -> Option<DecodedKey> {
    let decoded = match byte {
        0x00 => KeyId::new(Key::Space).with(Modifiers::CTRL).into(),
        0x08 if mode.backspace_is_ctrl => {
            DecodedKey::from(KeyId::new(Key::Backspace).with(Modifiers::CTRL)).with_alias(ctrl('h'))
        }
        0x08 => DecodedKey::key(Key::Backspace).with_alias(ctrl('h')),
        b'\t' => DecodedKey::key(Key::Tab).with_alias(ctrl('i')),
        // With the Kitty protocol Enter is CR, so LF is a mapping: Ghostty's `shift+enter=text:\n`.
        b'\n' if mode.kitty => {
            DecodedKey::from(KeyId::new(Key::Enter).with(Modifiers::SHIFT)).with_alias(ctrl('j'))
        }
        b'\n' => DecodedKey::key(Key::Enter).with_alias(ctrl('j')),
        b'\r' => DecodedKey::key(Key::Enter).with_alias(ctrl('m')),
        0x01..=0x1a => ctrl(char::from(byte + 0x60)).into(),
        0x1c => ctrl('\\').into(),
        0x1d => ctrl(']').into(),
        0x1e => ctrl('^').into(),
        // The same key on US keyboards.
        0x1f => DecodedKey::from(ctrl('-')).with_alias(ctrl('_')),
        0x7f => DecodedKey::key(Key::Backspace),
        0x20..=0x7e => typed_key(char::from(byte)),
        ESCAPE | 0x80.. => return None,
    };
    Some(decoded)
}

/// Decodes ESC and one byte: Alt and a key, or a terminal-specific mapping.
fn alt_byte(byte: u8, mode: KeyboardMode) -> Option<DecodedKey> {
    let arrow = |key| DecodedKey::from(KeyId::new(key).with(Modifiers::ALT));
    let letter = alt(KeyId::new(Key::Char(char::from(byte.to_ascii_lowercase()))));
    if mode.kitty {
        // Alt is sent as a CSI u sequence in this mode. The remaining cases are mappings in the
        // terminal's settings, such as Kitty's `map shift+enter send_text all \e\r` or readline's
        // word movement.
        return match byte {
            b'\r' => Some(KeyId::new(Key::Enter).with(Modifiers::SHIFT).into()),
            b'b' => Some(arrow(Key::Left)),
            b'f' => Some(arrow(Key::Right)),
            b'p' => Some(arrow(Key::Up)),
            b'n' => Some(arrow(Key::Down)),
            0x7f | 0x08 => Some(arrow(Key::Backspace)),
            _ => byte_key(byte, mode).map(|_| DecodedKey::default()),
        };
    }
    match byte {
        // Terminals on macOS send readline's word keys for Option+arrows.
        b'b' => Some(arrow(Key::Left).with_alias(letter.id()?)),
        b'f' => Some(arrow(Key::Right).with_alias(letter.id()?)),
        b'p' => Some(arrow(Key::Up).with_alias(letter.id()?)),
        b'n' => Some(arrow(Key::Down).with_alias(letter.id()?)),
        b'B' => Some(arrow(Key::Left).with_alias(letter.id()?.with(Modifiers::SHIFT))),
        b'F' => Some(arrow(Key::Right).with_alias(letter.id()?.with(Modifiers::SHIFT))),
        0x08 => Some(arrow(Key::Backspace).with_alias(alt(ctrl('h')).id()?)),
        _ => Some(byte_key(byte, mode)?.with_alt()),
    }
}

/// Parses `ESC O [modifier] letter`: cursor and function keys, and the keypad in application mode.
fn application_key(body: &[u8]) -> Option<DecodedKey> {
    let (last, parameters) = body.split_last()?;
    // Old Konsole and GNOME Terminal: `ESC O 5 A`, or `ESC O 1 ; 5 A`.
    let modifiers = match parameters.rsplit(|byte| *byte == b';').next() {
        None | Some([]) => Modifiers::NONE,
        Some(digits) => kitty::modifiers(super::control::number(digits)?)?,
    };
    let keypad = |character| {
        DecodedKey::from(KeyId::new(Key::Char(character)).with(modifiers)).with_text(character)
    };
    let decoded = match last {
        b'M' => KeyId::new(Key::Enter).with(modifiers).into(),
        b'I' => KeyId::new(Key::Tab).with(modifiers).into(),
        b' ' => DecodedKey::from(KeyId::new(Key::Space).with(modifiers)).with_text(' '),
        b'X' => keypad('='),
        b'j'..=b'o' | b'p'..=b'y' => keypad(char::from(last - 0x40)),
        // rxvt: Ctrl with a cursor key.
        b'a'..=b'e' => KeyId::new(cursor_key(last.to_ascii_uppercase())?)
            .with(Modifiers::CTRL)
            .into(),
        _ => KeyId::new(cursor_key(*last)?).with(modifiers).into(),
    };
    Some(decoded)
}

/// Returns the key of the final letter that SS3 and CSI share.
pub(super) fn cursor_key(letter: u8) -> Option<Key> {
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'E' => Key::Clear,
        b'F' => Key::End,
        b'H' => Key::Home,
        b'P'..=b'S' => Key::Function(letter - b'P' + 1),
        _ => return None,
    })
}

/// Returns the key of the number in `CSI number ~`.
pub(super) fn numbered_key(number: u32) -> Option<Key> {
    Some(match number {
        1 | 7 => Key::Home,
        2 => Key::Insert,
        3 => Key::Delete,
        4 | 8 => Key::End,
        5 => Key::PageUp,
        6 => Key::PageDown,
        11..=15 => Key::Function(u8::try_from(number - 10).ok()?),
        17..=21 => Key::Function(u8::try_from(number - 11).ok()?),
        23 | 24 => Key::Function(u8::try_from(number - 12).ok()?),
        _ => return None,
    })
}

/// Parses the part after `ESC [ [`: function keys of the Linux console, page keys of PuTTY.
fn console_key(body: &[u8]) -> Option<DecodedKey> {
    match body {
        [letter @ b'A'..=b'E'] => Some(DecodedKey::key(Key::Function(letter - b'A' + 1))),
        [digits @ .., b'~'] => numbered_key(super::control::number(digits)?).map(DecodedKey::key),
        _ => None,
    }
}

/// Parses rxvt's final bytes: `a` to `e` and `$` for Shift, `^` for Ctrl, `@` for both.
fn rxvt_key(body: &[u8]) -> Option<DecodedKey> {
    let (last, digits) = body.split_last()?;
    let modifiers = match last {
        b'a'..=b'e' if digits.is_empty() => {
            return Some(
                KeyId::new(cursor_key(last.to_ascii_uppercase())?)
                    .with(Modifiers::SHIFT)
                    .into(),
            );
        }
        b'$' => Modifiers::SHIFT,
        b'^' => Modifiers::CTRL,
        b'@' => Modifiers::CTRL.with(Modifiers::SHIFT),
        _ => return None,
    };
    Some(
        KeyId::new(numbered_key(super::control::number(digits)?)?)
            .with(modifiers)
            .into(),
    )
}

fn ctrl(character: char) -> KeyId {
    KeyId::new(Key::Char(character)).with(Modifiers::CTRL)
}

fn alt(id: KeyId) -> DecodedKey {
    id.with(Modifiers::ALT).into()
}
