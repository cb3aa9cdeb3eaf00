//! Replies of the terminal to queries, as opposed to keys.

use super::control::ControlSequence;

/// The color a terminal reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorSlot {
    /// The default foreground (OSC 10).
    Foreground,
    /// The default background (OSC 11).
    Background,
    /// The cursor (OSC 12).
    Cursor,
    /// A palette entry (OSC 4).
    Palette(u8),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalReply {
    /// Primary device attributes (`CSI ? … c`). Every terminal replies to this query, so it serves
    /// as a sentinel.
    DeviceAttributes(Vec<u16>),
    /// The active flags of the Kitty keyboard protocol (`CSI ? n u`).
    KittyKeyboard(u16),
    /// A color (`OSC 4`, `OSC 10` to `12`).
    Color { slot: ColorSlot, rgb: (u8, u8, u8) },
    /// The user's preference for dark or light (`CSI ? 997 ; n n`).
    ColorScheme { dark: bool },
    /// The size of a cell in pixels (`CSI 6 ; height ; width t`).
    CellSize { width: u16, height: u16 },
    /// The state of a private mode (`CSI ? mode ; state $ y`).
    Mode {
        mode: u16,
        /// 0 unknown, 1 set, 2 reset, 3 always set, 4 always reset.
        state: u16,
    },
    /// The cursor position, from 1 (`CSI row ; column R`).
    CursorPosition { row: u16, column: u16 },
    /// The terminal's name and version (`DCS > | … ST`).
    Version(String),
    /// A reply of the Kitty graphics protocol (`APC G … ST`), without introducer and terminator.
    KittyGraphics(String),
    /// The terminal supports program status reports (`OSC 7501`).
    ProgramStatus,
    /// Any other reply, unparsed.
    Other(Vec<u8>),
}

impl TerminalReply {
    /// Parses one complete sequence. Returns `None` if it is not a reply.
    pub(super) fn parse(raw: &[u8]) -> Option<Self> {
        match raw {
            [0x1b, b'[', ..] => Self::from_control(&ControlSequence::parse(raw)?, raw),
            [0x1b, b']', _, ..] => Some(Self::from_string(string_body(raw)?, raw)),
            [0x1b, b'P', _, ..] => {
                let version = string_body(raw)?.strip_prefix(b">|");
                Some(version.map_or_else(
                    || Self::Other(raw.to_vec()),
                    |version| Self::Version(String::from_utf8_lossy(version).into_owned()),
                ))
            }
            [0x1b, b'_', _, ..] => {
                let graphics = string_body(raw)?.strip_prefix(b"G");
                Some(graphics.map_or_else(
                    || Self::Other(raw.to_vec()),
                    |reply| Self::KittyGraphics(String::from_utf8_lossy(reply).into_owned()),
                ))
            }
            _ => None,
        }
    }

    fn from_control(sequence: &ControlSequence<'_>, raw: &[u8]) -> Option<Self> {
        let parameters = sequence.parameters;
        let small = |index| {
            parameters
                .get(index)
                .and_then(|number| u16::try_from(number).ok())
        };
        let reply = match (sequence.marker, sequence.intermediates, sequence.final_byte) {
            (Some(b'?'), [], b'c') => Self::DeviceAttributes(
                parameters
                    .numbers()
                    .filter_map(|number| u16::try_from(number).ok())
                    .collect(),
            ),
            (Some(b'?'), [], b'u') => Self::KittyKeyboard(small(0)?),
            (Some(b'?'), [], b'n') if small(0) == Some(997) => Self::ColorScheme {
                dark: small(1)? != 2,
            },
            (Some(b'?'), b"$", b'y') => Self::Mode {
                mode: small(0)?,
                state: small(1)?,
            },
            (None, [], b't') if small(0) == Some(6) => Self::CellSize {
                height: small(1)?,
                width: small(2)?,
            },
            // `CSI 1 ; modifiers R` is F3 in xterm.
            (None, [], b'R')
                if parameters.len() == 2 && (small(0) != Some(1) || small(1)? > 16) =>
            {
                Self::CursorPosition {
                    row: small(0)?,
                    column: small(1)?,
                }
            }
            (None, [], b'n' | b't') | (Some(b'?' | b'>' | b'='), _, _) => Self::Other(raw.to_vec()),
            _ => return None,
        };
        Some(reply)
    }

    fn from_string(body: &[u8], raw: &[u8]) -> Self {
        if body.starts_with(b"7501;") {
            return Self::ProgramStatus;
        }
        Self::color(body).unwrap_or_else(|| Self::Other(raw.to_vec()))
    }

    /// Parses `11;rgb:ffff/ffff/ffff`, `4;1;#ffffff` and similar forms.
    fn color(body: &[u8]) -> Option<Self> {
        let body = std::str::from_utf8(body).ok()?;
        let (command, value) = body.split_once(';')?;
        let (slot, value) = match command {
            "10" => (ColorSlot::Foreground, value),
            "11" => (ColorSlot::Background, value),
            "12" => (ColorSlot::Cursor, value),
            "4" => {
                let (index, value) = value.split_once(';')?;
                (ColorSlot::Palette(index.parse().ok()?), value)
            }
            _ => return None,
        };
        Some(Self::Color {
            slot,
            rgb: x11_color(value.trim())?,
        })
    }
}

/// Returns the text between the introducer and the terminator of a control string.
fn string_body(raw: &[u8]) -> Option<&[u8]> {
    let body = raw.get(2..)?;
    body.strip_suffix(b"\x1b\\")
        .or_else(|| body.strip_suffix(b"\x07"))
}

/// Parses an X11 color: `rgb:r/g/b` or `rgba:r/g/b/a` with 1 to 4 digits each, `#rrggbb` or
/// `#rrrrggggbbbb`.
fn x11_color(value: &str) -> Option<(u8, u8, u8)> {
    if let Some(digits) = value.strip_prefix('#') {
        let size = match digits.len() {
            6 => 2,
            12 => 4,
            _ => return None,
        };
        let part = |index: usize| channel(digits.get(index * size..(index + 1) * size)?);
        return Some((part(0)?, part(1)?, part(2)?));
    }
    let value = value.to_ascii_lowercase();
    let channels = value
        .strip_prefix("rgba:")
        .or_else(|| value.strip_prefix("rgb:"))
        .unwrap_or(&value);
    let mut channels = channels.split('/');
    Some((
        channel(channels.next()?)?,
        channel(channels.next()?)?,
        channel(channels.next()?)?,
    ))
}

/// Scales 1 to 4 hexadecimal digits to a byte.
fn channel(digits: &str) -> Option<u8> {
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let largest = (1_u32 << (4 * digits.len())) - 1;
    u8::try_from((value * 255 + largest / 2) / largest).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn replies_are_parsed() {
        use TerminalReply as R;
        let background = |rgb| {
            Some(R::Color {
                slot: ColorSlot::Background,
                rgb,
            })
        };
        let cases: &[(&[u8], Option<R>)] = &[
            (b"\x1b[?62;22c", Some(R::DeviceAttributes(vec![62, 22]))),
            (b"\x1b[?c", Some(R::DeviceAttributes(vec![0]))),
            (b"\x1b[?7u", Some(R::KittyKeyboard(7))),
            (b"\x1b[?0u", Some(R::KittyKeyboard(0))),
            (b"\x1b[?997;1n", Some(R::ColorScheme { dark: true })),
            (b"\x1b[?997;2n", Some(R::ColorScheme { dark: false })),
            (
                b"\x1b[6;18;9t",
                Some(R::CellSize {
                    width: 9,
                    height: 18,
                }),
            ),
            (
                b"\x1b[?2026;2$y",
                Some(R::Mode {
                    mode: 2026,
                    state: 2,
                }),
            ),
            (
                b"\x1b[24;80R",
                Some(R::CursorPosition {
                    row: 24,
                    column: 80,
                }),
            ),
            (
                b"\x1b[1;80R",
                Some(R::CursorPosition { row: 1, column: 80 }),
            ),
            (b"\x1b[1;5R", None),
            (
                b"\x1b]11;rgb:1e1e/1e1e/2e2e\x07",
                background((0x1e, 0x1e, 0x2e)),
            ),
            (
                b"\x1b]11;rgb:1e/1e/2e\x1b\\",
                background((0x1e, 0x1e, 0x2e)),
            ),
            (
                b"\x1b]11;rgba:ffff/0000/8080/ffff\x1b\\",
                background((0xff, 0, 0x80)),
            ),
            (b"\x1b]11;#1e1e2e\x1b\\", background((0x1e, 0x1e, 0x2e))),
            (
                b"\x1b]11;#1e1e1e1e2e2e\x1b\\",
                background((0x1e, 0x1e, 0x2e)),
            ),
            (b"\x1b]11;rgb:f/0/8\x1b\\", background((255, 0, 136))),
            (
                b"\x1b]11;purple\x07",
                Some(R::Other(b"\x1b]11;purple\x07".to_vec())),
            ),
            (
                b"\x1b]4;3;rgb:ff/ff/00\x07",
                Some(R::Color {
                    slot: ColorSlot::Palette(3),
                    rgb: (255, 255, 0),
                }),
            ),
            (
                b"\x1bP>|WezTerm 2024\x1b\\",
                Some(R::Version("WezTerm 2024".into())),
            ),
            (
                b"\x1b_Gi=1;OK\x1b\\",
                Some(R::KittyGraphics("i=1;OK".into())),
            ),
            (b"\x1b[>0;95;0c", Some(R::Other(b"\x1b[>0;95;0c".to_vec()))),
            (b"\x1b]7501;version=1\x1b\\", Some(R::ProgramStatus)),
            (b"\x1b[A", None),
            (b"\x1b[c", None),
            (b"\x1b[97;5u", None),
            (b"\x1b]", None),
        ];
        for (raw, expected) in cases {
            assert_eq!(&R::parse(raw), expected, "{}", raw.escape_ascii());
        }
    }
}
