//! Converts images for terminals: to PNG, or to a few pixels that are drawn with block characters.
//!
//! A block queues an image here and shows a text placeholder; the application converts it on another thread
//! and triggers a new layout.

use std::io::Cursor;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{DynamicImage, ImageFormat, ImageReader, Limits, RgbaImage};
use parking_lot::{Mutex, MutexGuard};
use pi_protocol::ImageContent;
use tokio::sync::Notify;

/// Memory limit for decoding an image.
const DECODED_BYTES: u64 = 128 * 1024 * 1024;

/// Maximum width and height of a thumbnail in pixels.
const THUMBNAIL_SIDE: u32 = 160;

/// A Base64-encoded PNG, `None` if conversion failed; unset until conversion has been attempted.
pub type ConvertedPng = Arc<OnceLock<Option<String>>>;

/// A small version, `None` if the image cannot be decoded; unset until that has been attempted.
pub type Thumbnail = Arc<OnceLock<Option<RgbaImage>>>;

/// What an image is converted to, and where the result goes.
#[derive(Clone, Debug)]
pub enum ConvertedImage {
    Png(ConvertedPng),
    Thumbnail(Thumbnail),
}

#[derive(Debug)]
pub struct ImageConversion {
    image: Arc<ImageContent>,
    converted: ConvertedImage,
}

impl ImageConversion {
    /// Converts the image; slow for large ones.
    pub fn run(self) {
        match self.converted {
            ConvertedImage::Png(png) => {
                png.get_or_init(|| to_png(&self.image));
            }
            ConvertedImage::Thumbnail(thumbnail) => {
                thumbnail.get_or_init(|| to_thumbnail(&self.image));
            }
        }
    }
}

/// Queue of images to convert; clones share the queue.
#[derive(Clone, Debug, Default)]
pub struct ImageConverter(Arc<ConversionQueue>);

#[derive(Debug, Default)]
struct ConversionQueue {
    conversions: Mutex<Vec<ImageConversion>>,
    queued: Notify,
}

impl ImageConverter {
    /// Queues an image for conversion.
    pub fn enqueue(&self, image: &Arc<ImageContent>, converted: ConvertedImage) {
        let mut conversions = self.lock();
        conversions.push(ImageConversion {
            image: Arc::clone(image),
            converted,
        });
        self.0.queued.notify_one();
    }

    /// Waits for queued images and returns them.
    pub async fn next_batch(&self) -> Vec<ImageConversion> {
        loop {
            let batch = std::mem::take(&mut *self.lock());
            if !batch.is_empty() {
                return batch;
            }
            self.0.queued.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ImageConversion>> {
        self.0.conversions.lock()
    }
}

fn to_png(image: &ImageContent) -> Option<String> {
    let mut png = Cursor::new(Vec::new());
    decode(image)?.write_to(&mut png, ImageFormat::Png).ok()?;
    Some(STANDARD.encode(png.into_inner()))
}

fn to_thumbnail(image: &ImageContent) -> Option<RgbaImage> {
    let decoded = decode(image)?;
    let is_small = decoded.width() <= THUMBNAIL_SIDE && decoded.height() <= THUMBNAIL_SIDE;
    Some(if is_small {
        decoded.into_rgba8()
    } else {
        decoded
            .thumbnail(THUMBNAIL_SIDE, THUMBNAIL_SIDE)
            .into_rgba8()
    })
}

fn decode(image: &ImageContent) -> Option<DynamicImage> {
    let bytes = STANDARD.decode(&image.data).ok()?;
    // The type of reader that the crate's decoders are compiled for.
    let mut reader = ImageReader::new(Cursor::new(bytes.as_slice()))
        .with_guessed_format()
        .ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES);
    reader.limits(limits);
    reader.decode().ok()
}
