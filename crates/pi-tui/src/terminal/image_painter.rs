//! Paints the image component with the terminal's image protocol.

use super::{CellSize, ImageCells, ImageProtocol, image_dimensions, image_lines, next_image_id};
use crate::components::{EncodedImage, ImageCellLimits, ImagePainter, PaintedImage};
use crate::line::Line;

/// Paints images with a protocol. Each painted image gets its own ID.
#[derive(Debug)]
pub struct ProtocolImagePainter {
    protocol: ImageProtocol,
    cell: CellSize,
}

impl ProtocolImagePainter {
    pub fn new(protocol: ImageProtocol, cell: CellSize) -> Self {
        Self { protocol, cell }
    }
}

impl ImagePainter for ProtocolImagePainter {
    fn paint(&self, source: &EncodedImage, limits: ImageCellLimits) -> Option<PaintedImage> {
        // Kitty only accepts PNG; other types must be converted first.
        if self.protocol == ImageProtocol::Kitty && source.mime_type != "image/png" {
            return None;
        }
        let size = source.size.or_else(|| image_dimensions(&source.base64))?;
        let cells = ImageCells::fit(size, limits.columns, limits.rows, self.cell);
        let lines = image_lines(self.protocol, &source.base64, next_image_id(), cells);
        Some(PaintedImage {
            lines: lines.into_iter().map(Line::from).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ImageDimensions;
    use super::*;

    #[test]
    fn kitty_accepts_only_png_and_every_image_gets_an_id() {
        let source = |mime_type: &str| EncodedImage {
            base64: "AAAA".into(),
            mime_type: mime_type.to_owned(),
            size: Some(ImageDimensions {
                width: 90,
                height: 180,
            }),
            file_name: None,
        };
        let painter = ProtocolImagePainter::new(ImageProtocol::Kitty, CellSize::default());
        let limits = ImageCellLimits {
            columns: 10,
            rows: Some(5),
        };
        assert!(painter.paint(&source("image/jpeg"), limits).is_none());
        let first = painter.paint(&source("image/png"), limits).unwrap().lines;
        let second = painter.paint(&source("image/png"), limits).unwrap().lines;
        assert_eq!(first.len(), 5);
        assert_ne!(first.first(), second.first());
    }
}
