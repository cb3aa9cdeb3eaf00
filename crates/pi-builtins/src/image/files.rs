//! The files of the tool: pictures that a model draws from, and those it has drawn, which replace nothing.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pi_core::{FileError, FileOperations};
use pi_host::{ToolContext, ToolError};
use pi_model_tasks::ImageInput;
use pi_tools::{
    ImageError, ImageResizeLimits, MutationQueue, PathResolver, prepare_image, sniff_image,
};
use tokio::io::AsyncReadExt as _;

/// Larger files are not read.
const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Names that are tried for a file.
const MAX_NAMES: usize = 10_000;

fn resolver(cx: &ToolContext) -> PathResolver {
    PathResolver {
        cwd: cx.session.cwd().to_owned(),
        home: cx.env.home.clone(),
    }
}

fn resolve(cx: &ToolContext, path: &str) -> Result<PathBuf, ToolError> {
    let resolved = resolver(cx).resolve(path);
    resolved.map_err(|error| ToolError::new(format!("Invalid path: {error}")))
}

/// Reads a picture in a form that image models accept.
pub(super) async fn read_picture(cx: &ToolContext, path: &str) -> Result<ImageInput, ToolError> {
    let failed =
        |error: &dyn std::fmt::Display| ToolError::new(format!("Cannot read {path}: {error}"));
    let resolved = resolve(cx, path)?;
    let file = cx
        .env
        .files
        .open(&resolved)
        .await
        .map_err(|error| failed(&error))?;
    if file.size > MAX_INPUT_BYTES {
        return Err(failed(&FileError::TooLarge(file.size)));
    }
    let mut bytes = Vec::new();
    let mut reader = file.reader.take(MAX_INPUT_BYTES);
    reader
        .read_to_end(&mut bytes)
        .await
        .map_err(|error| failed(&error))?;
    let media_type = sniff_image(&bytes).ok_or_else(|| failed(&"it is not an image"))?;
    let cancel = cx.cancel.clone();
    let prepared = tokio::task::spawn_blocking(move || {
        prepare_image(
            &bytes,
            media_type,
            Some(ImageResizeLimits::default()),
            &cancel,
        )
    });
    let prepared = prepared.await.unwrap_or(Err(ImageError::Unreadable));
    let prepared = prepared.map_err(|error| failed(&error))?;
    Ok(ImageInput::Image {
        mime_type: prepared.media_type.to_owned(),
        data: prepared.data,
    })
}

/// A picture of a response.
#[derive(Debug, Clone)]
pub(super) struct Picture {
    pub(super) bytes: Vec<u8>,
    pub(super) mime_type: String,
}

impl Picture {
    /// Decodes the data of a response.
    pub(super) fn new(mime_type: &str, data: &str) -> Option<Self> {
        Some(Self {
            bytes: BASE64_STANDARD.decode(data).ok()?,
            mime_type: mime_type.to_owned(),
        })
    }

    fn extension(&self) -> &'static str {
        match self.mime_type.as_str() {
            "image/jpeg" => "jpg",
            "image/webp" => "webp",
            "image/gif" => "gif",
            _ => "png",
        }
    }
}

/// Fails if a path that a model chose exists.
pub(super) async fn check_new(cx: &ToolContext, path: &str) -> Result<(), ToolError> {
    let resolved = resolve(cx, path)?;
    if is_free(&*cx.env.files, &resolved, path).await? {
        return Ok(());
    }
    Err(ToolError::new(format!(
        "{path} exists; choose another path"
    )))
}

/// Writes a picture to the path that the model chose, or to the next free `image-<n>`. A further picture for the same path
/// gets a number. Returns the path.
pub(super) async fn write_picture(
    cx: &ToolContext,
    queue: &MutationQueue,
    path: Option<&str>,
    picture: &Picture,
) -> Result<String, ToolError> {
    for name in names(path, picture.extension()) {
        let resolved = resolve(cx, &name)?;
        if !is_free(&*cx.env.files, &resolved, &name).await? {
            continue;
        }
        let files = std::sync::Arc::clone(&cx.env.files);
        let (bytes, shown) = (picture.bytes.clone(), name.clone());
        let write = |real_path: PathBuf| async move {
            // Another call may have written it while this one waited.
            if !is_free(&*files, &real_path, &shown).await? {
                return Ok(false);
            }
            let written = async {
                if let Some(directory) = real_path.parent() {
                    files.create_directories(directory).await?;
                }
                files.replace(&real_path, bytes).await
            };
            let written = written.await;
            written.map_err(|error| ToolError::new(format!("Cannot write {shown}: {error}")))?;
            Ok::<bool, ToolError>(true)
        };
        let written = queue
            .run(&*cx.env.files, &resolved, write, &cx.cancel)
            .await;
        let written =
            written.map_err(|error| ToolError::new(format!("Cannot write {name}: {error}")))?;
        if written? {
            return Ok(name);
        }
    }
    Err(ToolError::new(
        "Cannot write the image: there is no free name",
    ))
}

async fn is_free(files: &dyn FileOperations, path: &Path, name: &str) -> Result<bool, ToolError> {
    match files.status(path).await {
        Ok(_) => Ok(false),
        Err(FileError::Missing) => Ok(true),
        Err(error) => Err(ToolError::new(format!("Cannot write {name}: {error}"))),
    }
}

fn names(path: Option<&str>, extension: &str) -> impl Iterator<Item = String> {
    let (chosen, stem, ending) = match path {
        Some(path) => {
            let (directory, file) = path
                .rsplit_once('/')
                .map_or(("", path), |(directory, file)| (directory, file));
            let (stem, ending) = file.rsplit_once('.').unwrap_or((file, extension));
            let separator = if path.contains('/') { "/" } else { "" };
            (
                Some(path.to_owned()),
                format!("{directory}{separator}{stem}"),
                ending.to_owned(),
            )
        }
        None => (None, "image".to_owned(), extension.to_owned()),
    };
    let first = if chosen.is_some() { 2 } else { 1 };
    let numbered = (first..MAX_NAMES).map(move |number| format!("{stem}-{number}.{ending}"));
    chosen.into_iter().chain(numbered)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_are_numbered() {
        let first = |path, extension| names(path, extension).take(2).collect::<Vec<_>>();
        assert_eq!(first(None, "jpg"), ["image-1.jpg", "image-2.jpg"]);
        assert_eq!(
            first(Some("art/fox.png"), "jpg"),
            ["art/fox.png", "art/fox-2.png"]
        );
        assert_eq!(first(Some("a.b/fox"), "png"), ["a.b/fox", "a.b/fox-2.png"]);
        assert_eq!(first(Some("/fox"), "png"), ["/fox", "/fox-2.png"]);
    }
}
