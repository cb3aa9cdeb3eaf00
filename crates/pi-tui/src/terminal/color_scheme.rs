//! Detection of a light or dark terminal background.

use crate::input::{ColorSlot, TerminalReply};

/// Enables reports of color scheme changes (mode 2031).
pub const ENABLE_COLOR_SCHEME_REPORTS: &str = "\x1b[?2031h";
/// Disables reports of color scheme changes.
pub const DISABLE_COLOR_SCHEME_REPORTS: &str = "\x1b[?2031l";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorScheme {
    Light,
    Dark,
}

impl ColorScheme {
    /// Returns the scheme of a background color, by its perceived lightness (ITU-R BT.601).
    pub fn from_background((red, green, blue): (u8, u8, u8)) -> Self {
        let luma = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
        if luma >= 128 * 1000 {
            Self::Light
        } else {
            Self::Dark
        }
    }

    /// Returns the scheme a terminal reply indicates, if any.
    pub fn from_reply(reply: &TerminalReply) -> Option<Self> {
        match reply {
            TerminalReply::ColorScheme { dark: true } => Some(Self::Dark),
            TerminalReply::ColorScheme { dark: false } => Some(Self::Light),
            TerminalReply::Color {
                slot: ColorSlot::Background,
                rgb,
            } => Some(Self::from_background(*rgb)),
            TerminalReply::Color { .. }
            | TerminalReply::DeviceAttributes(_)
            | TerminalReply::KittyKeyboard(_)
            | TerminalReply::CellSize { .. }
            | TerminalReply::Mode { .. }
            | TerminalReply::CursorPosition { .. }
            | TerminalReply::Version(_)
            | TerminalReply::KittyGraphics(_)
            | TerminalReply::ProgramStatus
            | TerminalReply::Other(_) => None,
        }
    }

    /// Returns the scheme from `COLORFGBG`, as set by rxvt and Konsole.
    pub fn from_colorfgbg(value: &str) -> Option<Self> {
        match value.rsplit(';').next()?.parse::<u8>().ok()? {
            7 | 9..=15 => Some(Self::Light),
            0..=6 | 8 => Some(Self::Dark),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backgrounds_are_light_or_dark() {
        let background = |rgb| TerminalReply::Color {
            slot: ColorSlot::Background,
            rgb,
        };
        let cases = [
            (background((255, 255, 255)), Some(ColorScheme::Light)),
            (background((253, 246, 227)), Some(ColorScheme::Light)),
            (background((0, 43, 54)), Some(ColorScheme::Dark)),
            (background((0, 0, 255)), Some(ColorScheme::Dark)),
            (
                TerminalReply::ColorScheme { dark: false },
                Some(ColorScheme::Light),
            ),
            (TerminalReply::KittyKeyboard(1), None),
        ];
        for (reply, expected) in cases {
            assert_eq!(ColorScheme::from_reply(&reply), expected, "{reply:?}");
        }
        assert_eq!(
            ColorScheme::from_colorfgbg("15;default;0"),
            Some(ColorScheme::Dark)
        );
        assert_eq!(
            ColorScheme::from_colorfgbg("0;15"),
            Some(ColorScheme::Light)
        );
        assert_eq!(ColorScheme::from_colorfgbg("default"), None);
    }
}
