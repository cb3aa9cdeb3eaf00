//! Files that a command line attaches to its first message with `@file`.
//!
//! Text goes into the message, images beside it in the size they have: they are made to fit when the
//! model that gets them is known.

use std::io;
use std::path::{Path, PathBuf};

use pi_ai::{Env, ImageContent};
use pi_tools::{PathError, PathResolver, prepare_image, sniff_image};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// More than any model reads; a larger file is surely not meant.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// What is attached to a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attachments {
    /// The files' text, each in a `file` element; images leave an empty one.
    pub text: String,
    pub images: Vec<ImageContent>,
}

/// Why a file could not be attached.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttachmentError {
    /// It does not exist.
    #[error("there is no file {}", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The path cannot be understood.
    #[error("the path {0}")]
    Path(#[from] PathError),
}

/// Reads the files that `@file` arguments name, with or without their `@`.
///
/// Empty files are passed over. The first one that cannot be read is an error.
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

/// What one file adds.
struct Attached {
    text: String,
    image: Option<ImageContent>,
}

fn read_file(candidates: Vec<PathBuf>) -> Result<Option<Attached>, AttachmentError> {
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

/// Reads a file that has an end: no folder, pipe or device.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if metadata.len() > MOST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    std::fs::read(path)
}

fn attach(path: &Path, bytes: &[u8]) -> Attached {
    let name = path.display();
    let Some(media_type) = sniff_image(bytes) else {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        return Attached {
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
    Attached {
        text: format!("<file name=\"{name}\">{notes}</file>\n"),
        image,
    }
}

#[cfg(test)]
mod tests;
