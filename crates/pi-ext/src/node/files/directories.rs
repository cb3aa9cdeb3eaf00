//! Directory operations: list, create, copy, remove.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rand::RngExt as _;
use serde_json::{Value, json};

use crate::engine::NativeReply;

/// Alphabet of the random suffix of temporary directory names.
const SUFFIX_ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Maximum attempts to find an unused name.
const ATTEMPTS: usize = 16;

/// Lists a directory as `[name, parent, kind]` entries, sorted by parent and name.
pub(super) fn list(path: &Path, recursive: bool) -> io::Result<NativeReply> {
    let mut entries = Vec::new();
    let mut directories = vec![path.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if recursive && kind.is_dir() {
                directories.push(entry.path());
            }
            entries.push((entry.file_name(), directory.clone(), kind));
        }
    }
    entries.sort_by(|left, right| (&left.1, &left.0).cmp(&(&right.1, &right.0)));
    let entries = entries.into_iter().map(|(name, parent, kind)| {
        json!([
            name.to_string_lossy(),
            parent.to_string_lossy(),
            kind_of(kind)
        ])
    });
    Ok(NativeReply::Json(Value::Array(entries.collect())))
}

/// Returns libuv's `uv_dirent_type_t` value.
fn kind_of(kind: fs::FileType) -> u8 {
    if kind.is_file() {
        return 1;
    }
    if kind.is_dir() {
        return 2;
    }
    if kind.is_symlink() {
        return 3;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return 4;
        }
        if kind.is_socket() {
            return 5;
        }
        if kind.is_char_device() {
            return 6;
        }
        if kind.is_block_device() {
            return 7;
        }
    }
    0
}

/// Creates a directory. The recursive form returns the first directory it created.
pub(super) fn create(path: &Path, recursive: bool, mode: Option<u32>) -> io::Result<NativeReply> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    if let Some(mode) = mode {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
    }
    #[cfg(not(unix))]
    let _mode = mode;
    if !recursive {
        return builder.create(path).map(|()| NativeReply::Nothing);
    }
    let first = path
        .ancestors()
        .take_while(|directory| !directory.exists())
        .last()
        .map(PathBuf::from);
    builder.recursive(true).create(path)?;
    Ok(first.map_or(NativeReply::Nothing, |first| {
        NativeReply::Text(first.to_string_lossy().into_owned())
    }))
}

/// Creates a directory with a random suffix.
pub(super) fn create_temporary(prefix: &str) -> io::Result<NativeReply> {
    for _ in 0..ATTEMPTS {
        let mut random = rand::rng();
        let suffix: String = (0..6)
            .filter_map(|_| SUFFIX_ALPHABET.get(random.random_range(0..SUFFIX_ALPHABET.len())))
            .map(|character| char::from(*character))
            .collect();
        let name = format!("{prefix}{suffix}");
        match create(Path::new(&name), false, Some(0o700)) {
            Ok(_) => return Ok(NativeReply::Text(name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes a file or a directory tree.
pub(super) fn remove(path: &Path, recursive: bool, force: bool) -> io::Result<NativeReply> {
    let outcome = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() && recursive => fs::remove_dir_all(path),
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match outcome {
        Err(error) if force && error.kind() == io::ErrorKind::NotFound => Ok(NativeReply::Nothing),
        outcome => outcome.map(|()| NativeReply::Nothing),
    }
}

/// Copies a file, a symlink or a directory tree.
pub(super) fn copy(from: &Path, to: &Path, recursive: bool, force: bool) -> io::Result<()> {
    if to.starts_with(from) {
        // Copying a directory into itself would never end.
        return Err(io::ErrorKind::InvalidInput.into());
    }
    copy_entry(from, to, recursive, force)
}

fn copy_entry(from: &Path, to: &Path, recursive: bool, force: bool) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    if metadata.is_dir() {
        if !recursive {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_entry(&entry.path(), &to.join(entry.file_name()), recursive, force)?;
        }
        return Ok(());
    }
    if to.exists() && !force {
        return Ok(());
    }
    if metadata.is_symlink() {
        if fs::symlink_metadata(to).is_ok() {
            fs::remove_file(to)?;
        }
        return super::metadata::create_symlink(&fs::read_link(from)?, to);
    }
    fs::copy(from, to).map(drop)
}
