//! Decodes untrusted images in bounded memory: one at a time in the process, after their dimensions
//! were checked, and without inflating metadata.

use std::borrow::Cow;
use std::io::Cursor;

use super::ImageError;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use parking_lot::{Mutex, MutexGuard};

/// Enough for photos of 48 megapixels.
const MAX_PIXELS: u64 = 50_000_000;

/// An image with this many pixels can be decoded in every format.
pub(super) const ALWAYS_ACCEPTED_PIXELS: u64 = MAX_PIXELS / 2;

/// Four channels of 8 bits; an image with 16 bits per channel may have half as many pixels.
const MAX_DECODED_BYTES: u64 = 4 * MAX_PIXELS;

/// Image files that are larger are not read: no model could use them.
pub(crate) const MAX_IMAGE_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Metadata of an image that is larger is not passed to its decoder.
const MAX_METADATA_BYTES: usize = 64 * 1024;

static PREPARATION: Mutex<()> = Mutex::new(());

/// Waits, on a blocking thread, until no other image is being prepared. A response may contain many
/// images that each need hundreds of megabytes.
pub(super) fn wait_for_turn() -> MutexGuard<'static, ()> {
    PREPARATION.lock()
}

/// Decodes an image, or the first frame of an animation, and applies its EXIF orientation.
pub(super) fn decode(bytes: &[u8]) -> Result<DynamicImage, ImageError> {
    let unreadable = |error: image::ImageError| match error {
        image::ImageError::Limits(_) => ImageError::TooManyPixels,
        _ => ImageError::Unreadable,
    };
    let format = image::guess_format(bytes).map_err(unreadable)?;
    let bytes = match format {
        ImageFormat::Png => without_metadata(bytes),
        _ => Cow::Borrowed(bytes),
    };
    // The type of reader that the crate's decoders are compiled for.
    let mut reader = ImageReader::with_format(Cursor::new(&*bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(unreadable)?;
    // `from_decoder` allocates the pixels without a check of the limits.
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS
        || decoder.total_bytes() > MAX_DECODED_BYTES
    {
        return Err(ImageError::TooManyPixels);
    }
    let orientation = decoder.orientation().ok();
    let mut image = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    Ok(image)
}

const PNG_SIGNATURE_LENGTH: usize = 8;

/// Returns a PNG file without text, color profiles and other large metadata. The decoder would
/// inflate or keep them up to its limit for pixels.
pub(super) fn without_metadata(png: &[u8]) -> Cow<'_, [u8]> {
    let mut kept = Vec::new();
    let Some((signature, mut rest)) = png.split_at_checked(PNG_SIGNATURE_LENGTH) else {
        return Cow::Borrowed(png);
    };
    kept.extend_from_slice(signature);
    while let Some((chunk, next)) = split_chunk(rest) {
        if is_needed(chunk) {
            kept.extend_from_slice(chunk);
        }
        rest = next;
    }
    if kept.len() + rest.len() == png.len() {
        return Cow::Borrowed(png);
    }
    // A truncated chunk is an error that the decoder reports, unless it is metadata.
    if is_needed(rest) {
        kept.extend_from_slice(rest);
    }
    Cow::Owned(kept)
}

/// Splits off a chunk with its length, type and checksum.
fn split_chunk(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u32::from_be_bytes(*bytes.first_chunk()?);
    let length = usize::try_from(length).ok()?.checked_add(12)?;
    bytes.split_at_checked(length)
}

fn is_needed(chunk: &[u8]) -> bool {
    let Some(kind) = chunk.get(4..8) else {
        return true;
    };
    // The case of the first letter says whether a decoder may skip the chunk.
    let is_critical = kind.first().is_some_and(u8::is_ascii_uppercase);
    let is_compressed_or_text = matches!(kind, b"tEXt" | b"zTXt" | b"iTXt" | b"iCCP");
    is_critical || (!is_compressed_or_text && chunk.len() <= MAX_METADATA_BYTES)
}
