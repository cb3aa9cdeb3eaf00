//! Pictures of half blocks: two pixels per cell, the upper one as foreground of `▀`, the lower one as background.

use image::{RgbaImage, imageops};
use pi_tui::{Color, ColorMode, Line, Style, nearest_palette_entry};

/// Rows of a picture; its width follows.
const MAX_ROWS: u32 = 16;

/// Pixels with less are transparent.
const MIN_ALPHA: u8 = 64;

/// Whether a terminal has enough colors for pictures.
pub(super) fn supports(mode: ColorMode) -> bool {
    matches!(mode, ColorMode::TrueColor | ColorMode::Palette)
}

/// Returns the rows of a picture that fits into `columns`, after `padding` columns.
pub(super) fn lines(
    image: &RgbaImage,
    columns: usize,
    padding: usize,
    mode: ColorMode,
) -> Vec<Line> {
    let columns = u32::try_from(columns).unwrap_or(u32::MAX);
    let (width, height) = fit(image.dimensions(), (columns, 2 * MAX_ROWS));
    let pixels = imageops::thumbnail(image, width, height);
    let color = |column: u32, row: u32| {
        let [red, green, blue, alpha] = pixels.get_pixel_checked(column, row)?.0;
        (alpha >= MIN_ALPHA).then(|| match mode {
            ColorMode::Palette => Color::Indexed(nearest_palette_entry(red, green, blue)),
            _ => Color::Rgb(red, green, blue),
        })
    };
    let row_line = |row: u32| {
        let mut line = " ".repeat(padding);
        let mut run = (Style::plain(), String::new());
        for column in 0..width {
            let (style, character) = cell(color(column, 2 * row), color(column, 2 * row + 1));
            if style != run.0 {
                line.push_str(&run.0.apply(&run.1));
                run = (style, String::new());
            }
            run.1.push(character);
        }
        line.push_str(&run.0.apply(&run.1));
        Line::from(line)
    };
    (0..height.div_ceil(2)).map(row_line).collect()
}

/// Returns the largest size that fits, not larger than the image.
fn fit((width, height): (u32, u32), (columns, rows): (u32, u32)) -> (u32, u32) {
    let (width, height) = (u64::from(width.max(1)), u64::from(height.max(1)));
    let (columns, rows) = (u64::from(columns.max(1)), u64::from(rows));
    let columns = columns.min(width).min((rows * width / height).max(1));
    let rows = (columns * height / width).clamp(1, rows);
    let size = |length: u64| u32::try_from(length).unwrap_or(u32::MAX);
    (size(columns), size(rows))
}

/// Returns the character that shows two pixels, and its colors.
fn cell(upper: Option<Color>, lower: Option<Color>) -> (Style, char) {
    let plain = Style::plain();
    match (upper, lower) {
        (Some(upper), Some(lower)) => (plain.fg(upper).bg(lower), '▀'),
        (Some(upper), None) => (plain.fg(upper), '▀'),
        (None, Some(lower)) => (plain.fg(lower), '▄'),
        (None, None) => (plain, ' '),
    }
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use pretty_assertions::assert_eq;

    use super::*;

    const RED: Rgba<u8> = Rgba([255, 0, 0, 255]);
    const BLUE: Rgba<u8> = Rgba([0, 0, 255, 255]);
    const CLEAR: Rgba<u8> = Rgba([0, 0, 0, 0]);

    #[test]
    fn a_cell_shows_two_pixels() {
        let pixels = [[RED, RED, CLEAR, CLEAR], [BLUE, CLEAR, BLUE, CLEAR]];
        let image = RgbaImage::from_fn(4, 2, |column, row| pixels[row as usize][column as usize]);
        let drawn = lines(&image, 10, 1, ColorMode::TrueColor);
        let expected = " \x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[39;49m\x1b[38;2;255;0;0m▀\x1b[39m\
            \x1b[38;2;0;0;255m▄\x1b[39m ";
        assert_eq!(drawn, [expected]);
        let drawn = lines(&image, 10, 0, ColorMode::Palette);
        assert!(drawn[0].starts_with("\x1b[38;5;196;48;5;21m▀"), "{drawn:?}");
    }

    #[test]
    fn pictures_keep_their_proportions_within_the_limits() {
        for (image, columns, expected) in [
            ((160, 90), 60, (56, 31)),
            ((160, 20), 60, (60, 7)),
            ((10, 160), 60, (2, 32)),
            ((3, 3), 60, (3, 3)),
            ((1, 160), 60, (1, 32)),
            ((160, 1), 60, (60, 1)),
        ] {
            assert_eq!(fit(image, (columns, 2 * MAX_ROWS)), expected, "{image:?}");
        }
    }
}
