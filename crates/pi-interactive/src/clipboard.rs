//! The system's clipboard: text in and out, images as files.

use std::path::PathBuf;

use thiserror::Error;

/// What was on the clipboard.
#[derive(Debug)]
pub(crate) enum Pasted {
    /// An image, now in this file.
    Image(PathBuf),
    Text(String),
    Nothing,
}

/// Why the clipboard is out of reach.
#[derive(Debug, Error)]
pub(crate) enum ClipboardError {
    /// The system says no.
    #[error(transparent)]
    System(#[from] arboard::Error),
    /// The image cannot be encoded.
    #[error("the image cannot be turned into a PNG file")]
    Image(#[from] image::ImageError),
    /// The image cannot be stored.
    #[error("the image cannot be stored")]
    File(#[from] std::io::Error),
}

/// Puts text on the clipboard.
pub(crate) fn write(text: String) -> Result<(), ClipboardError> {
    arboard::Clipboard::new()?.set_text(text)?;
    Ok(())
}

/// Reads the clipboard; an image becomes a file in the temporary folder.
pub(crate) fn read() -> Result<Pasted, ClipboardError> {
    let mut clipboard = arboard::Clipboard::new()?;
    if let Ok(picture) = clipboard.get_image() {
        return store(&picture).map(Pasted::Image);
    }
    match clipboard.get_text() {
        Ok(text) if text.is_empty() => Ok(Pasted::Nothing),
        Ok(text) => Ok(Pasted::Text(text)),
        Err(arboard::Error::ContentNotAvailable) => Ok(Pasted::Nothing),
        Err(error) => Err(error.into()),
    }
}

fn store(picture: &arboard::ImageData<'_>) -> Result<PathBuf, ClipboardError> {
    let width = u32::try_from(picture.width).unwrap_or(u32::MAX);
    let height = u32::try_from(picture.height).unwrap_or(u32::MAX);
    let mut png = std::io::Cursor::new(Vec::new());
    image::write_buffer_with_format(
        &mut png,
        &picture.bytes,
        width,
        height,
        image::ExtendedColorType::Rgba8,
        image::ImageFormat::Png,
    )?;
    let name = format!("pi-clipboard-{}.png", uuid::Uuid::new_v4());
    let path = std::env::temp_dir().join(name);
    crate::temp_files::write_private(&path, png.get_ref())?;
    Ok(path)
}
