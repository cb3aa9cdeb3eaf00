//! The system clipboard: text in and out, images as files.

use std::path::PathBuf;

use thiserror::Error;

/// Contents of the clipboard.
#[derive(Debug)]
pub(crate) enum ClipboardContents {
    /// Path of the temporary file the image was written to.
    Image(PathBuf),
    /// Files copied in a file manager.
    Files(Vec<PathBuf>),
    Text(String),
    Nothing,
}

/// Errors of clipboard access.
#[derive(Debug, Error)]
pub(crate) enum ClipboardError {
    #[error(transparent)]
    System(#[from] arboard::Error),
    #[error("cannot encode the image as PNG")]
    Image(#[from] image::ImageError),
    #[error("cannot save the image")]
    File(#[from] std::io::Error),
}

pub(crate) fn write(text: String) -> Result<(), ClipboardError> {
    arboard::Clipboard::new()?.set_text(text)?;
    Ok(())
}

/// Reads the clipboard; an image is written to the temporary directory.
pub(crate) fn read() -> Result<ClipboardContents, ClipboardError> {
    let mut clipboard = arboard::Clipboard::new()?;
    // First, because file managers of macOS also offer the icon of a file as an image.
    if let Ok(files) = clipboard.get().file_list()
        && !files.is_empty()
    {
        return Ok(ClipboardContents::Files(files));
    }
    if let Ok(image_data) = clipboard.get_image() {
        return store(&image_data).map(ClipboardContents::Image);
    }
    match clipboard.get_text() {
        Ok(text) if text.is_empty() => Ok(ClipboardContents::Nothing),
        Ok(text) => Ok(ClipboardContents::Text(text)),
        Err(arboard::Error::ContentNotAvailable) => Ok(ClipboardContents::Nothing),
        Err(error) => Err(error.into()),
    }
}

fn store(image_data: &arboard::ImageData<'_>) -> Result<PathBuf, ClipboardError> {
    let width = u32::try_from(image_data.width).unwrap_or(u32::MAX);
    let height = u32::try_from(image_data.height).unwrap_or(u32::MAX);
    let mut png = std::io::Cursor::new(Vec::new());
    image::write_buffer_with_format(
        &mut png,
        &image_data.bytes,
        width,
        height,
        image::ExtendedColorType::Rgba8,
        image::ImageFormat::Png,
    )?;
    let name = format!("pi-clipboard-{}.png", uuid::Uuid::new_v4());
    let path = std::env::temp_dir().join(name);
    pi_fs::private::write_new_file(&path, png.get_ref())?;
    Ok(path)
}
