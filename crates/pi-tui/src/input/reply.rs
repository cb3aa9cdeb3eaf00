//! What a terminal answers when asked: never a key, whatever it looks like.

/// Which colour a terminal reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorSlot {
    /// The default foreground (OSC 10).
    Foreground,
    /// The default background (OSC 11).
    Background,
    /// The cursor (OSC 12).
    Cursor,
    /// An entry of the palette (OSC 4).
    Palette(u8),
}

/// An answer of the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalReply {
    /// Primary device attributes (`CSI ? … c`); every terminal answers this, hence a sentinel.
    DeviceAttributes(Vec<u16>),
    /// The active flags of the Kitty keyboard protocol (`CSI ? n u`).
    KittyKeyboard(u16),
    /// A colour (`OSC 4`, `OSC 10` to `12`).
    Color {
        /// Which colour.
        slot: ColorSlot,
        /// Red, green, blue.
        rgb: (u8, u8, u8),
    },
    /// The user's preference for dark or light (`CSI ? 997 ; n n`).
    ColorScheme {
        /// Whether dark is preferred.
        dark: bool,
    },
    /// The size of a cell in pixels (`CSI 6 ; height ; width t`).
    CellSize {
        /// Pixels across.
        width: u16,
        /// Pixels down.
        height: u16,
    },
    /// The state of a private mode (`CSI ? mode ; state $ y`).
    Mode {
        /// The mode asked for.
        mode: u16,
        /// 0 unknown, 1 set, 2 reset, 3 always set, 4 always reset.
        state: u16,
    },
    /// The cursor's place from 1 (`CSI row ; column R`).
    CursorPosition {
        /// Row from 1.
        row: u16,
        /// Column from 1.
        column: u16,
    },
    /// The terminal's name and version (`DCS > | … ST`).
    Version(String),
    /// An answer of the Kitty graphics protocol (`APC G … ST`), without introducer and end.
    KittyGraphics(String),
    /// Any other answer, as it came.
    Other(Vec<u8>),
}
