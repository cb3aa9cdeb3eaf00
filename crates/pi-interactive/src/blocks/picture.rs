//! Pictures among the content of messages: on terminals that show them, and as words elsewhere.

use std::io::Cursor;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, ImageReader, Limits};
use pi_ai::ImageContent;
use pi_tui::{
    ImageCells, ImageProtocol, Line, image_dimensions, image_fallback, image_lines, sanitize,
};

use crate::look::Appearance;

/// Memory for decoding a picture at most.
const DECODED_BYTES: u64 = 128 * 1024 * 1024;

/// A picture of a result.
#[derive(Debug)]
pub(crate) struct Picture {
    image: ImageContent,
    png: Png,
}

/// The picture as PNG, since Kitty takes nothing else.
#[derive(Debug)]
enum Png {
    Untried,
    Impossible,
    Converted(String),
}

impl Picture {
    /// Takes a picture.
    pub(crate) fn new(image: ImageContent) -> Self {
        Self {
            image,
            png: Png::Untried,
        }
    }

    /// Returns what stands for the picture where it cannot be shown.
    pub(crate) fn description(&self) -> String {
        describe(&self.image)
    }

    /// Returns the picture's lines; none where it cannot be shown.
    pub(crate) fn lines(&mut self, width: usize, appearance: &Appearance) -> Option<Vec<Line>> {
        let protocol = appearance.capabilities.images?;
        if !appearance.show_images {
            return None;
        }
        let data = match protocol {
            ImageProtocol::Kitty if self.image.mime_type != "image/png" => {
                if let Png::Untried = self.png {
                    self.png = to_png(&self.image).map_or(Png::Impossible, Png::Converted);
                }
                match &self.png {
                    Png::Converted(data) => data,
                    Png::Untried | Png::Impossible => return None,
                }
            }
            ImageProtocol::Kitty | ImageProtocol::ITerm2 => &self.image.data,
        };
        let columns = appearance.image_width.min(width.saturating_sub(2)).max(1);
        let size = image_dimensions(data)?;
        let cells = ImageCells::fit(size, columns, None, appearance.cell_size);
        let lines = image_lines(protocol, data, next_id(), cells);
        Some(lines.into_iter().map(Line::from).collect())
    }
}

/// Returns a picture's type and size.
pub(crate) fn describe(image: &ImageContent) -> String {
    image_fallback(
        &sanitize(&image.mime_type),
        image_dimensions(&image.data),
        None,
    )
}

/// Returns an id that other programs on the terminal are unlikely to use.
fn next_id() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) & 0xffff;
    ((std::process::id() & 0xffff) << 16 | count).max(1)
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
    let picture = reader.decode().ok()?;
    picture
        .write_to(&mut Cursor::new(&mut png), ImageFormat::Png)
        .ok()?;
    Some(STANDARD.encode(png))
}
