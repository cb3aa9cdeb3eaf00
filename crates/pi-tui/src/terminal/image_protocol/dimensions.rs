//! Reads width and height from the first bytes of an image file.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Image size in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageDimensions {
    pub width: u32,
    pub height: u32,
}

/// Maximum bytes inspected: a JPEG may have that much data before its frame header.
const HEADER_BASE64: usize = 512 * 1024;

/// Decodes a payload that may have been truncated anywhere.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Returns the size of a base64-encoded PNG, JPEG, GIF or WebP.
pub fn image_dimensions(data_base64: &str) -> Option<ImageDimensions> {
    let mut end = data_base64.len().min(HEADER_BASE64);
    end -= end % 4;
    let header = LENIENT.decode(data_base64.get(..end)?).ok()?;
    png(&header)
        .or_else(|| jpeg(&header))
        .or_else(|| gif(&header))
        .or_else(|| webp(&header))
}

fn dimensions(width: u32, height: u32) -> ImageDimensions {
    ImageDimensions { width, height }
}

fn png(header: &[u8]) -> Option<ImageDimensions> {
    let header = header.strip_prefix(b"\x89PNG")?;
    let number = |at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?))
    };
    Some(dimensions(number(12)?, number(16)?))
}

fn gif(header: &[u8]) -> Option<ImageDimensions> {
    let header = header
        .strip_prefix(b"GIF87a")
        .or_else(|| header.strip_prefix(b"GIF89a"))?;
    Some(dimensions(little16(header, 0)?, little16(header, 2)?))
}

fn jpeg(header: &[u8]) -> Option<ImageDimensions> {
    let mut rest = header.strip_prefix(b"\xff\xd8")?;
    loop {
        rest = match rest {
            [0xff, 0xc0..=0xc2, _, _, _, body @ ..] => {
                return Some(dimensions(big16(body, 2)?, big16(body, 0)?));
            }
            [0xff, 0xff, ..] => rest.get(1..)?,
            [0xff, _, high, low, ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                rest.get(2 + length.max(2)..)?
            }
            [_, tail @ ..] => tail,
            [] => return None,
        };
    }
}

fn webp(header: &[u8]) -> Option<ImageDimensions> {
    if header.get(..4)? != b"RIFF" || header.get(8..12)? != b"WEBP" {
        return None;
    }
    match header.get(12..16)? {
        b"VP8 " => Some(dimensions(
            little16(header, 26)? & 0x3fff,
            little16(header, 28)? & 0x3fff,
        )),
        b"VP8L" => {
            let bits = u32::from_le_bytes(header.get(21..25)?.try_into().ok()?);
            Some(dimensions((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8X" => Some(dimensions(
            little24(header, 24)? + 1,
            little24(header, 27)? + 1,
        )),
        _ => None,
    }
}

fn little16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(
        bytes.get(at..at + 2)?.try_into().ok()?,
    )))
}

fn big16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(
        bytes.get(at..at + 2)?.try_into().ok()?,
    )))
}

fn little24(bytes: &[u8], at: usize) -> Option<u32> {
    match bytes.get(at..at + 3)? {
        [low, middle, high] => Some(u32::from_le_bytes([*low, *middle, *high, 0])),
        _ => None,
    }
}
