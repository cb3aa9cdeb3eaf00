//! Images in messages: drawn if the terminal supports it, described as text otherwise.

use std::sync::Arc;

use crate::theme::image_converter::{ConvertedImage, ConvertedPng, Thumbnail};
use crate::theme::ui_theme::RenderContext;
use pi_protocol::ImageContent;
use pi_tui::{
    ImageCells, ImageProtocol, Line, image_dimensions, image_fallback, image_lines, next_image_id,
    sanitize,
};

mod half_blocks;

#[derive(Debug)]
pub struct ImagePreview {
    image: Arc<ImageContent>,
    /// The image as PNG, since Kitty accepts nothing else; converted when first shown.
    png: Option<ConvertedPng>,
    /// What is drawn with block characters; decoded when first shown.
    thumbnail: Option<Thumbnail>,
}

impl ImagePreview {
    pub fn new(image: ImageContent) -> Self {
        Self {
            image: Arc::new(image),
            png: None,
            thumbnail: None,
        }
    }

    /// Returns the text shown where the image cannot be drawn.
    pub fn description(&self) -> String {
        describe(&self.image)
    }

    /// Returns the image's lines; `None` if it cannot be drawn, or not yet.
    pub fn lines(&mut self, width: usize, ctx: &RenderContext) -> Option<Vec<Line>> {
        if !ctx.show_images {
            return None;
        }
        let columns = ctx.image_width.min(width.saturating_sub(2)).max(1);
        let Some(protocol) = ctx.capabilities.images else {
            return self.block_lines(columns, ctx);
        };
        let data = match protocol {
            ImageProtocol::Kitty if self.image.mime_type != "image/png" => {
                let png = self.png.get_or_insert_with(|| {
                    let converted = ConvertedPng::default();
                    let target = ConvertedImage::Png(Arc::clone(&converted));
                    ctx.image_converter.enqueue(&self.image, target);
                    converted
                });
                png.get()?.as_ref()?
            }
            ImageProtocol::Kitty | ImageProtocol::ITerm2 => &self.image.data,
        };
        let size = image_dimensions(data)?;
        let cells = ImageCells::fit(size, columns, None, ctx.cell_size);
        let lines = image_lines(protocol, data, next_image_id(), cells);
        Some(lines.into_iter().map(Line::from).collect())
    }

    /// Returns the image drawn with block characters, if the terminal has enough colors.
    fn block_lines(&mut self, columns: usize, ctx: &RenderContext) -> Option<Vec<Line>> {
        if !draws_blocks(ctx) {
            return None;
        }
        let thumbnail = self.thumbnail.get_or_insert_with(|| {
            let thumbnail = Thumbnail::default();
            let target = ConvertedImage::Thumbnail(Arc::clone(&thumbnail));
            ctx.image_converter.enqueue(&self.image, target);
            thumbnail
        });
        let thumbnail = thumbnail.get()?.as_ref()?;
        Some(half_blocks::lines(
            thumbnail,
            columns,
            ctx.output_padding,
            ctx.theme.mode(),
        ))
    }
}

/// Whether images are drawn, and need no description.
pub(crate) fn are_drawn(ctx: &RenderContext) -> bool {
    ctx.show_images && (ctx.capabilities.images.is_some() || draws_blocks(ctx))
}

fn draws_blocks(ctx: &RenderContext) -> bool {
    ctx.capabilities.block_images && half_blocks::supports(ctx.theme.mode())
}

/// Returns the type and size of an image.
pub fn describe(image: &ImageContent) -> String {
    image_fallback(
        &sanitize(&image.mime_type),
        image_dimensions(&image.data),
        None,
    )
}
