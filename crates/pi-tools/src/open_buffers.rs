//! Files as the client's editor has them: buffers with unsaved changes are read instead of the files on disk, and changed
//! by the editor.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{DirectoryEntry, FileError, FileFuture, FileOperations, FileStatus, OpenFile};

/// Larger files are read from and written to disk.
const MAX_BUFFER_BYTES: u64 = 4 * 1024 * 1024;

/// The files that are open in a client.
pub trait OpenBuffers: Send + Sync {
    /// Returns the text of a file; `None` to use the one on disk.
    fn text<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Option<String>>;

    /// Replaces the text of a file, which is saved. Returns `false` to write it to disk.
    fn replace<'a>(&'a self, path: &'a Path, text: &'a str) -> BoxFuture<'a, bool>;
}

/// Local files, with the text of open buffers.
pub struct BufferedFiles {
    pub local: Arc<dyn FileOperations>,
    pub buffers: Arc<dyn OpenBuffers>,
}

impl BufferedFiles {
    /// Replaces the contents of a file by those of its buffer.
    async fn buffered(&self, path: &Path, file: OpenFile) -> Result<OpenFile, FileError> {
        if file.size > MAX_BUFFER_BYTES {
            return Ok(file);
        }
        let contents = file.read().await?;
        // Images and other binary files are no buffers.
        let contents = match std::str::from_utf8(&contents) {
            Ok(_) => match self.buffers.text(path).await {
                Some(text) => text.into_bytes(),
                None => contents,
            },
            Err(_) => contents,
        };
        Ok(OpenFile {
            size: contents.len() as u64,
            reader: Box::new(Cursor::new(contents)),
        })
    }
}

impl FileOperations for BufferedFiles {
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        self.local.real_path(path)
    }

    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus> {
        self.local.status(path)
    }

    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        Box::pin(async move { self.buffered(path, self.local.open(path).await?).await })
    }

    fn open_real<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        Box::pin(async move { self.buffered(path, self.local.open_real(path).await?).await })
    }

    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        self.local.list(path)
    }

    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        self.local.check_editable(path)
    }

    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        self.local.create_directories(path)
    }

    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()> {
        Box::pin(async move {
            if contents.len() as u64 <= MAX_BUFFER_BYTES
                && let Ok(text) = std::str::from_utf8(&contents)
                && self.buffers.replace(path, text).await
            {
                return Ok(());
            }
            self.local.replace(path, contents).await
        })
    }
}
