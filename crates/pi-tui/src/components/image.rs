//! A picture, or a line of text where the terminal shows none.
//!
//! The bytes of the image protocols and the size of a cell are the renderer's; it offers them as an
//! [`ImagePainter`].

use std::fmt;
use std::sync::Arc;

use super::background::{cut, fit};
use crate::component::Component;
use crate::line::{Line, Lines};
use crate::style::Painter;
use crate::terminal::{ImageDimensions, image_dimensions, image_fallback};
use crate::text::sanitize;

const DEFAULT_MAX_WIDTH: usize = 60;

/// A picture as it came: encoded data with its type.
#[derive(Clone, Debug)]
pub struct EncodedImage {
    /// The file's bytes in base64, as both protocols carry them.
    pub base64: Arc<str>,
    /// Such as `image/png`.
    pub mime_type: String,
    /// The picture's size, where known.
    pub size: Option<ImageDimensions>,
    /// The file's name, for the text.
    pub file_name: Option<String>,
}

/// The cells an [`Image`] may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageCellLimits {
    pub columns: usize,
    /// Rows at most; by default as many as make a square of the columns.
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

/// What an [`ImagePainter`] made of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaintedImage {
    /// One line for each row the picture covers; the sequences sit in one of them.
    pub lines: Vec<Line>,
}

/// Draws pictures with the terminal's protocol.
pub trait ImagePainter: Send + Sync {
    /// Returns the lines of a picture; `None` if this terminal cannot show it.
    fn paint(&self, source: &EncodedImage, limits: ImageCellLimits) -> Option<PaintedImage>;
}

/// Shows a picture, or its type and size as text.
#[derive(Clone)]
pub struct Image {
    source: EncodedImage,
    limits: ImageCellLimits,
    painter: Option<Arc<dyn ImagePainter>>,
    fallback: Painter,
    cache: Option<(usize, Lines)>,
}

impl Image {
    /// Returns a picture; without a painter it is shown as text.
    pub fn new(source: EncodedImage, painter: Option<Arc<dyn ImagePainter>>) -> Self {
        Self {
            source: measured(source),
            limits: ImageCellLimits::default(),
            painter,
            fallback: Painter::plain(),
            cache: None,
        }
    }

    /// Returns the picture with these limits.
    #[must_use]
    pub fn limits(mut self, limits: ImageCellLimits) -> Self {
        self.limits = limits;
        self.cache = None;
        self
    }

    /// Returns the picture with this paint for its text.
    #[must_use]
    pub fn fallback(mut self, painter: impl Into<Painter>) -> Self {
        self.fallback = painter.into();
        self.cache = None;
        self
    }

    /// Replaces the picture, for example by one converted to another type.
    pub fn set_source(&mut self, source: EncodedImage) {
        self.source = measured(source);
        self.cache = None;
    }

    fn draw(&self, width: usize) -> Lines {
        let limits = ImageCellLimits {
            columns: self.limits.columns.min(width.saturating_sub(2)).max(1),
            rows: self.limits.rows,
        };
        if let Some(painter) = &self.painter
            && let Some(painted) = painter.paint(&self.source, limits)
        {
            return painted.lines.into();
        }
        let text = self.fallback.paint(&cut(&self.description(), width));
        Lines::from(vec![fit(text, width)])
    }

    fn description(&self) -> String {
        let name = self.source.file_name.as_deref().map(sanitize);
        let mime_type = sanitize(&self.source.mime_type);
        image_fallback(&mime_type, self.source.size, name.as_deref())
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Image")
            .field("source", &self.source.mime_type)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Returns the picture with its size, if its data tells.
fn measured(source: EncodedImage) -> EncodedImage {
    let size = source.size.or_else(|| image_dimensions(&source.base64));
    EncodedImage { size, ..source }
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
