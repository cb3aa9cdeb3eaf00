//! Local files. Every operation runs on a blocking thread. Reading never blocks on pipes and
//! devices; writing is in `replace`.

#[cfg(unix)]
#[path = "local_files/replace_unix.rs"]
mod replace;
#[cfg(not(unix))]
#[path = "local_files/replace_portable.rs"]
mod replace;

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use pi_core::{
    DirectoryEntry, FileError, FileFuture, FileKind, FileOperations, FileStatus, OpenFile,
};
use tokio::io::AsyncReadExt;
use uuid::Uuid;

#[derive(Debug, Clone, Copy, Default)]
pub struct LocalFiles;

impl FileOperations for LocalFiles {
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        run_blocking(path, |path| {
            check_length(&path)?;
            real_path(&path, MAX_SYMLINKS)
        })
    }

    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus> {
        run_blocking(path, |path| {
            let metadata = fs::metadata(path)?;
            Ok(FileStatus {
                kind: kind(metadata.file_type()),
                size: metadata.len(),
            })
        })
    }

    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        run_blocking(path, |path| start_reading(open_regular(&path)?))
    }

    fn open_real<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        run_blocking(path, |path| start_reading(replace::open_regular(&path)?))
    }

    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        run_blocking(path, |path| {
            fs::read_dir(path)?
                .map(|entry| Ok(directory_entry(&entry?)))
                .collect()
        })
    }

    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        run_blocking(path, |path| {
            open_regular(&path)?;
            check_writable(&path)
        })
    }

    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        run_blocking(path, |path| replace::create_directories(&path))
    }

    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()> {
        run_blocking(path, move |path| replace::replace(&path, &contents))
    }
}

fn start_reading((mut file, metadata): (File, Metadata)) -> Result<OpenFile, FileError> {
    let start = read_start(&mut file, metadata.len())?;
    let is_complete = start.len() < START_BYTES;
    let start = io::Cursor::new(start);
    Ok(OpenFile {
        size: metadata.len(),
        reader: if is_complete {
            Box::new(start)
        } else {
            Box::new(AsyncReadExt::chain(start, tokio::fs::File::from_std(file)))
        },
    })
}

/// Bytes that are read when a file is opened. Most files are complete then, without another switch of threads.
const START_BYTES: usize = 64 * 1024;

fn read_start(file: &mut File, size: u64) -> io::Result<Vec<u8>> {
    // With a byte to spare, one call reads the file and the next one sees its end.
    let capacity = usize::try_from(size).unwrap_or(START_BYTES) + 1;
    let mut start = Vec::with_capacity(capacity.min(START_BYTES));
    file.take(START_BYTES as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// Returns a unique name for a temporary file. It does not include the target's name, so that files
/// with long names can be written too.
fn temporary_name() -> String {
    format!(".pi-{}.tmp", Uuid::new_v4().simple())
}

fn run_blocking<'a, T: Send + 'static>(
    path: &Path,
    work: impl FnOnce(PathBuf) -> Result<T, FileError> + Send + 'static,
) -> FileFuture<'a, T> {
    let path = path.to_owned();
    Box::pin(async move {
        tokio::task::spawn_blocking(move || work(path))
            .await
            .map_err(|error| FileError::Other(io::Error::other(error)))?
    })
}

/// Fails if the path is too long for the system. Opening it directory by directory would succeed,
/// but the file could not be opened by path afterwards.
fn check_length(path: &Path) -> Result<(), FileError> {
    match fs::symlink_metadata(path).map_err(FileError::from) {
        Err(error @ FileError::NameTooLong) => Err(error),
        _ => Ok(()),
    }
}

/// Maximum number of dangling symlinks to follow; the same limit as Linux.
const MAX_SYMLINKS: usize = 40;

/// Resolves symlinks as far as the path exists and keeps the rest.
fn real_path(path: &Path, links_left: usize) -> Result<PathBuf, FileError> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match fs::canonicalize(existing) {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        // A dangling symlink is followed as well: the file will be created at its target.
        if let Ok(target) = fs::read_link(existing) {
            let mut target = existing.parent().unwrap_or(existing).join(target);
            target.extend(missing.iter().rev());
            let links_left = links_left
                .checked_sub(1)
                .ok_or_else(|| FileError::Other(io::Error::other("too many symbolic links")))?;
            return real_path(&target, links_left);
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                existing = parent;
            }
            _ => return Err(FileError::Missing),
        }
    }
}

/// Opens a regular file without blocking on pipes.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), FileError> {
    // Checked before opening, because opening a device may have side effects, and after opening,
    // because the path may have been replaced in between.
    expect_regular(&fs::metadata(path)?)?;
    let file = pi_fs::open_nonblocking(path)?;
    let metadata = file.metadata()?;
    expect_regular(&metadata)?;
    Ok((file, metadata))
}

fn expect_regular(metadata: &Metadata) -> Result<(), FileError> {
    match kind(metadata.file_type()) {
        FileKind::File => Ok(()),
        other => Err(FileError::NotAFile(other)),
    }
}

#[cfg(unix)]
fn check_writable(path: &Path) -> Result<(), FileError> {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK)
        .map_err(|error| io::Error::from(error).into())
}

#[cfg(not(unix))]
fn check_writable(path: &Path) -> Result<(), FileError> {
    if fs::metadata(path)?.permissions().readonly() {
        return Err(FileError::Denied);
    }
    Ok(())
}

fn directory_entry(entry: &fs::DirEntry) -> DirectoryEntry {
    // The listing contains the file type; only symlinks need another lookup.
    let file_type = match entry.file_type() {
        Ok(file_type) if file_type.is_symlink() => {
            fs::metadata(entry.path()).map(|metadata| metadata.file_type())
        }
        listed => listed,
    };
    DirectoryEntry {
        name: entry.file_name(),
        kind: file_type.ok().map(kind),
    }
}

fn kind(file_type: FileType) -> FileKind {
    if file_type.is_file() {
        return FileKind::File;
    }
    if file_type.is_dir() {
        return FileKind::Directory;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if file_type.is_fifo() {
            return FileKind::Pipe;
        }
        if file_type.is_socket() {
            return FileKind::Socket;
        }
        if file_type.is_char_device() || file_type.is_block_device() {
            return FileKind::Device;
        }
    }
    FileKind::Other
}
