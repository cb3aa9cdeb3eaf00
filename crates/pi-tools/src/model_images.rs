//! Resizes images for the model, or blocks them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_protocol::{ImageContent, InputBlock, Message, MessageContent};
use tokio_util::sync::CancellationToken;

use crate::images::{ImageError, ImageResizeLimits, prepare_image, prepare_result_images};

/// Text the model receives in place of a blocked image.
const BLOCKED: &str = "(images are blocked by the settings)";

pub fn has_images(content: &[InputBlock]) -> bool {
    content
        .iter()
        .any(|block| matches!(block, InputBlock::Image(_)))
}

/// Resizes the images of a prompt to fit the limits. Returns them with notes for the model,
/// including notes on images that were dropped.
pub async fn fit_prompt_images(
    images: Vec<ImageContent>,
    limits: Option<ImageResizeLimits>,
) -> (Vec<ImageContent>, Vec<String>) {
    if images.is_empty() {
        return (images, Vec::new());
    }
    let fitting = tokio::task::spawn_blocking(move || {
        let mut fitted = Vec::new();
        let mut notes = Vec::new();
        for image in &images {
            match fit(image, limits) {
                Ok((image, note)) => {
                    fitted.push(image);
                    notes.extend(note);
                }
                Err(failure) => notes.push(format!("[{failure}]")),
            }
        }
        (fitted, notes)
    });
    match fitting.await {
        Ok(fitted) => fitted,
        Err(error) => {
            tracing::error!(%error, "cannot process image");
            (Vec::new(), vec![format!("[{}]", ImageError::Unreadable)])
        }
    }
}

fn fit(
    image: &ImageContent,
    limits: Option<ImageResizeLimits>,
) -> Result<(ImageContent, Vec<String>), ImageError> {
    let bytes = STANDARD.decode(&image.data).ok();
    let bytes = bytes.ok_or(ImageError::Unreadable)?;
    let fitted = prepare_image(&bytes, &image.mime_type, limits, &CancellationToken::new())?;
    let image = ImageContent::new(fitted.data, fitted.media_type);
    Ok((image, fitted.notes))
}

/// Resizes the images of a tool result to fit the limits.
pub async fn fit_tool_result_images(
    content: Vec<InputBlock>,
    limits: Option<ImageResizeLimits>,
    cancel: &CancellationToken,
) -> Vec<InputBlock> {
    let kept = content.clone();
    let cancel = cancel.clone();
    let fitting =
        tokio::task::spawn_blocking(move || prepare_result_images(content, limits, &cancel));
    fitting.await.unwrap_or_else(|error| {
        tracing::error!(%error, "cannot process image");
        kept
    })
}

/// Replaces images with a note; consecutive images share one.
pub fn block_images(messages: &mut [Message]) {
    for message in messages {
        match message {
            Message::User(user) => {
                if matches!(&user.content, MessageContent::Blocks(blocks) if has_images(blocks))
                    && let MessageContent::Blocks(blocks) = &mut Arc::make_mut(user).content
                {
                    block_in(blocks);
                }
            }
            Message::ToolResult(result) if has_images(&result.content) => {
                block_in(&mut Arc::make_mut(result).content);
            }
            Message::ToolResult(_) | Message::System(_) | Message::Assistant(_) => {}
        }
    }
}

fn block_in(blocks: &mut Vec<InputBlock>) {
    for block in blocks.iter_mut() {
        if matches!(block, InputBlock::Image(_)) {
            *block = InputBlock::text(BLOCKED);
        }
    }
    let is_note = |block: &InputBlock| block.as_text() == Some(BLOCKED);
    blocks.dedup_by(|later, earlier| is_note(later) && is_note(earlier));
}
