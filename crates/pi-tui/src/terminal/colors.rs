//! The colors a terminal reports: foreground, background and the first 16 palette entries.

use crate::color_space::{Oklch, Rgb, contrast};
use crate::input::{ColorSlot, TerminalReply};

use super::ColorScheme;

/// Contrast that text must reach on the background.
pub(crate) const TEXT_CONTRAST: f64 = 4.5;

/// Lightness by which foreground and background must differ to indicate the scheme.
const DISTINCT_LIGHTNESS: f64 = 0.05;

/// What the terminal has reported; `None` for colors it has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalColors {
    pub foreground: Option<Rgb>,
    pub background: Option<Rgb>,
    pub palette: [Option<Rgb>; 16],
}

impl TerminalColors {
    /// Returns the queries of all colors (OSC 10, 11 and 4).
    pub fn query() -> String {
        let mut queries = vec!["\x1b]10;?\x07\x1b]11;?\x07".to_owned()];
        queries.extend((0..16).map(|index| format!("\x1b]4;{index};?\x07")));
        queries.concat()
    }

    /// Records a reply; returns whether it changed a color.
    pub fn record(&mut self, reply: &TerminalReply) -> bool {
        let TerminalReply::Color { slot, rgb } = reply else {
            return false;
        };
        let color = match slot {
            ColorSlot::Foreground => &mut self.foreground,
            ColorSlot::Background => &mut self.background,
            ColorSlot::Palette(index) => match self.palette.get_mut(usize::from(*index)) {
                Some(color) => color,
                None => return false,
            },
            ColorSlot::Cursor => return false,
        };
        color.replace(*rgb) != Some(*rgb)
    }

    /// Returns the scheme that the background indicates, if it is known.
    ///
    /// The foreground decides the direction where text can be readable that way; otherwise white or black text,
    /// whichever has more contrast.
    pub fn scheme(&self) -> Option<ColorScheme> {
        let background = self.background?;
        let white = contrast((255, 255, 255), background);
        let black = contrast((0, 0, 0), background);
        if let Some(foreground) = self.foreground {
            let distance =
                Oklch::from_rgb(foreground).lightness - Oklch::from_rgb(background).lightness;
            if distance > DISTINCT_LIGHTNESS && white >= TEXT_CONTRAST {
                return Some(ColorScheme::Dark);
            }
            if distance < -DISTINCT_LIGHTNESS && black >= TEXT_CONTRAST {
                return Some(ColorScheme::Light);
            }
        }
        Some(if white > black {
            ColorScheme::Dark
        } else {
            ColorScheme::Light
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn reply(slot: ColorSlot, rgb: Rgb) -> TerminalReply {
        TerminalReply::Color { slot, rgb }
    }

    #[test]
    fn replies_are_recorded_by_slot() {
        let mut colors = TerminalColors::default();
        assert!(colors.record(&reply(ColorSlot::Background, (1, 2, 3))));
        assert!(!colors.record(&reply(ColorSlot::Background, (1, 2, 3))));
        assert!(colors.record(&reply(ColorSlot::Palette(15), (9, 9, 9))));
        assert!(!colors.record(&reply(ColorSlot::Palette(16), (9, 9, 9))));
        assert!(!colors.record(&reply(ColorSlot::Cursor, (9, 9, 9))));
        assert!(!colors.record(&TerminalReply::KittyKeyboard(1)));
        assert_eq!(colors.background, Some((1, 2, 3)));
        assert_eq!(colors.palette.last(), Some(&Some((9, 9, 9))));
        let queries = TerminalColors::query();
        assert_eq!(queries.matches(";?\x07").count(), 18);
    }

    #[test]
    fn the_scheme_follows_background_and_foreground() {
        for (background, foreground, expected) in [
            ((255, 255, 255), None, ColorScheme::Light),
            ((0, 0, 0), None, ColorScheme::Dark),
            ((253, 246, 227), Some((101, 123, 131)), ColorScheme::Light),
            ((0, 43, 54), Some((131, 148, 150)), ColorScheme::Dark),
            // Both directions work on a medium gray: the foreground decides.
            ((0x75, 0x75, 0x75), Some((255, 255, 255)), ColorScheme::Dark),
            ((0x75, 0x75, 0x75), Some((0, 0, 0)), ColorScheme::Light),
            // White text cannot be readable here.
            ((200, 200, 200), Some((255, 255, 255)), ColorScheme::Light),
        ] {
            let colors = TerminalColors {
                background: Some(background),
                foreground,
                ..TerminalColors::default()
            };
            assert_eq!(colors.scheme(), Some(expected), "{background:?}");
        }
        assert_eq!(TerminalColors::default().scheme(), None);
    }
}
