//! Converts images to PNG for terminals that accept nothing else.
//!
//! A block queues an image here and shows a text placeholder; the application converts it on another thread
//! and triggers a new layout.

use std::io::Cursor;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, ImageReader, Limits};
use pi_protocol::ImageContent;
use tokio::sync::Notify;

/// Memory limit for decoding an image.
const DECODED_BYTES: u64 = 128 * 1024 * 1024;

/// A Base64-encoded PNG, `None` if conversion failed; unset until conversion has been attempted.
pub type ConvertedPng = Arc<OnceLock<Option<String>>>;

#[derive(Debug)]
pub struct ImageConversion {
    image: Arc<ImageContent>,
    converted: ConvertedPng,
}

impl ImageConversion {
    /// Converts the image; slow for large ones.
    pub fn run(self) {
        self.converted.get_or_init(|| to_png(&self.image));
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
    pub fn enqueue(&self, image: &Arc<ImageContent>, converted: &ConvertedPng) {
        let mut conversions = self.lock();
        conversions.push(ImageConversion {
            image: Arc::clone(image),
            converted: Arc::clone(converted),
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<ImageConversion>> {
        let conversions = self.0.conversions.lock();
        conversions.unwrap_or_else(PoisonError::into_inner)
    }
}

fn to_png(image: &ImageContent) -> Option<String> {
    let bytes = STANDARD.decode(&image.data).ok()?;
    // The type of reader that the crate's decoders are compiled for.
    let mut reader = ImageReader::new(Cursor::new(bytes.as_slice()))
        .with_guessed_format()
        .ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES);
    reader.limits(limits);
    let mut png = Cursor::new(Vec::new());
    let decoded = reader.decode().ok()?;
    decoded.write_to(&mut png, ImageFormat::Png).ok()?;
    Some(STANDARD.encode(png.into_inner()))
}
