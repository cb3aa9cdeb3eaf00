//! Pictures that have to become PNG before the terminal takes them.
//!
//! Whoever shows a picture leaves it here and shows words meanwhile; the application converts it on
//! another thread and has everything laid out again.

use std::io::Cursor;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, ImageReader, Limits};
use pi_ai::ImageContent;
use tokio::sync::Notify;

/// Memory for decoding a picture at most.
const DECODED_BYTES: u64 = 128 * 1024 * 1024;

/// A picture as PNG in Base64; none if it cannot be one. Unset until somebody has tried.
pub(crate) type ConvertedPng = Arc<OnceLock<Option<String>>>;

/// A picture to convert.
#[derive(Debug)]
pub(crate) struct ImageConversion {
    image: Arc<ImageContent>,
    converted: ConvertedPng,
}

impl ImageConversion {
    /// Converts it; takes long for large pictures.
    pub(crate) fn run(self) {
        self.converted.get_or_init(|| to_png(&self.image));
    }
}

/// Where pictures wait to be converted; clones are the same desk.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImageConverter(Arc<ConversionQueue>);

#[derive(Debug, Default)]
struct ConversionQueue {
    conversions: Mutex<Vec<ImageConversion>>,
    left: Notify,
}

impl ImageConverter {
    /// Leaves a picture to be converted.
    pub(crate) fn enqueue(&self, image: &Arc<ImageContent>, converted: &ConvertedPng) {
        let mut conversions = self.lock();
        conversions.push(ImageConversion {
            image: Arc::clone(image),
            converted: Arc::clone(converted),
        });
        self.0.left.notify_one();
    }

    /// Waits for pictures and returns those that were left.
    pub(crate) async fn next_batch(&self) -> Vec<ImageConversion> {
        loop {
            let left = std::mem::take(&mut *self.lock());
            if !left.is_empty() {
                return left;
            }
            self.0.left.notified().await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<ImageConversion>> {
        let conversions = self.0.conversions.lock();
        conversions.unwrap_or_else(PoisonError::into_inner)
    }
}

fn to_png(image: &ImageContent) -> Option<String> {
    let bytes = STANDARD.decode(&image.data).ok()?;
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES);
    reader.limits(limits);
    let mut png = Vec::new();
    let decoded = reader.decode().ok()?;
    decoded
        .write_to(&mut Cursor::new(&mut png), ImageFormat::Png)
        .ok()?;
    Some(STANDARD.encode(png))
}
