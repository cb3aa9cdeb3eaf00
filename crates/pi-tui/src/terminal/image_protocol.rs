//! Escape sequences that show images: Kitty's graphics protocol, iTerm2's inline files, and a text
//! fallback.
//!
//! The application decodes and scales images. This encodes the given data, computes how many cells
//! an image takes, and finds image sequences in rendered lines.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

mod dimensions;
mod span;

pub use dimensions::{ImageDimensions, image_dimensions};
pub use span::ImageSpan;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageProtocol {
    Kitty,
    /// <https://iterm2.com/documentation-images.html>
    ITerm2,
}

/// Size of a character cell in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSize {
    pub width: u32,
    pub height: u32,
}

impl Default for CellSize {
    fn default() -> Self {
        Self {
            width: 9,
            height: 18,
        }
    }
}

/// Returns an image ID that is unique in this process and unlikely to be used by other programs on
/// the terminal.
pub fn next_image_id() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) & 0xffff;
    ((std::process::id() & 0xffff) << 16 | count).max(1)
}

/// Queries the size of a cell; the terminal replies with a
/// [`TerminalReply::CellSize`](crate::TerminalReply::CellSize).
pub const QUERY_CELL_SIZE: &str = "\x1b[16t";

/// The cells an image takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageCells {
    /// At least 1.
    pub columns: usize,
    /// At least 1.
    pub rows: usize,
}

impl ImageCells {
    /// Fits an image into `max_columns` by `max_rows` cells, keeping its aspect ratio.
    ///
    /// Small images are enlarged to the limit, as in the reference implementation.
    pub fn fit(
        image: ImageDimensions,
        max_columns: usize,
        max_rows: Option<usize>,
        cell: CellSize,
    ) -> Self {
        let max_columns = as_u64(max_columns).max(1);
        let (width, height) = (
            u64::from(image.width.max(1)),
            u64::from(image.height.max(1)),
        );
        let (cell_width, cell_height) =
            (u64::from(cell.width.max(1)), u64::from(cell.height.max(1)));
        let max_width_px = max_columns.saturating_mul(cell_width);
        let rows_at_full_width = height
            .saturating_mul(max_width_px)
            .div_ceil(width.saturating_mul(cell_height))
            .max(1);
        let Some(max_rows) = max_rows.map(|rows| as_u64(rows).max(1)) else {
            return Self::new(max_columns, rows_at_full_width);
        };
        let max_height_px = max_rows.saturating_mul(cell_height);
        // Compares the two scale factors without dividing.
        if max_width_px.saturating_mul(height) <= max_height_px.saturating_mul(width) {
            Self::new(max_columns, rows_at_full_width.min(max_rows))
        } else {
            let columns = width
                .saturating_mul(max_height_px)
                .div_ceil(height.saturating_mul(cell_width));
            Self::new(columns.clamp(1, max_columns), max_rows)
        }
    }

    fn new(columns: u64, rows: u64) -> Self {
        Self {
            columns: usize::try_from(columns).unwrap_or(usize::MAX),
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
        }
    }
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Payload bytes in one Kitty command.
const KITTY_CHUNK: usize = 4096;

/// Returns the command that sends a PNG and shows it at the cursor, which does not move.
///
/// `id` identifies the image for deletion. Replies are disabled (`q=2`) because they would look
/// like input.
pub fn kitty_image(png_base64: &str, id: u32, cells: ImageCells) -> String {
    let ImageCells { columns, rows } = cells;
    let controls = format!("a=T,f=100,q=2,C=1,c={columns},r={rows},i={id}");
    let mut command = String::with_capacity(png_base64.len() + png_base64.len() / 100 + 64);
    let payload = png_base64.as_bytes();
    let mut chunks = payload
        .chunks(KITTY_CHUNK)
        .filter_map(|chunk| std::str::from_utf8(chunk).ok())
        .peekable();
    let first = chunks.next().unwrap_or_default();
    let more = if chunks.peek().is_some() { ",m=1" } else { "" };
    command.push_str("\x1b_G");
    command.push_str(&controls);
    command.push_str(more);
    command.push(';');
    command.push_str(first);
    command.push_str("\x1b\\");
    while let Some(chunk) = chunks.next() {
        let more = u8::from(chunks.peek().is_some());
        // Writing to a string cannot fail.
        write!(command, "\x1b_Gm={more};{chunk}\x1b\\").unwrap_or_default();
    }
    command
}

/// Returns the command that removes an image and frees its data.
pub fn kitty_delete(id: u32) -> String {
    format!("\x1b_Ga=d,d=I,i={id},q=2\x1b\\")
}

/// Removes every image and frees the data.
pub const KITTY_DELETE_ALL: &str = "\x1b_Ga=d,d=A,q=2\x1b\\";

/// Removes every image from the screen and keeps the data for later placement.
pub const KITTY_HIDE_ALL: &str = "\x1b_Ga=d,d=a,q=2\x1b\\";

/// Returns the sequence that shows an image file at the cursor.
pub fn iterm2_image(data_base64: &str, columns: usize, name: Option<&str>) -> String {
    let padding = data_base64
        .bytes()
        .rev()
        .take_while(|byte| *byte == b'=')
        .count();
    let size = (data_base64.len() / 4 * 3).saturating_sub(padding);
    let name = name.map_or_else(String::new, |name| {
        format!(";name={}", STANDARD.encode(name))
    });
    format!(
        "\x1b]1337;File=inline=1;size={size};width={columns};height=auto{name}:{data_base64}\x07"
    )
}

/// Returns the lines that show an image: as many as it has rows, so that layout counts them
/// correctly.
///
/// `id` is only used by Kitty. Kitty's image starts in the first line. iTerm2 draws at the cursor
/// and moves it down, so the last line moves back up to the first before drawing.
pub fn image_lines(
    protocol: ImageProtocol,
    data_base64: &str,
    id: u32,
    cells: ImageCells,
) -> Vec<String> {
    let mut lines = vec![String::new(); cells.rows.max(1)];
    match protocol {
        ImageProtocol::Kitty => {
            if let Some(first) = lines.first_mut() {
                *first = kitty_image(data_base64, id, cells);
            }
        }
        ImageProtocol::ITerm2 => {
            let up = match cells.rows.saturating_sub(1) {
                0 => String::new(),
                rows => format!("\x1b[{rows}A"),
            };
            if let Some(last) = lines.last_mut() {
                *last = format!("{up}{}", iterm2_image(data_base64, cells.columns, None));
            }
        }
    }
    lines
}

/// Returns the text shown where images are not supported.
pub fn image_fallback(
    mime_type: &str,
    dimensions: Option<ImageDimensions>,
    name: Option<&str>,
) -> String {
    let mut text = String::from("[Image: ");
    if let Some(name) = name {
        text.push_str(name);
        text.push(' ');
    }
    // Writing to a string cannot fail.
    write!(text, "[{mime_type}]").unwrap_or_default();
    if let Some(ImageDimensions { width, height }) = dimensions {
        write!(text, " {width}x{height}").unwrap_or_default();
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests;
