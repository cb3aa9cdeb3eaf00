//! Makes images fit for a model: known format, upright, small enough.
//!
//! Serves files that are read, images of prompts and images other tools return. An image that fits
//! keeps its bytes. One that does not is shrunk and encoded anew; what was done to it is told in notes
//! for the model, which may have to map coordinates back.

mod sniff;

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fast_image_resize::images::TypedImage;
use fast_image_resize::pixels::U8x4;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, RgbImage, RgbaImage};
use pi_ai::{ImageContent, ImageResize, InputBlock};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub use sniff::sniff_image;

/// How images are treated on their way to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImagePolicy {
    /// The largest image to send; `None` sends images in the size they have.
    pub limits: Option<ImageResizeLimits>,
    /// The model of the moment sees images.
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

/// The largest image to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageResizeLimits {
    pub max_width: u32,
    pub max_height: u32,
    /// Bytes of the base64 text must stay below this.
    pub max_bytes: u64,
    /// The JPEG quality tried first, 1 to 100.
    pub jpeg_quality: u8,
}

impl Default for ImageResizeLimits {
    fn default() -> Self {
        Self {
            max_width: 2000,
            max_height: 2000,
            // Half a mebibyte below the lowest limit of a provider.
            max_bytes: 4 * 1024 * 1024 + 512 * 1024,
            jpeg_quality: 80,
        }
    }
}

impl From<&ImageResize> for ImageResizeLimits {
    fn from(resize: &ImageResize) -> Self {
        let usual = Self::default();
        Self {
            max_width: resize.max_width.unwrap_or(usual.max_width),
            max_height: resize.max_height.unwrap_or(usual.max_height),
            max_bytes: resize.max_bytes.unwrap_or(usual.max_bytes),
            jpeg_quality: resize.jpeg_quality.unwrap_or(usual.jpeg_quality),
        }
    }
}

/// An image a model can take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedImage {
    /// The image file, base64-encoded.
    pub data: String,
    /// Its media type.
    pub media_type: &'static str,
    /// What was done to it, each a line in square brackets for the model.
    pub notes: Vec<String>,
}

/// Why an image cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ImageError {
    /// It is damaged, too large to decode, or of a format we cannot decode.
    #[error("Image left out: it could not be decoded")]
    Unreadable,
    /// It stays too large however small it is made.
    #[error("Image left out: it could not be made small enough")]
    TooLarge,
    /// The call was cancelled.
    #[error("Image left out: cancelled")]
    Cancelled,
}

/// Makes an image fit for a model. This takes a while: call it on a blocking thread.
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
    let upright = decode(bytes).ok_or(ImageError::Unreadable)?;
    let (converted, source_type);
    let source = match accepted {
        Some(media_type) => {
            source_type = media_type;
            bytes
        }
        None => {
            source_type = PNG;
            converted = encode_png(&upright).ok_or(ImageError::Unreadable)?;
            &converted
        }
    };
    let fits = limits.is_none_or(|limits| {
        upright.width() <= limits.max_width
            && upright.height() <= limits.max_height
            && base64_length(source) < limits.max_bytes
    });
    let mut fitted = match limits {
        Some(limits) if !fits => shrink(&upright, limits, cancel)?,
        _ => PreparedImage {
            data: STANDARD.encode(source),
            media_type: source_type,
            notes: Vec::new(),
        },
    };
    if accepted.is_none() {
        let note = format!(
            "[The image was converted from {given} to {}]",
            fitted.media_type
        );
        fitted.notes.insert(0, note);
    }
    Ok(fitted)
}

/// Makes the images of a tool's result fit for a model, on a blocking thread. One that cannot be made
/// to fit stays: the tool that returned it may know better.
pub fn prepare_result_images(
    content: Vec<InputBlock>,
    limits: Option<ImageResizeLimits>,
    cancel: &CancellationToken,
) -> Vec<InputBlock> {
    let fit = |image: &ImageContent| {
        let bytes = STANDARD.decode(&image.data).ok()?;
        let fitted = prepare_image(&bytes, &image.mime_type, limits, cancel).ok()?;
        let notes = fitted.notes.join("\n");
        let image = ImageContent::new(fitted.data, fitted.media_type);
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
            InputBlock::Image(image) => fit(image).unwrap_or_else(|| vec![block]),
            InputBlock::Text(_) | InputBlock::Unknown(_) => vec![block],
        })
        .collect()
}

const PNG: &str = "image/png";
const JPEG: &str = "image/jpeg";

/// The media types every provider takes.
fn accepted_media_type(media_type: &str) -> Option<&'static str> {
    match media_type {
        "image/png" => Some(PNG),
        "image/jpeg" | "image/jpg" => Some(JPEG),
        "image/gif" => Some("image/gif"),
        "image/webp" => Some("image/webp"),
        _ => None,
    }
}

/// Decodes an image (the first frame of an animation) and turns it the way its camera says.
fn decode(bytes: &[u8]) -> Option<DynamicImage> {
    // The decoders' own limits keep a small file from asking for more memory than there is.
    let reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .ok()?;
    let mut decoder = reader.into_decoder().ok()?;
    let orientation = decoder.orientation().ok();
    let mut image = DynamicImage::from_decoder(decoder).ok()?;
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    Some(image)
}

/// Tries smaller and coarser forms until one fits.
fn shrink(
    image: &DynamicImage,
    limits: ImageResizeLimits,
    cancel: &CancellationToken,
) -> Result<PreparedImage, ImageError> {
    let mut pixels = Pixels::of(image);
    let (mut width, mut height) = fitting_size(image.width(), image.height(), limits);
    loop {
        if cancel.is_cancelled() {
            return Err(ImageError::Cancelled);
        }
        let resized = pixels
            .resized(width, height)
            .ok_or(ImageError::Unreadable)?;
        if let Some((bytes, media_type)) = smallest_loss(&resized, limits, cancel) {
            return Ok(PreparedImage {
                data: STANDARD.encode(bytes),
                media_type,
                notes: vec![scale_note(image, width, height)],
            });
        }
        if (width, height) == (1, 1) {
            return Err(ImageError::TooLarge);
        }
        (width, height) = (three_quarters(width), three_quarters(height));
    }
}

/// Returns the first encoding that is small enough, the most faithful first.
fn smallest_loss(
    image: &DynamicImage,
    limits: ImageResizeLimits,
    cancel: &CancellationToken,
) -> Option<(Vec<u8>, &'static str)> {
    let small = |bytes: &Vec<u8>| base64_length(bytes) < limits.max_bytes;
    if let Some(bytes) = encode_png(image).filter(small) {
        return Some((bytes, PNG));
    }
    let opaque = on_white(image);
    [limits.jpeg_quality, 85, 70, 55, 40]
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

/// JPEG has no transparency; what shines through is white, as on a page.
fn on_white(image: &DynamicImage) -> RgbImage {
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

/// An image in a form that can be resized: four channels of eight bits, the one form the resizer is
/// built for.
struct Pixels {
    image: RgbaImage,
    is_opaque: bool,
}

impl Pixels {
    fn of(image: &DynamicImage) -> Self {
        Self {
            image: image.to_rgba8(),
            is_opaque: !image.color().has_alpha(),
        }
    }

    /// The resizer only reads the image. It is lent as one that may be written since that is what the resizer's own
    /// steps between are, and its machine code, of which there is much, exists once for every kind of source.
    fn resized(&mut self, width: u32, height: u32) -> Option<DynamicImage> {
        let (from_width, from_height) = self.image.dimensions();
        let source = &mut self.image;
        let source = TypedImage::<U8x4>::from_buffer(from_width, from_height, source).ok()?;
        let mut image = RgbaImage::new(width, height);
        let mut target = TypedImage::<U8x4>::from_buffer(width, height, &mut image).ok()?;
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3))
            .use_alpha(!self.is_opaque);
        Resizer::new()
            .resize_typed(&source, &mut target, &options)
            .ok()?;
        let image = DynamicImage::from(image);
        Some(if self.is_opaque {
            image.to_rgb8().into()
        } else {
            image
        })
    }
}

/// The largest size within the limits that keeps the proportions.
fn fitting_size(width: u32, height: u32, limits: ImageResizeLimits) -> (u32, u32) {
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

/// `value * numerator / denominator`, rounded, at least 1.
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

fn scale_note(original: &DynamicImage, width: u32, height: u32) -> String {
    format!(
        "[The image of {}x{} pixels is shown at {width}x{height}; multiply coordinates by {:.2} to find \
         them in the original]",
        original.width(),
        original.height(),
        f64::from(original.width()) / f64::from(width)
    )
}

#[cfg(test)]
mod tests;
