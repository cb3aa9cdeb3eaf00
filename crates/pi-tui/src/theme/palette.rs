//! The 256-color palette, for terminals without 24-bit colors.

use super::token::ColorToken;
use crate::style::Color;

/// The channel values of the 6×6×6 color cube, entries 16 to 231.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];
/// Entries 0 to 15 as in xterm.
const BASIC: [(u8, u8, u8); 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
];
/// Colors whose channels are this far apart have a hue that matters more than their brightness.
const MIN_HUE_RANGE: i32 = 40;
/// Channels closer together than this make a gray, for which the gray ramp has finer steps.
const GRAY_SPREAD: u8 = 10;

/// Returns the palette entry closest to a color.
///
/// Tinted colors stay in the color cube even where a gray would be closer, because the tint matters
/// more.
pub fn nearest_palette_entry(red: u8, green: u8, blue: u8) -> u8 {
    let color = [red, green, blue];
    let steps = color.map(nearest_cube_step);
    let cube = steps.map(|step| CUBE.get(usize::from(step)).copied().unwrap_or(u8::MAX));
    let [red_step, green_step, blue_step] = steps;
    let cube_entry = 16 + 36 * red_step + 6 * green_step + blue_step;

    let gray_step = nearest_gray_step(color);
    let gray = [8 + 10 * gray_step; 3];
    let spread = red.max(green).max(blue) - red.min(green).min(blue);
    if spread < GRAY_SPREAD && distance(color, gray) < distance(color, cube) {
        232 + gray_step
    } else {
        cube_entry
    }
}

/// Returns the color of a palette entry. Entries below 16 have the values of xterm; terminals may use others.
pub(super) fn entry_rgb(index: u8) -> (u8, u8, u8) {
    match index {
        0..=15 => BASIC.get(usize::from(index)).copied().unwrap_or_default(),
        16..=231 => {
            let index = index - 16;
            let channel = |step: u8| CUBE.get(usize::from(step)).copied().unwrap_or(u8::MAX);
            (
                channel(index / 36),
                channel(index / 6 % 6),
                channel(index % 6),
            )
        }
        232..=255 => {
            let gray = 8 + 10 * (index - 232);
            (gray, gray, gray)
        }
    }
}

/// Whether a background is darker than the color cube can show: its nearest tints are too bright for text. A failed
/// call keeps its tint, which is the only sign of failure on a panel.
pub(super) fn is_dark_surface(token: ColorToken, color: Color) -> bool {
    let is_dark =
        matches!(color, Color::Rgb(red, green, blue) if red.max(green).max(blue) < CUBE[1]);
    is_dark && token.is_background() && token != ColorToken::ToolErrorBg
}

/// Returns the entry of the gray ramp with the closest brightness.
pub(super) fn nearest_gray(red: u8, green: u8, blue: u8) -> u8 {
    232 + nearest_gray_step([red, green, blue])
}

/// Returns the entry below 16 that is closest to a color. A color with a hue keeps it: the nearest of so few entries
/// is often a gray.
pub(super) fn nearest_basic_entry((red, green, blue): (u8, u8, u8)) -> u8 {
    let [most, least] = [red.max(green).max(blue), red.min(green).min(blue)];
    let range = i32::from(most) - i32::from(least);
    if range >= MIN_HUE_RANGE {
        let [red, green, blue] = [red, green, blue].map(i32::from);
        let most = i32::from(most);
        // Degrees: red 0, green 120, blue 240.
        let hue = if red == most {
            60 * (green - blue) / range
        } else if green == most {
            120 + 60 * (blue - red) / range
        } else {
            240 + 60 * (red - green) / range
        };
        let (entry, bright_from) = match hue.rem_euclid(360) {
            21..=62 => (3, 240),
            63..=160 => (2, 240),
            161..=200 => (6, 240),
            // The plain blue of most terminals is hard to read on black.
            201..=265 => (4, 150),
            266..=330 => (5, 240),
            _ => (1, 240),
        };
        return if most >= bright_from {
            entry + 8
        } else {
            entry
        };
    }
    (0_u8..)
        .zip(BASIC)
        .min_by_key(|(_, (r, g, b))| distance([red, green, blue], [*r, *g, *b]))
        .map_or(0, |(index, _)| index)
}

fn nearest_cube_step(channel: u8) -> u8 {
    // On a tie, use the darker step.
    (0_u8..)
        .zip(CUBE)
        .min_by_key(|(_, value)| value.abs_diff(channel))
        .map_or(0, |(step, _)| step)
}

/// Returns the step of the gray ramp, entries 232 to 255, with the closest brightness.
fn nearest_gray_step([red, green, blue]: [u8; 3]) -> u8 {
    let weighted = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
    let brightness = (weighted + 500) / 1000;
    (0_u8..24)
        .min_by_key(|step| (8 + 10 * u32::from(*step)).abs_diff(brightness))
        .unwrap_or(0)
}

/// Returns the squared distance, weighted by the eye's sensitivity to each channel.
fn distance(first: [u8; 3], second: [u8; 3]) -> u32 {
    [299, 587, 114]
        .into_iter()
        .zip(first.into_iter().zip(second))
        .map(|(weight, (first, second))| weight * u32::from(first.abs_diff(second)).pow(2))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_map_to_the_cube_and_grays_to_the_ramp() {
        let cases = [
            ((0, 0, 0), 16),
            ((255, 255, 255), 231),
            ((255, 0, 0), 196),
            ((0, 95, 135), 24),
            ((8, 8, 8), 232),
            ((0x80, 0x80, 0x80), 244),
            ((0x1e, 0x1e, 0x2e), 16),
            ((0x34, 0x35, 0x41), 59),
            ((0x8a, 0xbe, 0xb7), 109),
            ((0x50, 0x50, 0x50), 239),
        ];
        for ((red, green, blue), entry) in cases {
            assert_eq!(
                nearest_palette_entry(red, green, blue),
                entry,
                "{red} {green} {blue}"
            );
        }
    }

    #[test]
    fn with_16_colors_a_tinted_color_keeps_its_hue() {
        let cases = [
            ("removed, dark theme", (0xcc, 0x66, 0x66), 1),
            ("added, dark theme", (0xb5, 0xbd, 0x68), 2),
            ("yellow", (0xf0, 0xc6, 0x74), 11),
            ("removed, light theme", (0xaa, 0x33, 0x33), 1),
            ("added, light theme", (0x33, 0x88, 0x33), 2),
            ("light blue", (0x81, 0xa2, 0xbe), 12),
            ("dark blue", (0x20, 0x30, 0x80), 4),
            ("pink", (0xff, 0x80, 0xc0), 13),
            ("gray", (0x80, 0x80, 0x80), 8),
            ("a tinted panel", (40, 50, 40), 0),
        ];
        for (name, color, entry) in cases {
            assert_eq!(nearest_basic_entry(color), entry, "{name}");
        }
    }
}
