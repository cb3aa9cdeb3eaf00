//! Detects image formats by their first bytes.

use image::ImageFormat;

const PNG_SIGNATURE_LENGTH: usize = 8;

/// Returns the media type of an image that models support, based on the start of its file.
///
/// Lossless JPEG and animated PNG are excluded: decoders and providers do not handle them
/// correctly.
pub fn sniff_image(head: &[u8]) -> Option<&'static str> {
    match image::guess_format(head).ok()? {
        ImageFormat::Jpeg if head.get(3) != Some(&0xf7) => Some("image/jpeg"),
        ImageFormat::Png if is_still_png(head) => Some("image/png"),
        ImageFormat::Gif => Some("image/gif"),
        ImageFormat::WebP => Some("image/webp"),
        ImageFormat::Bmp if is_bmp(head) => Some("image/bmp"),
        _ => None,
    }
}

fn is_still_png(head: &[u8]) -> bool {
    let starts_well =
        big_endian(head, PNG_SIGNATURE_LENGTH) == Some(13) && head.get(12..16) == Some(b"IHDR");
    starts_well && !has_animation_chunk(head)
}

/// The animation chunk must precede the first image data chunk.
fn has_animation_chunk(head: &[u8]) -> bool {
    let mut offset = PNG_SIGNATURE_LENGTH;
    while let Some(length) = big_endian(head, offset) {
        match head.get(offset + 4..offset + 8) {
            Some(b"acTL") => return true,
            Some(b"IDAT") | None => return false,
            Some(_) => {}
        }
        let Some(next) = offset.checked_add(12 + length as usize) else {
            return false;
        };
        offset = next;
    }
    false
}

/// Text may start with `BM` too, so the header must be plausible.
fn is_bmp(head: &[u8]) -> bool {
    let (Some(file_size), Some(pixels), Some(header)) = (
        little_endian(head, 2),
        little_endian(head, 10),
        little_endian(head, 14),
    ) else {
        return false;
    };
    let plausible_size = file_size == 0 || (file_size >= 26 && pixels < file_size);
    let plausible_start = u64::from(pixels) >= 14 + u64::from(header);
    let planes_at = match header {
        12 => 22,
        40..=124 => 26,
        _ => return false,
    };
    plausible_size
        && plausible_start
        && half_word(head, planes_at) == Some(1)
        && matches!(
            half_word(head, planes_at + 2),
            Some(1 | 4 | 8 | 16 | 24 | 32)
        )
}

fn big_endian(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(word.try_into().ok()?))
}

fn little_endian(bytes: &[u8], at: usize) -> Option<u32> {
    big_endian(bytes, at).map(u32::swap_bytes)
}

fn half_word(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(word.try_into().ok()?))
}
