//! Keys in the Kitty keyboard protocol and in xterm's modifyOtherKeys form.
//!
//! See <https://sw.kovidgoyal.net/kitty/keyboard-protocol/> and
//! <https://invisible-island.net/xterm/modified-keys.html>. Both encode the modifiers as a number
//! in a control sequence, as do tmux and WezTerm.

use super::control::ControlSequence;
use super::key::{DecodedKey, Key, KeyEventKind, Modifiers};
use super::key_id::{KeyId, is_named_character};
use super::legacy::{cursor_key, numbered_key};

/// Modifier bits beyond the usual four. Hyper and Meta have no name in key IDs; the locks are
/// ignored.
const HYPER_AND_META: u32 = 16 | 32;
const CAPS_LOCK: u32 = 64;
const LOCKS: u32 = CAPS_LOCK | 128;
/// Where the protocol encodes non-character keys.
const PRIVATE_USE: std::ops::RangeInclusive<u32> = 57344..=63743;

/// Decodes a control sequence as a key. Returns `None` if it is not a key.
pub(super) fn parse(sequence: &ControlSequence<'_>) -> Option<DecodedKey> {
    if !sequence.is_plain() {
        return None;
    }
    let parameters = sequence.parameters;
    match sequence.final_byte {
        b'u' => Some(character_key(&CharacterKey {
            code: parameters.get(0)?,
            shifted: parameters.part(0, 1),
            base_layout: parameters.part(0, 2),
            modifier_bits: parameters.get(1).unwrap_or(1).saturating_sub(1),
            kind: event_kind(parameters.part(1, 1)),
            text: parameters.get(2),
            is_shifted: false,
        })),
        b'~' if parameters.get(0) == Some(27) && parameters.len() == 3 => {
            Some(character_key(&CharacterKey {
                code: parameters.get(2)?,
                shifted: None,
                base_layout: None,
                modifier_bits: parameters.get(1)?.saturating_sub(1),
                kind: KeyEventKind::Press,
                text: None,
                is_shifted: true,
            }))
        }
        b'~' => functional_key(numbered_key(parameters.get(0)?)?, sequence),
        b'Z' => Some(functional_key(Key::Tab, sequence)?.with(Modifiers::SHIFT)),
        letter => {
            // Anything but 1 before the modifiers is a report, such as the cursor position.
            if !parameters.is_empty() && parameters.get(0) != Some(1) {
                return None;
            }
            functional_key(cursor_key(letter)?, sequence)
        }
    }
}

/// Decodes a modifier parameter. Returns `None` if a modifier has no name in key IDs.
pub(super) fn modifiers(parameter: u32) -> Option<Modifiers> {
    named_modifiers(parameter.saturating_sub(1))
}

fn named_modifiers(bits: u32) -> Option<Modifiers> {
    (bits & HYPER_AND_META == 0).then(|| {
        [
            (1, Modifiers::SHIFT),
            (2, Modifiers::ALT),
            (4, Modifiers::CTRL),
            (8, Modifiers::SUPER),
        ]
        .into_iter()
        .filter(|(bit, _)| bits & bit != 0)
        .fold(Modifiers::NONE, |set, (_, modifier)| set.with(modifier))
    })
}

fn event_kind(parameter: Option<u32>) -> KeyEventKind {
    match parameter {
        Some(2) => KeyEventKind::Repeat,
        Some(3) => KeyEventKind::Release,
        _ => KeyEventKind::Press,
    }
}

/// Reads modifiers and event kind from the second parameter.
fn functional_key(key: Key, sequence: &ControlSequence<'_>) -> Option<DecodedKey> {
    let parameters = sequence.parameters;
    if parameters.len() > 2 {
        return None;
    }
    let decoded = match modifiers(parameters.get(1).unwrap_or(1)) {
        Some(modifiers) => KeyId::new(key).with(modifiers).into(),
        None => DecodedKey::default(),
    };
    Some(decoded.with_kind(event_kind(parameters.part(1, 1))))
}

/// A key reported by its Unicode code point.
struct CharacterKey {
    code: u32,
    /// The character the key types with Shift.
    shifted: Option<u32>,
    /// The key at the same position of a US keyboard.
    base_layout: Option<u32>,
    modifier_bits: u32,
    kind: KeyEventKind,
    /// The character the key types, if the terminal reports it.
    text: Option<u32>,
    /// Whether `code` already has Shift applied, as xterm reports it. Kitty reports the bare key.
    is_shifted: bool,
}

fn character_key(report: &CharacterKey) -> DecodedKey {
    // On a Cyrillic layout Ctrl+С must act as Ctrl+C, by key position. A Latin layout that moves
    // keys (Dvorak) must not, so the position is only used for keys without a name.
    let key = key_from_code(report.code).or_else(|| key_from_code(report.base_layout?));
    let modifiers = named_modifiers(report.modifier_bits);
    let mut decoded = match (key, modifiers) {
        (Some(key), Some(modifiers)) => KeyId::new(key).with(modifiers).into(),
        _ => DecodedKey::default(),
    };
    if let Some(modifiers) = modifiers
        && modifiers.contains(Modifiers::SHIFT)
        && let Some(symbol) = shifted_symbol(report)
    {
        decoded = decoded
            .with_alias(KeyId::new(Key::Char(symbol)).with(modifiers.without(Modifiers::SHIFT)));
    }
    if let Some(text) = typed_text(report) {
        decoded = decoded.with_text(text);
    }
    decoded.with_kind(report.kind)
}

/// Returns the symbol the key types with Shift: `?` is a key name in addition to Shift+/.
fn shifted_symbol(report: &CharacterKey) -> Option<char> {
    let shifted = if report.is_shifted {
        Some(report.code)
    } else {
        report.shifted
    };
    let Key::Char(symbol) = key_from_code(shifted?)? else {
        return None;
    };
    // Some terminals also report the bare key in xterm's form: Shift+- must not be the key `-`.
    let is_symbol = if report.is_shifted {
        "~!@#$%^&*()_+{}|:<>?".contains(symbol)
    } else {
        symbol.is_ascii_punctuation()
    };
    is_symbol.then_some(symbol)
}

/// Returns the character the key types: none with Ctrl, Alt or Super, and none for non-character
/// keys.
fn typed_text(report: &CharacterKey) -> Option<char> {
    let shift = report.modifier_bits & 1 != 0;
    if report.modifier_bits & !(1 | LOCKS) != 0 || report.kind == KeyEventKind::Release {
        return None;
    }
    let code = match (report.text, report.shifted) {
        (Some(text), _) => text,
        (None, Some(shifted)) if shift => shifted,
        _ => report.code,
    };
    let character = keypad_character(code).or_else(|| {
        char::from_u32(code).filter(|one| !one.is_control() && !PRIVATE_USE.contains(&code))
    })?;
    let capital = shift ^ (report.modifier_bits & CAPS_LOCK != 0);
    let is_bare = report.text.is_none() && report.shifted.is_none();
    Some(if is_bare && capital {
        character.to_ascii_uppercase()
    } else {
        character
    })
}

fn key_from_code(code: u32) -> Option<Key> {
    let key = match code {
        8 | 127 | 57347 => Key::Backspace,
        9 | 57346 => Key::Tab,
        13 | 57345 | 57414 => Key::Enter,
        27 | 57344 => Key::Escape,
        32 => Key::Space,
        57348 | 57425 => Key::Insert,
        57349 | 57426 => Key::Delete,
        57350 | 57417 => Key::Left,
        57351 | 57418 => Key::Right,
        57352 | 57419 => Key::Up,
        57353 | 57420 => Key::Down,
        57354 | 57421 => Key::PageUp,
        57355 | 57422 => Key::PageDown,
        57356 | 57423 => Key::Home,
        57357 | 57424 => Key::End,
        57427 => Key::Clear,
        57364..=57375 => Key::Function(u8::try_from(code - 57363).ok()?),
        _ => {
            let character = keypad_character(code).or_else(|| char::from_u32(code))?;
            let character = character.to_ascii_lowercase();
            return is_named_character(character).then_some(Key::Char(character));
        }
    };
    Some(key)
}

/// Returns the character a keypad key types, if any.
fn keypad_character(code: u32) -> Option<char> {
    Some(match code {
        57399..=57408 => char::from_digit(code - 57399, 10)?,
        57409 => '.',
        57410 => '/',
        57411 => '*',
        57412 => '-',
        57413 => '+',
        57415 => '=',
        57416 => ',',
        _ => return None,
    })
}
