//! An image, or a text description where the terminal cannot show images.
//!
//! The renderer owns the image protocols and the cell size, and provides them as an
//! [`ImagePainter`].

use std::fmt;
use std::sync::Arc;

use super::background::{clip, fit};
use crate::component::Component;
use crate::line::{Line, Lines};
use crate::style::Painter;
use crate::terminal::{ImageDimensions, image_dimensions, image_fallback};
use crate::text::sanitize;

const DEFAULT_MAX_WIDTH: usize = 60;

/// An encoded image and its type.
#[derive(Clone, Debug)]
pub struct EncodedImage {
    /// The file's bytes in base64, as both protocols transmit them.
    pub base64: Arc<str>,
    /// Such as `image/png`.
    pub mime_type: String,
    /// Dimensions, if known.
    pub size: Option<ImageDimensions>,
    /// File name for the text description.
    pub file_name: Option<String>,
}

/// Maximum cells an [`Image`] may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageCellLimits {
    pub columns: usize,
    /// By default, as many rows as make a square with the columns.
    pub rows: Option<usize>,
}

impl Default for ImageCellLimits {
    fn default() -> Self {
        Self {
            columns: DEFAULT_MAX_WIDTH,
            rows: None,
        }
    }
}

/// An image rendered by an [`ImagePainter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaintedImage {
    /// One line per row of the image. One of them contains the image sequence.
    pub lines: Vec<Line>,
}

/// Draws images with the terminal's protocol.
pub trait ImagePainter: Send + Sync {
    /// Returns the lines of an image, or `None` if this terminal cannot show it.
    fn paint(&self, image: &EncodedImage, limits: ImageCellLimits) -> Option<PaintedImage>;
}

/// Shows an image, or its type and size as text.
#[derive(Clone)]
pub struct Image {
    encoded: EncodedImage,
    limits: ImageCellLimits,
    painter: Option<Arc<dyn ImagePainter>>,
    fallback: Painter,
    cache: Option<(usize, Lines)>,
}

impl Image {
    /// Returns an image. Without a painter it is shown as text.
    pub fn new(image: EncodedImage, painter: Option<Arc<dyn ImagePainter>>) -> Self {
        Self {
            encoded: with_dimensions(image),
            limits: ImageCellLimits::default(),
            painter,
            fallback: Painter::plain(),
            cache: None,
        }
    }

    #[must_use]
    pub fn limits(mut self, limits: ImageCellLimits) -> Self {
        self.limits = limits;
        self.cache = None;
        self
    }

    /// Sets the style of the text description.
    #[must_use]
    pub fn fallback(mut self, painter: impl Into<Painter>) -> Self {
        self.fallback = painter.into();
        self.cache = None;
        self
    }

    /// Replaces the image, for example after converting it to another type.
    pub fn set_source(&mut self, image: EncodedImage) {
        self.encoded = with_dimensions(image);
        self.cache = None;
    }

    fn draw(&self, width: usize) -> Lines {
        let limits = ImageCellLimits {
            columns: self.limits.columns.min(width.saturating_sub(2)).max(1),
            rows: self.limits.rows,
        };
        if let Some(painter) = &self.painter
            && let Some(painted) = painter.paint(&self.encoded, limits)
        {
            return painted.lines.into();
        }
        let text = self.fallback.paint(&clip(&self.description(), width));
        Lines::from(vec![fit(text, width)])
    }

    fn description(&self) -> String {
        let name = self.encoded.file_name.as_deref().map(sanitize);
        let mime_type = sanitize(&self.encoded.mime_type);
        image_fallback(&mime_type, self.encoded.size, name.as_deref())
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Image")
            .field("source", &self.encoded.mime_type)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Returns the image with its dimensions, if they can be read from the data.
fn with_dimensions(image: EncodedImage) -> EncodedImage {
    let size = image.size.or_else(|| image_dimensions(&image.base64));
    EncodedImage { size, ..image }
}

impl Component for Image {
    fn render(&mut self, width: usize) -> Lines {
        if let Some((cached_width, lines)) = &self.cache
            && *cached_width == width
        {
            return lines.clone();
        }
        let lines = self.draw(width);
        self.cache = Some((width, lines.clone()));
        lines
    }

    fn invalidate(&mut self) {
        self.cache = None;
    }
}
