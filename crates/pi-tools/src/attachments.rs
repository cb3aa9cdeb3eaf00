//! Files attached to the first message with `@file` arguments.
//!
//! Text becomes part of the message. Images are attached in their original size and resized once
//! the model is known.

use std::io;
use std::path::{Path, PathBuf};

use pi_env::Env;
use pi_protocol::ImageContent;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::images::{prepare_image, sniff_image};
use crate::paths::{PathError, PathResolver};

/// Larger than any model can read, so such a file is a mistake.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Attachments of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attachments {
    /// Text of the files, each in a `file` element; an image has an empty element.
    pub text: String,
    pub images: Vec<ImageContent>,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttachmentError {
    #[error("file not found: {}", path.display())]
    Missing {
        /// The expected path.
        path: PathBuf,
    },
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("invalid path: {0}")]
    Path(#[from] PathError),
}

/// Reads the files named by `@file` arguments, with or without the `@`.
///
/// Empty files are skipped. Fails on the first file that cannot be read.
pub async fn read_attachments(
    arguments: &[String],
    cwd: &Path,
    env: &Env,
) -> Result<Attachments, AttachmentError> {
    let mut attachments = Attachments::default();
    let base = PathResolver {
        cwd: cwd.to_owned(),
        home: env.home_dir(),
    };
    for argument in arguments {
        let candidates = base.candidates(argument)?;
        let read = tokio::task::spawn_blocking(move || read_file(candidates));
        let attached = match read.await {
            Ok(attached) => attached?,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        if let Some(attached) = attached {
            attachments.text += &attached.text;
            attachments.images.extend(attached.image);
        }
    }
    Ok(attachments)
}

/// The attachment of one file.
struct FileAttachment {
    text: String,
    image: Option<ImageContent>,
}

fn read_file(candidates: Vec<PathBuf>) -> Result<Option<FileAttachment>, AttachmentError> {
    let mut candidates = candidates.into_iter();
    let Some(first) = candidates.next() else {
        return Ok(None);
    };
    let path = if first.exists() {
        first
    } else {
        match candidates.find(|path| path.exists()) {
            Some(path) => path,
            None => return Err(AttachmentError::Missing { path: first }),
        }
    };
    let bytes = read_regular(&path).map_err(|source| AttachmentError::Unreadable {
        path: path.clone(),
        source,
    })?;
    Ok((!bytes.is_empty()).then(|| attach(&path, &bytes)))
}

/// Reads a regular file; rejects directories, pipes and devices.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    std::fs::read(path)
}

fn attach(path: &Path, bytes: &[u8]) -> FileAttachment {
    let name = path.display();
    let Some(media_type) = sniff_image(bytes) else {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        return FileAttachment {
            text: format!("<file name=\"{name}\">\n{text}\n</file>\n"),
            image: None,
        };
    };
    let (notes, image) = match prepare_image(bytes, media_type, None, &CancellationToken::new()) {
        Ok(fitted) => {
            let image = ImageContent::new(fitted.data, fitted.media_type);
            (fitted.notes.join("\n"), Some(image))
        }
        Err(failure) => (format!("[{failure}]"), None),
    };
    FileAttachment {
        text: format!("<file name=\"{name}\">{notes}</file>\n"),
        image,
    }
}

#[cfg(test)]
mod tests;
