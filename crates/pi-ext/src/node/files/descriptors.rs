//! Files opened by JavaScript, by descriptor.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use super::{FsArguments, metadata};
use crate::engine::NativeReply;
use crate::node::{NativeError, NativeRequest};

/// Base of descriptor numbers, high enough to be distinguishable from real descriptors.
const FIRST_DESCRIPTOR: i32 = 1000;

/// Maximum number of bytes per read.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// Files that JavaScript opened.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles(Mutex<FileTable>);

#[derive(Debug, Default)]
struct FileTable {
    files: HashMap<i32, Arc<File>>,
    opened: i32,
}

impl OpenFiles {
    fn add(&self, file: File) -> i32 {
        let mut table = self.0.lock();
        table.opened += 1;
        let number = FIRST_DESCRIPTOR + table.opened;
        table.files.insert(number, Arc::new(file));
        number
    }

    pub(in crate::node) fn get(
        &self,
        number: i32,
        system_call: &str,
    ) -> Result<Arc<File>, NativeError> {
        let table = self.0.lock();
        table
            .files
            .get(&number)
            .cloned()
            .ok_or_else(|| bad_descriptor(system_call))
    }

    fn close(&self, number: i32) -> Result<(), NativeError> {
        let mut table = self.0.lock();
        table
            .files
            .remove(&number)
            .map(drop)
            .ok_or_else(|| bad_descriptor("close"))
    }
}

fn bad_descriptor(system_call: &str) -> NativeError {
    NativeError::new(format!("EBADF: bad file descriptor, {system_call}")).with_code("EBADF")
}

/// Opens a file by one of Node's flags (`r`, `w+`, `ax`, …), or by `c`, which creates the file if
/// necessary without truncating it. Node has only numeric flags for the latter.
pub(super) fn open_with(path: &Path, flag: &str, mode: Option<u32>) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    let plus = flag.contains('+');
    let exclusive = flag.contains('x');
    match flag.chars().next() {
        Some('r') => options.read(true).write(plus),
        Some('w') => options.read(plus).write(true).truncate(!exclusive),
        Some('c') => options.read(plus).write(true).truncate(false),
        Some('a') => options.read(plus).append(true),
        _ => return Err(std::io::ErrorKind::InvalidInput.into()),
    };
    if !flag.starts_with('r') {
        if exclusive {
            options.create_new(true);
        } else {
            options.create(true);
        }
    }
    #[cfg(unix)]
    if let Some(mode) = mode {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    }
    #[cfg(not(unix))]
    let _mode = mode;
    options.open(path)
}

/// Runs an operation on a descriptor. Returns `None` for other operations.
pub(super) fn run(
    files: &OpenFiles,
    request: &NativeRequest,
    arguments: &FsArguments,
) -> Option<Result<NativeReply, NativeError>> {
    let number = arguments.descriptor;
    let io = |system_call: &'static str| {
        move |error: std::io::Error| NativeError::from_io(&error, system_call, None)
    };
    let with = |system_call: &'static str, work: &dyn Fn(&File) -> std::io::Result<NativeReply>| {
        let file = files.get(number, system_call)?;
        work(&file).map_err(io(system_call))
    };
    Some(match request.operation.as_str() {
        "open" => open_with(Path::new(&arguments.path), &arguments.flag, arguments.mode)
            .map(|file| NativeReply::Json(json!(files.add(file))))
            .map_err(|error| NativeError::from_io(&error, "open", Some(&arguments.path))),
        "close" => files.close(number).map(|()| NativeReply::Nothing),
        "read" => with("read", &|file| {
            read(file, arguments.length, arguments.position)
        }),
        "write" => with("write", &|file| {
            write(
                file,
                request.bytes.as_deref().unwrap_or_default(),
                arguments.position,
            )
        }),
        "fstat" => with("fstat", &|file| Ok(metadata::describe(&file.metadata()?))),
        "fsync" => with("fsync", &|file| {
            file.sync_all().map(|()| NativeReply::Nothing)
        }),
        "ftruncate" => with("ftruncate", &|file| {
            file.set_len(arguments.length)
                .map(|()| NativeReply::Nothing)
        }),
        "fchmod" => with("fchmod", &|file| {
            metadata::set_file_mode(file, arguments.mode.unwrap_or(0o666))
                .map(|()| NativeReply::Nothing)
        }),
        _ => return None,
    })
}

fn read(mut file: &File, length: u64, position: Option<u64>) -> std::io::Result<NativeReply> {
    let length = length.min(MAX_READ);
    let before = file.stream_position().ok();
    if let Some(position) = position {
        file.seek(SeekFrom::Start(position))?;
    }
    let mut buffer = vec![0; usize::try_from(length).unwrap_or_default()];
    let count = file.read(&mut buffer)?;
    buffer.truncate(count);
    restore(file, position.and(before))?;
    Ok(NativeReply::Bytes(buffer))
}

fn write(mut file: &File, bytes: &[u8], position: Option<u64>) -> std::io::Result<NativeReply> {
    let before = file.stream_position().ok();
    if let Some(position) = position {
        file.seek(SeekFrom::Start(position))?;
    }
    file.write_all(bytes)?;
    restore(file, position.and(before))?;
    Ok(NativeReply::Json(json!(bytes.len())))
}

/// Restores the file position after a positioned read or write.
fn restore(mut file: &File, position: Option<u64>) -> std::io::Result<()> {
    match position {
        Some(position) => file.seek(SeekFrom::Start(position)).map(drop),
        None => Ok(()),
    }
}
