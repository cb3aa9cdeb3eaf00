//! Prepares images for models: converts formats, applies the orientation, and limits the size. Used
//! for files that are read, prompt images and images returned by other tools. An image within the
//! limits keeps its bytes; otherwise it is resized and re-encoded. Notes describe the changes,
//! because the model may need to map coordinates back.

mod decode;
mod sniff;

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageFormat, RgbImage, RgbaImage};
use pi_protocol::{ImageContent, ImageResize, InputBlock};
use resize::Pixel::RGBA8P;
use resize::Type::Lanczos3;
use rgb::FromSlice as _;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub(crate) use decode::MAX_IMAGE_FILE_BYTES;
use decode::{ALWAYS_ACCEPTED_PIXELS, decode, wait_for_turn};
pub use sniff::sniff_image;

/// How images are prepared for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImagePolicy {
    /// Maximum image size; `None` keeps the original size.
    pub limits: Option<ImageResizeLimits>,
    /// Whether the current model supports images.
    pub model_supports_images: bool,
}

impl Default for ImagePolicy {
    fn default() -> Self {
        Self {
            limits: Some(ImageResizeLimits::default()),
            model_supports_images: true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageResizeLimits {
    pub max_width: u32,
    pub max_height: u32,
    /// Exclusive limit for the base64-encoded size.
    pub max_bytes: u64,
    /// The JPEG quality tried first, from 1 to 100.
    pub jpeg_quality: u8,
}

impl Default for ImageResizeLimits {
    fn default() -> Self {
        Self {
            max_width: 2000,
            max_height: 2000,
            // Half a mebibyte below the lowest provider limit.
            max_bytes: 4 * 1024 * 1024 + 512 * 1024,
            jpeg_quality: 80,
        }
    }
}

impl From<&ImageResize> for ImageResizeLimits {
    fn from(resize: &ImageResize) -> Self {
        let defaults = Self::default();
        Self {
            max_width: resize.max_width.unwrap_or(defaults.max_width),
            max_height: resize.max_height.unwrap_or(defaults.max_height),
            max_bytes: resize.max_bytes.unwrap_or(defaults.max_bytes),
            jpeg_quality: resize.jpeg_quality.unwrap_or(defaults.jpeg_quality),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedImage {
    /// The base64-encoded image file.
    pub data: String,
    pub media_type: &'static str,
    /// Changes made to the image, each as a line in square brackets for the model.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ImageError {
    /// It is corrupt or has an unsupported format.
    #[error("Image omitted: it could not be decoded")]
    Unreadable,
    /// Decoding it would take too much memory.
    #[error(
        "Image omitted: it has too many pixels; scale it down to {} megapixels",
        ALWAYS_ACCEPTED_PIXELS / 1_000_000
    )]
    TooManyPixels,
    /// It exceeds the byte limit even at the smallest size.
    #[error("Image omitted: it could not be resized to fit the size limit")]
    TooLarge,
    #[error("Image omitted: canceled")]
    Canceled,
}

/// Prepares an image for a model. This is CPU-intensive and waits for other images that are being
/// prepared; call it on a blocking thread.
pub fn prepare_image(
    bytes: &[u8],
    media_type: &str,
    limits: Option<ImageResizeLimits>,
    cancel: &CancellationToken,
) -> Result<PreparedImage, ImageError> {
    let given = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_lowercase();
    let accepted = accepted_media_type(&given);
    if let (Some(media_type), None) = (accepted, limits) {
        return Ok(PreparedImage {
            data: STANDARD.encode(bytes),
            media_type,
            notes: Vec::new(),
        });
    }
    let _turn = wait_for_turn();
    if cancel.is_cancelled() {
        return Err(ImageError::Canceled);
    }
    let decoded_image = decode(bytes)?;
    let (converted, source_type);
    let source = match accepted {
        Some(media_type) => {
            source_type = media_type;
            bytes
        }
        None => {
            source_type = PNG;
            converted = encode_png(&decoded_image).ok_or(ImageError::Unreadable)?;
            &converted
        }
    };
    let fits = limits.is_none_or(|limits| {
        decoded_image.width() <= limits.max_width
            && decoded_image.height() <= limits.max_height
            && base64_length(source) < limits.max_bytes
    });
    let mut prepared = match limits {
        Some(limits) if !fits => shrink(decoded_image, limits, cancel)?,
        _ => PreparedImage {
            data: STANDARD.encode(source),
            media_type: source_type,
            notes: Vec::new(),
        },
    };
    if accepted.is_none() {
        let note = format!("[Image converted from {given} to {}]", prepared.media_type);
        prepared.notes.insert(0, note);
    }
    Ok(prepared)
}

/// Prepares the images of a tool result, on a blocking thread. An image that cannot be prepared is
/// kept unchanged.
pub fn prepare_result_images(
    content: Vec<InputBlock>,
    limits: Option<ImageResizeLimits>,
    cancel: &CancellationToken,
) -> Vec<InputBlock> {
    let prepare = |image: &ImageContent| {
        let bytes = STANDARD.decode(&image.data).ok()?;
        let prepared = prepare_image(&bytes, &image.mime_type, limits, cancel).ok()?;
        let notes = prepared.notes.join("\n");
        let image = ImageContent::new(prepared.data, prepared.media_type);
        let note = (!notes.is_empty()).then(|| InputBlock::text(notes));
        Some(
            std::iter::once(InputBlock::Image(image))
                .chain(note)
                .collect(),
        )
    };
    content
        .into_iter()
        .flat_map(|block| match &block {
            InputBlock::Image(image) => prepare(image).unwrap_or_else(|| vec![block]),
            InputBlock::Text(_) | InputBlock::Unknown(_) => vec![block],
        })
        .collect()
}

const PNG: &str = "image/png";
const JPEG: &str = "image/jpeg";

/// The media types that every provider accepts.
fn accepted_media_type(media_type: &str) -> Option<&'static str> {
    match media_type {
        "image/png" => Some(PNG),
        "image/jpeg" | "image/jpg" => Some(JPEG),
        "image/gif" => Some("image/gif"),
        "image/webp" => Some("image/webp"),
        _ => None,
    }
}

/// Tries smaller sizes and lower quality until the image fits.
fn shrink(
    image: DynamicImage,
    limits: ImageResizeLimits,
    cancel: &CancellationToken,
) -> Result<PreparedImage, ImageError> {
    let original = (image.width(), image.height());
    let resizable = ResizableImage::from(image);
    let (mut width, mut height) = scaled_dimensions(original.0, original.1, limits);
    loop {
        if cancel.is_cancelled() {
            return Err(ImageError::Canceled);
        }
        let resized = resizable
            .resized(width, height)
            .ok_or(ImageError::Unreadable)?;
        if let Some((bytes, media_type)) = encode_within_limits(&resized, limits, cancel) {
            return Ok(PreparedImage {
                data: STANDARD.encode(bytes),
                media_type,
                notes: vec![scale_note(original, width, height)],
            });
        }
        if (width, height) == (1, 1) {
            return Err(ImageError::TooLarge);
        }
        (width, height) = (three_quarters(width), three_quarters(height));
    }
}

/// Returns the smaller of PNG and JPEG at the configured quality, if it fits; otherwise the best JPEG that fits.
fn encode_within_limits(
    image: &DynamicImage,
    limits: ImageResizeLimits,
    cancel: &CancellationToken,
) -> Option<(Vec<u8>, &'static str)> {
    let small = |bytes: &Vec<u8>| base64_length(bytes) < limits.max_bytes;
    let opaque = flatten_onto_white(image);
    let png = encode_png(image).map(|bytes| (bytes, PNG));
    let jpeg = encode_jpeg(&opaque, limits.jpeg_quality).map(|bytes| (bytes, JPEG));
    let candidates = png.into_iter().chain(jpeg);
    let smallest = candidates.min_by_key(|(bytes, _)| bytes.len());
    if let Some(found) = smallest.filter(|(bytes, _)| small(bytes)) {
        return Some(found);
    }
    [85, 70, 55, 40]
        .into_iter()
        .take_while(|_| !cancel.is_cancelled())
        .find_map(|quality| encode_jpeg(&opaque, quality).filter(small))
        .map(|bytes| (bytes, JPEG))
}

fn encode_png(image: &DynamicImage) -> Option<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).ok()?;
    Some(bytes.into_inner())
}

fn encode_jpeg(image: &RgbImage, quality: u8) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality.clamp(1, 100))
        .encode_image(image)
        .ok()?;
    Some(bytes)
}

/// JPEG has no transparency, so transparent areas become white.
fn flatten_onto_white(image: &DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.to_rgb8();
    }
    let mut flat = RgbImage::new(image.width(), image.height());
    for (target, source) in flat.pixels_mut().zip(image.to_rgba8().pixels()) {
        let [red, green, blue, alpha] = source.0;
        let mix = |channel: u8| {
            let mixed = u16::from(channel) * u16::from(alpha) + 255 * (255 - u16::from(alpha));
            u8::try_from(mixed / 255).unwrap_or(u8::MAX)
        };
        target.0 = [mix(red), mix(green), mix(blue)];
    }
    flat
}

/// An image in RGBA with 8 bits per channel, so that the resizer is compiled for one pixel format.
struct ResizableImage {
    image: RgbaImage,
    is_opaque: bool,
}

impl From<DynamicImage> for ResizableImage {
    fn from(image: DynamicImage) -> Self {
        Self {
            is_opaque: !image.color().has_alpha(),
            image: image.into_rgba8(),
        }
    }
}

impl ResizableImage {
    fn resized(&self, width: u32, height: u32) -> Option<DynamicImage> {
        let length = |pixels: u32| usize::try_from(pixels).ok();
        let mut image = RgbaImage::new(width, height);
        let mut resizer = resize::new(
            length(self.image.width())?,
            length(self.image.height())?,
            length(width)?,
            length(height)?,
            RGBA8P,
            Lanczos3,
        )
        .ok()?;
        resizer
            .resize(self.image.as_rgba(), image.as_rgba_mut())
            .ok()?;
        let image = DynamicImage::from(image);
        Some(if self.is_opaque {
            image.to_rgb8().into()
        } else {
            image
        })
    }
}

/// Returns the largest size within the limits that keeps the aspect ratio.
fn scaled_dimensions(width: u32, height: u32, limits: ImageResizeLimits) -> (u32, u32) {
    let (max_width, max_height) = (limits.max_width.max(1), limits.max_height.max(1));
    let (mut fit_width, mut fit_height) = (width, height);
    if fit_width > max_width {
        fit_height = scaled(fit_height, max_width, fit_width);
        fit_width = max_width;
    }
    if fit_height > max_height {
        fit_width = scaled(fit_width, max_height, fit_height);
        fit_height = max_height;
    }
    (fit_width, fit_height)
}

/// Returns `value * numerator / denominator`, rounded, at least 1.
fn scaled(value: u32, numerator: u32, denominator: u32) -> u32 {
    let (value, numerator, denominator) = (
        u64::from(value),
        u64::from(numerator),
        u64::from(denominator).max(1),
    );
    let rounded = (value * numerator + denominator / 2) / denominator;
    u32::try_from(rounded).unwrap_or(u32::MAX).max(1)
}

fn three_quarters(length: u32) -> u32 {
    let length = u64::from(length) * 3 / 4;
    u32::try_from(length).unwrap_or(u32::MAX).max(1)
}

fn base64_length(bytes: &[u8]) -> u64 {
    (bytes.len() as u64).div_ceil(3) * 4
}

fn scale_note((from_width, from_height): (u32, u32), width: u32, height: u32) -> String {
    format!(
        "[Image resized from {from_width}x{from_height} to {width}x{height}; multiply coordinates by \
         {:.2} to map them to the original]",
        f64::from(from_width) / f64::from(width)
    )
}

#[cfg(test)]
mod tests;
