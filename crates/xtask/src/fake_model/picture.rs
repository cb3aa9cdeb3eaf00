//! The picture that the scripted image model returns: a hut below the sun.

use anyhow::Result;
use image::{ImageFormat, Rgb, RgbImage};

const WIDTH: u32 = 48;
const HEIGHT: u32 = 32;

const SKY: Rgb<u8> = Rgb([126, 188, 232]);
const SUN: Rgb<u8> = Rgb([250, 206, 84]);
const GRASS: Rgb<u8> = Rgb([96, 158, 82]);
const ROOF: Rgb<u8> = Rgb([168, 66, 54]);
const WALL: Rgb<u8> = Rgb([226, 204, 164]);
const DOOR: Rgb<u8> = Rgb([104, 70, 46]);

/// Returns the picture as PNG.
pub(super) fn png() -> Result<Vec<u8>> {
    let picture = RgbImage::from_fn(WIDTH, HEIGHT, color);
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

fn color(x: u32, y: u32) -> Rgb<u8> {
    let from_sun = (x.abs_diff(39), y.abs_diff(7));
    match (x, y) {
        (22..=25, 20..=26) => DOOR,
        (14..=33, 16..=26) => WALL,
        // As wide as it is far below its ridge.
        (_, 6..=15) if x.abs_diff(23) <= (y - 5) + 2 => ROOF,
        (_, 25..) => GRASS,
        _ if from_sun.0.pow(2) + from_sun.1.pow(2) <= 16 => SUN,
        _ => SKY,
    }
}
