//! Images in messages: drawn if the terminal supports it, described as text otherwise.

use std::sync::Arc;

use crate::theme::image_converter::ConvertedPng;
use crate::theme::ui_theme::RenderContext;
use pi_protocol::ImageContent;
use pi_tui::{
    ImageCells, ImageProtocol, Line, image_dimensions, image_fallback, image_lines, next_image_id,
    sanitize,
};

#[derive(Debug)]
pub struct ImagePreview {
    image: Arc<ImageContent>,
    /// The image as PNG, since Kitty accepts nothing else; converted when first shown.
    png: Option<ConvertedPng>,
}

impl ImagePreview {
    pub fn new(image: ImageContent) -> Self {
        Self {
            image: Arc::new(image),
            png: None,
        }
    }

    /// Returns the text shown where the image cannot be drawn.
    pub fn description(&self) -> String {
        describe(&self.image)
    }

    /// Returns the image's lines; `None` if it cannot be drawn, or not yet.
    pub fn lines(&mut self, width: usize, ctx: &RenderContext) -> Option<Vec<Line>> {
        let protocol = ctx.capabilities.images?;
        if !ctx.show_images {
            return None;
        }
        let data = match protocol {
            ImageProtocol::Kitty if self.image.mime_type != "image/png" => {
                let png = self.png.get_or_insert_with(|| {
                    let converted = ConvertedPng::default();
                    ctx.image_converter.enqueue(&self.image, &converted);
                    converted
                });
                png.get()?.as_ref()?
            }
            ImageProtocol::Kitty | ImageProtocol::ITerm2 => &self.image.data,
        };
        let columns = ctx.image_width.min(width.saturating_sub(2)).max(1);
        let size = image_dimensions(data)?;
        let cells = ImageCells::fit(size, columns, None, ctx.cell_size);
        let lines = image_lines(protocol, data, next_image_id(), cells);
        Some(lines.into_iter().map(Line::from).collect())
    }
}

/// Returns the type and size of an image.
pub fn describe(image: &ImageContent) -> String {
    image_fallback(
        &sanitize(&image.mime_type),
        image_dimensions(&image.data),
        None,
    )
}
